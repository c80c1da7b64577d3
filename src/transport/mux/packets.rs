//! A session as an association.

use std::io;
use std::task::{Context, Poll, Waker, ready};

use bytes::BytesMut;

use super::seat::Seat;
use crate::addr::{Network, Target};
use crate::flow::Packets;
use crate::proto::mux::{GlobalId, write_keep, write_new};

/// One association of many over a connection. Each datagram carries its address (full cone); where the peer names none, the
/// target is meant with which the session began.
pub struct SessionPackets {
    seat: Seat,
    target: Target,
    /// The peer does not know of it yet.
    opening: bool,
    global: Option<GlobalId>,
    /// Called when a datagram names its peer.
    notice: Option<Box<dyn Fn() + Send>>,
}

/// Most payload of one datagram: what Xray's buffers hold.
const LONGEST: usize = 8 * 1024;

impl SessionPackets {
    /// One that the peer began with this target.
    #[must_use]
    pub fn accepted(seat: Seat, target: Target) -> Self {
        Self::of(seat, target, false, None)
    }

    fn of(mut seat: Seat, target: Target, opening: bool, global: Option<GlobalId>) -> Self {
        // An association ends in order whenever it ends.
        seat.clean = true;
        Self { seat, target, opening, global, notice: None }
    }

    /// One of ours; it begins with the first datagram.
    #[must_use]
    pub fn opening(seat: Seat, target: Target, global: Option<GlobalId>) -> Self {
        Self::of(seat, target, true, global)
    }

    /// The same; `notice` is called when the peer first names the address of a datagram.
    #[must_use]
    pub fn noticing(self, notice: impl Fn() + Send + 'static) -> Self {
        Self { notice: Some(Box::new(notice)), ..self }
    }
}

impl Packets for SessionPackets {
    fn poll_recv(&mut self, cx: &mut Context<'_>, buf: &mut BytesMut) -> Poll<io::Result<Target>> {
        let mut state = self.seat.trunk.lock();
        let dead = state.is_dead();
        let Some(session) = state.sessions.get_mut(&self.seat.id) else {
            return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
        };
        if let Some(peer) = session.inbox.datagram(buf) {
            if peer.is_some()
                && let Some(notice) = self.notice.take()
            {
                notice();
            }
            return Poll::Ready(Ok(peer.unwrap_or_else(|| self.target.clone())));
        }
        if session.over.is_some() {
            return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
        }
        if dead {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        session.reader = Some(cx.waker().clone());
        Poll::Pending
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, payload: &[u8], peer: &Target) -> Poll<io::Result<()>> {
        if payload.len() > LONGEST {
            tracing::trace!("a datagram was too large");
            return Poll::Ready(Ok(()));
        }
        let id = self.seat.id;
        let mut state = self.seat.trunk.lock();
        if state.is_dead() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        if state.sessions.get(&id).is_none_or(|session| session.over.is_some()) {
            return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
        }
        ready!(state.poll_room(id, cx));
        let waker = if self.opening {
            self.opening = false;
            self.target = peer.clone();
            state.ask(id);
            state.push(|out| write_new(id, Network::Udp, peer, self.global, Some(payload), out))
        } else {
            state.push(|out| write_keep(id, Some(peer), payload, out))
        };
        drop(state);
        waker.into_iter().for_each(Waker::wake);
        Poll::Ready(Ok(()))
    }
}

impl std::fmt::Debug for SessionPackets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionPackets").field("target", &self.target).finish_non_exhaustive()
    }
}
