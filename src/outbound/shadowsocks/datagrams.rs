//! Datagrams to a Shadowsocks server: each sealed by itself, all through one socket, and whoever answers is heard.

use std::io;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BytesMut};

use crate::addr::Target;
use crate::flow::{BoxPackets, Packets};
use crate::net::clock;
use crate::proto::shadowsocks::Codec;

/// An association with one server.
pub(super) struct Datagrams {
    way: BoxPackets,
    server: Target,
    codec: Codec,
    out: BytesMut,
}

impl Datagrams {
    pub(super) fn new(way: BoxPackets, server: Target, codec: Codec) -> Self {
        Self { way, server, codec, out: BytesMut::new() }
    }
}

impl Packets for Datagrams {
    fn poll_recv(&mut self, cx: &mut Context<'_>, buf: &mut BytesMut) -> Poll<io::Result<Target>> {
        loop {
            buf.clear();
            ready!(self.way.poll_recv(cx, buf))?;
            match self.codec.open(buf, clock::seconds()) {
                Ok((peer, at)) => {
                    buf.truncate(at.end);
                    buf.advance(at.start);
                    return Poll::Ready(Ok(peer));
                }
                Err(error) => tracing::debug!(server = %self.server, %error, "a datagram was dropped"),
            }
        }
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, payload: &[u8], peer: &Target) -> Poll<io::Result<()>> {
        self.out.clear();
        match self.codec.seal(peer, payload, clock::seconds(), &mut rand::rng(), &mut self.out) {
            Ok(()) => self.way.poll_send(cx, &self.out, &self.server),
            Err(error) => Poll::Ready(Err(error.into())),
        }
    }
}
