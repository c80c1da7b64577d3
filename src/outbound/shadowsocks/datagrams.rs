//! Datagrams to a Shadowsocks server: each sealed by itself, all through one socket, and whoever answers is heard.

use std::io;
use std::ops::Range;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BytesMut};
use rand::Rng;

use super::key::{ShadowsocksKey, padding};
use crate::addr::Target;
use crate::flow::{BoxPackets, Packets};
use crate::net::clock;
use crate::proto::shadowsocks::v2022::ClientSession;
use crate::proto::shadowsocks::{Key, open_datagram, seal_datagram};
use crate::proto::socks::{read_address, write_address};
use crate::wire::{Reader, WireError};

/// What seals them.
pub(super) enum Codec {
    New(Box<ClientSession>),
    Old(Key),
    Plain,
}

/// Those of DNS are padded, since their lengths would tell much; the reference client does the same.
const DNS: u16 = 53;

impl Codec {
    pub(super) fn new(key: &ShadowsocksKey) -> Result<Self, WireError> {
        Ok(match key {
            ShadowsocksKey::Plain => Self::Plain,
            ShadowsocksKey::Old(key) => Self::Old(key.clone()),
            ShadowsocksKey::New(keys) => {
                let id = rand::random();
                Self::New(Box::new(ClientSession::new(keys.clone(), id)?))
            }
        })
    }

    fn seal(&mut self, peer: &Target, payload: &[u8], out: &mut BytesMut) -> Result<(), WireError> {
        match self {
            Self::Plain => {
                write_address(peer, out);
                out.extend_from_slice(payload);
                Ok(())
            }
            Self::Old(key) => {
                let mut salt = [0; 32];
                let salt = &mut salt[..key.method().key_len()];
                rand::rng().fill_bytes(salt);
                seal_datagram(key, salt, peer, payload, out)
            }
            Self::New(session) => {
                let padding = if peer.port == DNS { padding() } else { 0 };
                session.seal(peer, payload, clock::seconds(), padding, rand::random(), out);
                Ok(())
            }
        }
    }

    fn open(&mut self, datagram: &mut [u8]) -> Result<(Target, Range<usize>), WireError> {
        match self {
            Self::Plain => {
                let mut reader = Reader::new(datagram);
                let peer = read_address(&mut reader)?;
                Ok((peer, reader.used()..datagram.len()))
            }
            Self::Old(key) => open_datagram(key, datagram),
            Self::New(session) => session.open(datagram, clock::seconds()),
        }
    }
}

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
            match self.codec.open(buf) {
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
        match self.codec.seal(peer, payload, &mut self.out) {
            Ok(()) => self.way.poll_send(cx, &self.out, &self.server),
            Err(error) => Poll::Ready(Err(error.into())),
        }
    }
}
