//! The ways out of one UDP association: a link for each route, opened when the first datagram takes it.
//!
//! Links are kept by route, not by target: all that leaves by one outbound leaves by one socket, so whoever learns of that
//! socket may answer (full cone). A link to a balancer stays with the member it began with.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::BytesMut;
use tokio::time::Instant;

use super::choose::Because;
use super::house::House;
use super::life::{Expiry, Lease};
use super::meant::Meant;
use super::presence::Presence;
use crate::addr::Target;
use crate::flow::{BoxFuture, BoxPackets, DialError, Flow, Meter};
use crate::model::config::Dest;
use crate::net::{Waiting, WaitingRoom};

/// A destination, as the snapshot of that generation means it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) to: Dest,
    pub(super) generation: u64,
}

/// One way out.
pub(super) struct Link {
    /// The route it serves.
    pub(super) route: Route,
    /// When something last went through, either way.
    pub(super) last: Instant,
    state: State,
    /// What waits until the link is open or takes more.
    waiting: VecDeque<(Waiting, Target)>,
    /// Where the association's datagrams wait.
    room: WaitingRoom,
    /// Where datagrams went that were meant to go elsewhere.
    meant: Meant,
    /// What went through.
    meter: Arc<Meter>,
    /// In the balancers that chose the way.
    presence: Option<Presence>,
}

/// A way that is open, in which balancers' members it runs, and how long it may.
type Opened = (BoxPackets, Option<Presence>, Expiry);

enum State {
    Opening(BoxFuture<'static, Result<Opened, DialError>>),
    Open(BoxPackets, Expiry),
}

/// Datagrams that wait for a link; more are dropped, as a full queue on the way would.
const WAITING: usize = 32;

impl Link {
    /// Begins to open a way for the flow, which has this lease so far. Its first target is that of `flow`.
    pub(super) fn open(
        house: &House,
        lease: &Arc<Lease>,
        route: Route,
        because: Because,
        flow: Flow,
        room: &WaitingRoom,
    ) -> Self {
        let (house, dest) = (house.with(lease), route.to.clone());
        // A meter of its own: other links of the association may be dialed at the same time.
        let meter = Arc::<Meter>::default();
        let flow = Flow { meter: Arc::clone(&meter), ..flow };
        let opening = async move {
            let (packets, presence) = house.association(&flow, &dest, Some(because)).await?;
            Ok((packets, presence, Expiry::of(house.trail.lease())))
        };
        let state = State::Opening(Box::pin(opening));
        Self {
            route,
            last: Instant::now(),
            state,
            waiting: VecDeque::new(),
            room: room.clone(),
            meant: Meant::default(),
            meter,
            presence: None,
        }
    }

    /// What is sent to `went` was meant for `meant`; answers come as from there, since that is all the client knows.
    pub(super) fn redirect(&mut self, went: &Target, meant: &Target) {
        self.meant.note(went, meant);
    }

    /// Takes a datagram on its way out. It is copied only if it must wait.
    pub(super) fn push(&mut self, cx: &mut Context<'_>, payload: &[u8], target: Target) -> Result<(), Closed> {
        self.last = Instant::now();
        self.meter.moved(payload.len() as u64, 0, self.last);
        if self.waiting.is_empty()
            && let State::Open(packets, _) = &mut self.state
            && let Poll::Ready(sent) = packets.poll_send(cx, payload, &target)
        {
            return Ok(sent?);
        }
        if self.waiting.len() < WAITING
            && let Some(kept) = self.room.keep(payload)
        {
            self.waiting.push_back((kept, target));
        }
        Ok(())
    }

    /// Goes on opening, and sends what waits, as far as that is possible now.
    pub(super) fn poll_out(&mut self, cx: &mut Context<'_>) -> Result<(), Closed> {
        if let State::Opening(opening) = &mut self.state {
            match opening.as_mut().poll(cx) {
                Poll::Pending => return Ok(()),
                Poll::Ready(opened) => {
                    let (packets, presence, expiry) = opened?;
                    (self.state, self.presence) = (State::Open(packets, expiry), presence);
                }
            }
        }
        let State::Open(packets, expiry) = &mut self.state else { return Ok(()) };
        if expiry.is_over(cx) {
            return Err(Closed::Over);
        }
        while let Some((payload, target)) = self.waiting.front() {
            let Poll::Ready(sent) = packets.poll_send(cx, payload, target) else { break };
            sent?;
            self.waiting.pop_front();
        }
        Ok(())
    }

    /// Receives one datagram into `buf`, which is cleared before.
    pub(super) fn poll_in(&mut self, cx: &mut Context<'_>, buf: &mut BytesMut) -> Poll<Result<Target, Closed>> {
        let State::Open(packets, _) = &mut self.state else { return Poll::Pending };
        buf.clear();
        let from = ready!(packets.poll_recv(cx, buf))?;
        self.last = Instant::now();
        self.meter.moved(0, buf.len() as u64, self.last);
        if let Some(presence) = &mut self.presence {
            presence.look(&self.meter);
        }
        Poll::Ready(Ok(match self.meant.is_empty() {
            true => from,
            false => self.meant.whose(from, |name| packets.address_of(name)),
        }))
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if let Some(presence) = self.presence.take() {
            presence.end(&self.meter, false);
        }
    }
}

/// A link that could not be opened, or broke.
#[derive(Debug, thiserror::Error)]
pub(super) enum Closed {
    #[error("what it led through is no longer in the configuration")]
    Over,
    #[error(transparent)]
    Dial(#[from] DialError),
    #[error(transparent)]
    Io(#[from] io::Error),
}
