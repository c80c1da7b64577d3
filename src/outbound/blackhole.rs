//! Nowhere: streams are refused or told so in HTTP, datagrams vanish.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::addr::Target;
use crate::flow::{BoxPackets, BoxStream, DialError, Packets, Stage, Stream};

/// The end of the way.
#[derive(Debug, Clone, Copy)]
pub struct Blackhole {
    answer: Answer,
}

/// What a client gets to hear.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Answer {
    /// Its connection is closed.
    #[default]
    None,
    /// `403 Forbidden` in HTTP.
    Http,
}

impl Blackhole {
    /// One that answers so.
    #[must_use]
    pub fn new(answer: Answer) -> Self {
        Self { answer }
    }

    pub(super) fn connect(self) -> Result<BoxStream, DialError> {
        match self.answer {
            Answer::None => Err(DialError::us(Stage::Policy, io::ErrorKind::PermissionDenied)),
            Answer::Http => Ok(Box::new(Spoken(FORBIDDEN))),
        }
    }

    pub(super) fn associate(self) -> BoxPackets {
        Box::new(Void)
    }
}

const FORBIDDEN: &[u8] = b"HTTP/1.1 403 Forbidden\r\nConnection: close\r\nCache-Control: max-age=3600, public\r\n\
                           Content-Length: 0\r\n\r\n";

/// Says its piece, then ends; whatever it is told vanishes.
struct Spoken(&'static [u8]);

impl AsyncRead for Spoken {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let (now, later) = self.0.split_at(self.0.len().min(buf.remaining()));
        buf.put_slice(now);
        self.0 = later;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Spoken {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Stream for Spoken {}

/// Takes every datagram and gives none; the idle limit ends it.
struct Void;

impl Packets for Void {
    fn poll_recv(&mut self, _: &mut Context<'_>, _: &mut BytesMut) -> Poll<io::Result<Target>> {
        Poll::Pending
    }

    fn poll_send(&mut self, _: &mut Context<'_>, _: &[u8], _: &Target) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::flow::{Blame, send};

    #[tokio::test]
    async fn http_clients_are_told() {
        let mut stream = Blackhole::new(Answer::Http).connect().unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).await.unwrap();
        assert!(said.starts_with("HTTP/1.1 403 ") && said.ends_with("\r\n\r\n"));
    }

    #[tokio::test]
    async fn others_are_refused_and_datagrams_vanish() {
        let Err(error) = Blackhole::new(Answer::None).connect() else { unreachable!() };
        assert_eq!((error.stage, error.blame), (Stage::Policy, Blame::Us));
        let mut packets = Blackhole::new(Answer::None).associate();
        send(&mut packets, b"x", &"10.0.0.1:1".parse().unwrap()).await.unwrap();
    }
}
