//! One client's datagrams: of the old generation whatever comes from its address, of 2022 its session, which may move.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BytesMut};

use super::ended::Ended;
use super::replays::Replays;
use super::users::{Old, ShadowsocksUsers, Table, next};
use crate::addr::Target;
use crate::flow::Packets;
use crate::net::{Session, clock};
use crate::proto::shadowsocks::v2022::{Passing, ServerSession};
use crate::proto::shadowsocks::{Codec, Key, open_datagram};
use crate::wire::WireError;

/// An association.
pub(super) struct Datagrams {
    session: Session,
    codec: Codec,
    /// The datagram by which it began, until it was given.
    first: Option<BytesMut>,
    target: Target,
    out: BytesMut,
    ended: Arc<Ended>,
}

/// The codec of whoever sent this datagram, and which user that is.
fn codec_of(
    users: &ShadowsocksUsers,
    replays: &Arc<Replays>,
    ended: &Ended,
    datagram: &[u8],
) -> Result<(usize, Codec), WireError> {
    match &users.0 {
        Table::Plain(_) => Ok((0, Codec::Plain)),
        Table::New { keys, servers, .. } if !servers.is_empty() => {
            let passing = Passing::new(keys, datagram)?;
            let (user, server) = (passing.user(), next(servers, passing.user())?.clone());
            Ok((user, Codec::Relay(Box::new(passing), server)))
        }
        Table::New { keys, .. } => {
            let mut session = ServerSession::new(keys, datagram, rand::random())?;
            if let Some(window) = ended.get(session.id(), clock::seconds()) {
                session.resume(window);
            }
            Ok((session.user(), Codec::Server(Box::new(session))))
        }
        Table::Old(Old { keys, .. }) => {
            let fits = |key: &Key| open_datagram(key, &mut datagram.to_vec()).is_ok();
            let user = keys.iter().position(fits).ok_or(WireError::Denied { what: "a datagram of nobody's key" })?;
            let replays = Arc::clone(replays);
            Ok((user, Codec::Old(keys[user].clone(), Box::new(move |salt| replays.fresh(salt)))))
        }
    }
}

impl Datagrams {
    /// Begins with the first datagram of a session, if a user sent it; says which.
    pub(super) fn begin(
        users: &ShadowsocksUsers,
        replays: &Arc<Replays>,
        ended: &Arc<Ended>,
        mut session: Session,
    ) -> Result<(usize, Self), WireError> {
        let mut buf = BytesMut::new();
        if !session.try_recv(&mut buf) {
            return Err(WireError::Truncated { need: 1 });
        }
        let (user, mut codec) = codec_of(users, replays, ended, &buf)?;
        let (target, at) = codec.open(&mut buf, clock::seconds())?;
        buf.truncate(at.end);
        buf.advance(at.start);
        let (out, ended) = (BytesMut::new(), Arc::clone(ended));
        Ok((user, Self { session, codec, first: Some(buf), target, out, ended }))
    }

    /// Where the first datagram is to go.
    pub(super) fn target(&self) -> &Target {
        &self.target
    }
}

/// Before the client can come again, since its place is free only when all of this is gone.
impl Drop for Datagrams {
    fn drop(&mut self) {
        if let Codec::Server(session) = &self.codec {
            self.ended.put(session.id(), session.window().clone(), clock::seconds());
        }
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
            match self.codec.open(buf, clock::seconds()) {
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
        match self.codec.seal(peer, payload, clock::seconds(), &mut rand::rng(), &mut self.out) {
            Ok(()) => self.session.poll_send(cx, &self.out),
            Err(error) => Poll::Ready(Err(error.into())),
        }
    }
}
