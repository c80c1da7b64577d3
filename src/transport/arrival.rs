//! What comes of an accepted connection once security and carrier are taken off.

use std::net::SocketAddr;

use tokio::sync::mpsc;

use crate::flow::BoxStream;

/// One plain stream of a visitor.
pub struct Arrival {
    /// The stream.
    pub io: BoxStream,
    /// What the TLS around it told; absent without TLS.
    pub hello: Option<Box<Hello>>,
    /// Where the visitor really comes from, if a PROXY header or a trusted `X-Forwarded-For` said so.
    pub source: Option<SocketAddr>,
}

/// What a visitor's TLS handshake told. Fallbacks choose by it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hello {
    /// The name it asked for.
    pub server_name: Option<Box<str>>,
    /// The protocol both sides agreed on.
    pub alpn: Option<Box<[u8]>>,
    /// Whether it is TLS 1.3, which Vision needs.
    pub tls13: bool,
}

/// The streams of one connection.
pub enum Arrivals {
    /// The connection is one stream.
    One(Arrival),
    /// It carries many; the channel ends when it does.
    Many(mpsc::Receiver<Arrival>),
}

impl From<BoxStream> for Arrival {
    fn from(io: BoxStream) -> Self {
        Self { io, hello: None, source: None }
    }
}
