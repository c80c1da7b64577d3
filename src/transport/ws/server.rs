//! The server's side.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::BytesMut;

use super::early::{PROTOCOL, decode};
use super::stream::WsStream;
use crate::flow::BoxStream;
use crate::model::carrier::WebSocket;
use crate::model::stream::Stream;
use crate::net::{Bounds, DriveError, boxed, drive};
use crate::proto::http::{RequestHead, Version};
use crate::proto::websocket::accept_key;
use crate::transport::answers::Refusal;
use crate::transport::door::{LIMIT, MAX_HEAD, ReadHead, dismiss, say};
use crate::transport::forwarded::Trust;
use crate::transport::request::Place;
use crate::wire::WireError;

/// Takes WebSockets, all in the same manner.
#[derive(Debug)]
pub struct Server {
    place: Place,
    early_header: String,
    heartbeat: Option<Duration>,
    trust: Trust,
}

impl Server {
    /// What an inbound's settings say.
    pub fn new(stream: &Stream, ws: &WebSocket) -> Self {
        Self {
            place: Place::new(&ws.path, &ws.host),
            early_header: ws.early_data_header_name.clone(),
            heartbeat: Some(ws.heartbeat_period.0).filter(|period| !period.is_zero()),
            trust: Trust::of(&stream.sockopt),
        }
    }

    /// The stream of a visitor, and where it comes from if a trusted header says so. Other requests are answered as a web
    /// server without pages would.
    ///
    /// # Errors
    /// Whatever the connection says, and why the visitor was refused.
    pub async fn accept(&self, mut io: BoxStream, limit: Duration) -> io::Result<(BoxStream, Option<SocketAddr>)> {
        let mut held = BytesMut::new();
        let bounds = Bounds { limit: limit.min(LIMIT), cap: MAX_HEAD };
        loop {
            let read = drive(&mut io, &mut held, &mut ReadHead::default(), bounds).await;
            let head = match read {
                Ok(head) => head,
                Err(error) => {
                    let refusal = match error {
                        DriveError::Wire(WireError::TooLong) => Some(Refusal::TooLarge),
                        DriveError::Wire(_) => Some(Refusal::Malformed),
                        _ => None,
                    };
                    if let Some(refusal) = refusal {
                        dismiss(&mut io, refusal.text(Version::Http11).as_bytes(), bounds.limit).await;
                    }
                    return Err(error.into());
                }
            };
            match self.judge(&head) {
                Ok(opening) => {
                    say(&mut io, &opening.answer, bounds.limit).await?;
                    let ws = WsStream::server(io, held, self.heartbeat);
                    return Ok((boxed(ws, opening.early), opening.source));
                }
                Err(refusal) => {
                    let answer = refusal.text(head.version);
                    if refusal.keeps() && persists(&head) {
                        say(&mut io, answer.as_bytes(), bounds.limit).await?;
                    } else {
                        dismiss(&mut io, answer.as_bytes(), bounds.limit).await;
                        return Err(WireError::Denied { what: "a request for something else" }.into());
                    }
                }
            }
        }
    }

    /// In the order of Xray's server and of the library it uses, since each check has its own answer.
    fn judge(&self, head: &RequestHead) -> Result<Opening, Refusal> {
        let headers = &head.headers;
        if !self.place.is(&head.target, headers.first("host")) {
            return Err(Refusal::NotFound);
        }
        if !headers.lists("connection", "upgrade") || !headers.lists("upgrade", "websocket") {
            return Err(Refusal::NotUpgrading);
        }
        if head.method != "GET" {
            return Err(Refusal::Method);
        }
        let key = headers.first("sec-websocket-key").unwrap_or_default();
        let whole = STANDARD.decode(key).is_ok_and(|key| key.len() == 16);
        if !headers.lists("sec-websocket-version", "13") || !whole {
            return Err(Refusal::NotUpgrading);
        }
        let value = headers.first(&self.early_header).unwrap_or_default();
        let early = decode(value);
        let mut answer = format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {}\r\n",
            accept_key(key)
        )
        .into_bytes();
        if early.is_some() && self.early_header.eq_ignore_ascii_case(PROTOCOL) {
            answer.extend_from_slice(b"Sec-WebSocket-Protocol: ");
            answer.extend_from_slice(value);
            answer.extend_from_slice(b"\r\n");
        }
        answer.extend_from_slice(b"\r\n");
        let source = self.trust.source(|name| headers.first(name));
        Ok(Opening { answer, early: BytesMut::from(&early.unwrap_or_default()[..]), source })
    }
}

/// A request that is granted.
struct Opening {
    answer: Vec<u8>,
    early: BytesMut,
    source: Option<SocketAddr>,
}

/// Whether another request may follow a refused one. Bodies are not read, so none may follow those that have one.
fn persists(head: &RequestHead) -> bool {
    let headers = &head.headers;
    head.version == Version::Http11
        && !headers.lists("connection", "close")
        && !headers.has("transfer-encoding")
        && headers.first("content-length").is_none_or(|length| length == b"0")
}
