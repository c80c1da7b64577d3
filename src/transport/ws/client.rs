//! The client's side.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::BytesMut;

use super::delayed::Delayed;
use super::early::encode;
use super::stream::WsStream;
use crate::addr::Host;
use crate::flow::{BoxFuture, BoxStream};
use crate::model::carrier::WebSocket;
use crate::model::stream::Stream;
use crate::net::{Bounds, drive};
use crate::proto::websocket::accept_key;
use crate::transport::browser::Purpose;
use crate::transport::request::Request;
use crate::transport::upgrade::Upgrade;

/// Opens WebSockets, all in the same manner.
#[derive(Debug)]
pub struct Client {
    request: Request,
    heartbeat: Option<Duration>,
    /// Most bytes that travel in the request, and the header they travel in.
    early: usize,
    early_header: String,
}

/// Time for the server's answer (Xray's).
const LIMIT: Duration = Duration::from_secs(8);

impl Client {
    /// What an outbound's settings say.
    pub fn new(stream: &Stream, ws: &WebSocket) -> Self {
        Self {
            request: Request::new(stream, &ws.path, &ws.host, &ws.headers, Purpose::WebSocket),
            heartbeat: Some(ws.heartbeat_period.0).filter(|period| !period.is_zero()),
            early: usize::try_from(ws.max_early_data).unwrap_or(usize::MAX),
            early_header: ws.early_data_header_name.clone(),
        }
    }

    /// A stream over a connection to `to`. With early data it is given at once: the request then leaves with the first bytes
    /// written, and a refusal shows when the stream is read.
    ///
    /// # Errors
    /// Whatever the connection says, and the server's refusal.
    pub async fn open(self: &Arc<Self>, io: BoxStream, to: &Host) -> io::Result<BoxStream> {
        if self.early > 0 {
            let (client, to) = (Arc::clone(self), to.clone());
            let shake = |early: Vec<u8>| -> BoxFuture<'static, _> {
                Box::pin(async move { client.shake(io, &to, &early).await })
            };
            return Ok(Box::new(Delayed::new(self.early, Box::new(shake))));
        }
        Ok(Box::new(self.shake(io, to, &[]).await?))
    }

    /// Runs the handshake; `early` travels in it.
    async fn shake(&self, mut io: BoxStream, to: &Host, early: &[u8]) -> io::Result<WsStream> {
        let key = STANDARD.encode(rand::random::<[u8; 16]>());
        let mut fields = vec![
            ("Connection", "Upgrade"),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", key.as_str()),
        ];
        let early = encode(early);
        if !early.is_empty() {
            fields.push((&self.early_header, &early));
        }
        let mut shake = Upgrade::new(self.request.head(to, &fields), Some(accept_key(key.as_bytes())));
        let mut held = BytesMut::new();
        let answered = drive(&mut io, &mut held, &mut shake, Bounds::within(LIMIT)).await?;
        answered.map_err(io::Error::other)?;
        Ok(WsStream::client(io, held, self.heartbeat))
    }
}
