//! Questions in datagrams.

use std::io;
use std::task::{Context, Poll, ready};

use bytes::BytesMut;

use super::clerk::Clerk;
use super::message::Room;
use crate::addr::Target;
use crate::flow::Packets;

/// An association whose datagrams are questions. What is none vanishes, and so does what comes while too many are open.
pub(super) struct Datagrams(Clerk);

impl Datagrams {
    pub(super) fn new(clerk: Clerk) -> Self {
        Self(clerk)
    }
}

impl Packets for Datagrams {
    fn poll_recv(&mut self, cx: &mut Context<'_>, buf: &mut BytesMut) -> Poll<io::Result<Target>> {
        let Ok((answer, from)) = ready!(self.0.poll_answer(cx)) else {
            return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
        };
        buf.extend_from_slice(&answer);
        Poll::Ready(Ok(from))
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, payload: &[u8], peer: &Target) -> Poll<io::Result<()>> {
        if self.0.has_room()
            && let Err(error) = self.0.take(cx, payload, peer, Room::Datagram)
        {
            tracing::debug!(target: "dns", %error, "a datagram to {peer} is dropped");
        }
        Poll::Ready(Ok(()))
    }
}
