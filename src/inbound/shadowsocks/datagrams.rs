//! One client's datagrams: of the old generation whatever comes from its address, of 2022 its session, which may move.

use std::io;
use std::ops::Range;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BytesMut};
use rand::Rng;

use super::users::{Old, ShadowsocksUsers, Table};
use crate::addr::Target;
use crate::flow::Packets;
use crate::net::{Session, clock};
use crate::proto::shadowsocks::v2022::ServerSession;
use crate::proto::shadowsocks::{Key, open_datagram, seal_datagram};
use crate::proto::socks::{read_address, write_address};
use crate::wire::{Reader, WireError};

/// An association.
pub(super) struct Datagrams {
    session: Session,
    codec: Codec,
    /// The datagram by which it began, until it was given.
    first: Option<BytesMut>,
    target: Target,
    out: BytesMut,
}

enum Codec {
    New(Box<ServerSession>),
    Old(Key),
    Plain,
}

impl Codec {
    /// Of whoever sent this datagram, and which user that is.
    fn of(users: &ShadowsocksUsers, datagram: &[u8]) -> Result<(usize, Self), WireError> {
        match &users.0 {
            Table::Plain(_) => Ok((0, Self::Plain)),
            Table::New { keys, .. } => {
                let session = ServerSession::new(keys, datagram, rand::random())?;
                Ok((session.user(), Self::New(Box::new(session))))
            }
            Table::Old(Old { keys, .. }) => {
                let fits = |key: &Key| open_datagram(key, &mut datagram.to_vec()).is_ok();
                let user =
                    keys.iter().position(fits).ok_or(WireError::Denied { what: "a datagram of nobody's key" })?;
                Ok((user, Self::Old(keys[user].clone())))
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
                session.seal(peer, payload, clock::seconds(), 0, rand::random(), out);
                Ok(())
            }
        }
    }
}

impl Datagrams {
    /// Begins with the first datagram of a session, if a user sent it; says which.
    pub(super) fn begin(users: &ShadowsocksUsers, mut session: Session) -> Result<(usize, Self), WireError> {
        let mut buf = BytesMut::new();
        if !session.try_recv(&mut buf) {
            return Err(WireError::Truncated { need: 1 });
        }
        let (user, mut codec) = Codec::of(users, &buf)?;
        let (target, at) = codec.open(&mut buf)?;
        buf.truncate(at.end);
        buf.advance(at.start);
        Ok((user, Self { session, codec, first: Some(buf), target, out: BytesMut::new() }))
    }

    /// Where the first datagram is to go.
    pub(super) fn target(&self) -> &Target {
        &self.target
    }
}

impl Packets for Datagrams {
    fn poll_recv(&mut self, cx: &mut Context<'_>, buf: &mut BytesMut) -> Poll<io::Result<Target>> {
        if let Some(first) = self.first.take() {
            buf.extend_from_slice(&first);
            return Poll::Ready(Ok(self.target.clone()));
        }
        loop {
            buf.clear();
            let from = ready!(self.session.poll_recv(cx, buf))?;
            match self.codec.open(buf) {
                Ok((target, at)) => {
                    self.session.follow(from);
                    buf.truncate(at.end);
                    buf.advance(at.start);
                    return Poll::Ready(Ok(target));
                }
                Err(error) => tracing::debug!(%from, %error, "a datagram was dropped"),
            }
        }
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, payload: &[u8], peer: &Target) -> Poll<io::Result<()>> {
        self.out.clear();
        match self.codec.seal(peer, payload, &mut self.out) {
            Ok(()) => self.session.poll_send(cx, &self.out),
            Err(error) => Poll::Ready(Err(error.into())),
        }
    }
}
