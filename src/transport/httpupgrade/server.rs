//! The server's side.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::BytesMut;

use crate::flow::BoxStream;
use crate::model::carrier::HttpUpgrade;
use crate::model::stream::Stream;
use crate::net::{Bounds, boxed, drive};
use crate::transport::door::{LIMIT, MAX_HEAD, ReadHead, dismiss, say};
use crate::transport::forwarded::Trust;
use crate::transport::request::Place;
use crate::wire::WireError;

/// Takes connections, all in the same manner.
#[derive(Debug)]
pub struct Server {
    place: Place,
    trust: Trust,
}

const GRANTED: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";

impl Server {
    /// What an inbound's settings say.
    pub fn new(stream: &Stream, set: &HttpUpgrade) -> Self {
        Self { place: Place::new(&set.path, &set.host), trust: Trust::of(&stream.sockopt) }
    }

    /// The stream of a visitor, and where it comes from if a trusted header says so. Others get no answer, as from Xray.
    /// Bytes behind the request are the stream's first: clients need not wait for the answer.
    ///
    /// # Errors
    /// Whatever the connection says, and that the request is for something else.
    pub async fn accept(&self, mut io: BoxStream, limit: Duration) -> io::Result<(BoxStream, Option<SocketAddr>)> {
        let mut held = BytesMut::new();
        let bounds = Bounds { limit: limit.min(LIMIT), cap: MAX_HEAD };
        let head = drive(&mut io, &mut held, &mut ReadHead::default(), bounds).await?;
        let headers = &head.headers;
        let upgrading = headers.lists("connection", "upgrade") && headers.lists("upgrade", "websocket");
        if !upgrading || !self.place.is(&head.target, headers.first("host")) {
            // Without an answer; but TLS says that it ends.
            dismiss(&mut io, &[], bounds.limit).await;
            return Err(WireError::Denied { what: "a request for something else" }.into());
        }
        let source = self.trust.source(|name| headers.first(name));
        say(&mut io, GRANTED, bounds.limit).await?;
        Ok((boxed(io, held), source))
    }
}
