//! A balancer: its members, how it chooses, and the newest board behind one atomic pointer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arc_swap::{ArcSwap, ArcSwapOption, Guard};
use rand::Rng;

use super::ask::Ask;
use super::board::{Board, Pin};
use super::key::KeyPart;
use super::member::Member;
use super::seen::{Ear, Evidence, Seen};
use super::strategy::Strategy;
use super::turn::Turn;
use crate::addr::{Hop, Network, Tag};

/// What a flow is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pick {
    /// Use this member, given by its place in the list.
    Member(usize, Hop),
    /// Leave the group by its fallback: there is no member, or all are known to be dead.
    Fallback,
    /// Wait for the first result, then ask again (`startup = "wait"`). Whoever probes ends the wait.
    Wait,
    /// No member exists and no fallback is set: the flow is closed.
    Empty,
    /// Members exist, but none of them carries datagrams: the flow is closed.
    NoDatagrams,
    /// Members exist, but each of them is fenced or was tried for this flow: the flow is closed.
    Spent,
}

/// Whether a balancer names a way out of its group (`fallbackTag`, TOML `fallback`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Flows stay in the group whatever happens.
    None,
    /// Flows leave by the fallback when no member is left.
    Fallback,
}

/// Members, a way to choose, and what is known. Picks never wait, lock or allocate.
#[derive(Debug)]
pub struct Balancer {
    tag: Tag,
    members: Box<[Member]>,
    strategy: Strategy,
    exit: Exit,
    keys: Box<[KeyPart]>,
    board: ArcSwap<Board>,
    turn: Turn,
    held: AtomicBool,
    /// Who is told of what flows show; nobody while nothing keeps the balancer.
    ear: ArcSwapOption<Ear>,
    /// Shared with the balancer that takes this one's place, so that flows which began before are counted to their end.
    counts: Box<[Arc<Count>]>,
}

/// What one member was given to do.
#[derive(Debug, Default)]
struct Count {
    picks: AtomicU64,
    flows: AtomicU64,
}

impl Balancer {
    /// A balancer of which nothing is known yet.
    #[must_use]
    pub fn new(tag: Tag, members: Vec<Member>, strategy: Strategy, exit: Exit) -> Self {
        let (turn, board) = (Turn::new(&members), ArcSwap::from_pointee(Board::blank(members.len())));
        let counts = members.iter().map(|_| Arc::default()).collect();
        let (held, ear, keys) = (AtomicBool::new(false), ArcSwapOption::empty(), Box::default());
        Self { tag, members: members.into(), strategy, exit, keys, board, turn, held, ear, counts }
    }

    /// The same balancer, hashing flows by these parts.
    #[must_use]
    pub fn keyed(mut self, parts: impl Into<Box<[KeyPart]>>) -> Self {
        self.keys = parts.into();
        self
    }

    /// The same balancer, going on where the one stood whose place it takes: counts of members with the same tag, the
    /// place in the rotation, and, where the list of members is the same, what is known of them until its keeper speaks.
    #[must_use]
    pub fn resume(mut self, old: &Self) -> Self {
        let mut left: Vec<(&Tag, &Arc<Count>)> = old.members.iter().map(|m| &m.tag).zip(&old.counts).collect();
        for (member, count) in self.members.iter().zip(&mut self.counts) {
            if let Some(at) = left.iter().position(|(tag, _)| **tag == member.tag) {
                *count = Arc::clone(left.remove(at).1);
            }
        }
        self.turn.go_on_from(&self.members, &old.turn, &old.members);
        if self.members.iter().map(|m| &m.tag).eq(old.members.iter().map(|m| &m.tag)) {
            self.publish(old.board());
        }
        self
    }

    /// Its tag.
    #[must_use]
    pub fn tag(&self) -> &Tag {
        &self.tag
    }

    /// Its members in list order.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// How it chooses.
    #[must_use]
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// What flows are hashed by; none where the strategy does not hash.
    #[must_use]
    pub fn key_parts(&self) -> &[KeyPart] {
        &self.keys
    }

    /// Where the rotation of round robin stands.
    #[must_use]
    pub fn turn(&self) -> usize {
        self.turn.place()
    }

    /// Lets the rotation go on from a place that [`Self::turn`] gave.
    pub fn go_on(&self, turn: usize) {
        self.turn.go_on(turn);
    }

    /// What is known now.
    #[must_use]
    pub fn board(&self) -> Arc<Board> {
        self.board.load_full()
    }

    /// Replaces what is known. One writer a balancer (its prober), any number of readers.
    pub fn publish(&self, board: impl Into<Arc<Board>>) {
        self.board.store(board.into());
    }

    /// Lets flows wait for the first result (`startup = "wait"`, O12). Whoever calls this must call [`Self::release`].
    pub fn hold(&self) {
        self.held.store(true, Ordering::Release);
    }

    /// Ends the wait for good.
    pub fn release(&self) {
        self.held.store(false, Ordering::Release);
    }

    /// Tells this ear from now on what flows show.
    pub fn listen(&self, ear: Ear) {
        self.ear.store(Some(Arc::new(ear)));
    }

    /// Tells what a flow shows of a member.
    pub fn saw(&self, seen: Seen) {
        if let Some(ear) = &*self.ear.load() {
            ear.hear(seen);
        }
    }

    /// Counts a flow that leaves by a member, until what is returned is dropped.
    #[must_use]
    pub fn enter(self: &Arc<Self>, member: usize) -> InUse {
        if let Some(count) = self.counts.get(member) {
            count.picks.fetch_add(1, Ordering::Relaxed);
            count.flows.fetch_add(1, Ordering::Relaxed);
        }
        InUse { balancer: Arc::clone(self), member }
    }

    /// How many flows a member was given, and how many of them still run.
    #[must_use]
    pub fn counted(&self, member: usize) -> (u64, u64) {
        let read = |count: &Arc<Count>| (count.picks.load(Ordering::Relaxed), count.flows.load(Ordering::Relaxed));
        self.counts.get(member).map_or((0, 0), read)
    }

    /// Chooses for one flow.
    pub fn pick(&self, ask: Ask, rng: &mut impl Rng) -> Pick {
        let board: Guard<Arc<Board>> = self.board.load();
        if self.members.is_empty() {
            return if self.exit == Exit::Fallback { Pick::Fallback } else { Pick::Empty };
        }
        if let Some(pick) = board.pin.and_then(|pin| self.pinned(pin, &board, ask)) {
            return pick;
        }
        if self.held.load(Ordering::Acquire) {
            return Pick::Wait;
        }
        // In an outage no life is changed, so that afterwards all is as it was; but nobody answers, and there is a way out.
        let lost = board.outage && self.exit == Exit::Fallback;
        if !lost && let Some(at) = self.strategy.pick(&self.members, &board, ask, &self.turn, rng) {
            return self.member(at);
        }
        if self.exit == Exit::Fallback {
            return Pick::Fallback;
        }
        self.strategy.last_resort(&self.members, &board, ask).map_or_else(|| self.nobody(ask), |at| self.member(at))
    }

    /// What a person's choice makes of the flow; `None` leaves it to the strategy: while the pinned member cannot be used
    /// (trap 14 of the specification), unless it was pinned strictly.
    fn pinned(&self, pin: Pin, board: &Board, ask: Ask) -> Option<Pick> {
        let open = ask.open(&self.members, pin.member);
        match pin.strict {
            true if pin.member < self.members.len() && !open => Some(self.nobody(ask)),
            true => open.then(|| self.member(pin.member)),
            false => (open && board.usable(pin.member, ask.network)).then(|| self.member(pin.member)),
        }
    }

    /// Why there is none.
    fn nobody(&self, ask: Ask) -> Pick {
        let carried = ask.network != Network::Udp || self.members.iter().any(|member| member.udp);
        if carried { Pick::Spent } else { Pick::NoDatagrams }
    }

    fn member(&self, at: usize) -> Pick {
        self.members.get(at).map_or(Pick::Empty, |member| Pick::Member(at, member.hop))
    }
}

/// A running flow of a member.
#[derive(Debug)]
pub struct InUse {
    balancer: Arc<Balancer>,
    member: usize,
}

impl InUse {
    /// Tells what the flow shows of its member.
    pub fn saw(&self, network: Network, what: Evidence) {
        self.balancer.saw(Seen { member: self.member, network, what });
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        if let Some(count) = self.balancer.counts.get(self.member) {
            count.flows.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests;
