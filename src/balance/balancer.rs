//! A balancer: its members, how it chooses, and the newest board behind one atomic pointer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arc_swap::{ArcSwap, ArcSwapOption, Guard};
use rand::Rng;

use super::ask::Ask;
use super::board::Board;
use super::member::Member;
use super::seen::{Ear, Evidence, Seen};
use super::strategy::{Strategy, Turn};
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
    board: ArcSwap<Board>,
    turn: Turn,
    held: AtomicBool,
    /// Who is told of what flows show; nobody while nothing keeps the balancer.
    ear: ArcSwapOption<Ear>,
    counts: Box<[Count]>,
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
        let counts = members.iter().map(|_| Count::default()).collect();
        let (held, ear) = (AtomicBool::new(false), ArcSwapOption::empty());
        Self { tag, members: members.into(), strategy, exit, board, turn, held, ear, counts }
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
        let read = |count: &Count| (count.picks.load(Ordering::Relaxed), count.flows.load(Ordering::Relaxed));
        self.counts.get(member).map_or((0, 0), read)
    }

    /// Chooses for one flow.
    pub fn pick(&self, ask: Ask, rng: &mut impl Rng) -> Pick {
        let board: Guard<Arc<Board>> = self.board.load();
        let escape = |otherwise| if self.exit == Exit::Fallback { Pick::Fallback } else { otherwise };
        if self.members.is_empty() {
            return escape(Pick::Empty);
        }
        if self.held.load(Ordering::Acquire) {
            return Pick::Wait;
        }
        if let Some(at) = self.strategy.pick(&self.members, &board, ask, &self.turn, rng) {
            return self.member(at);
        }
        if self.exit == Exit::Fallback {
            return Pick::Fallback;
        }
        self.strategy.last_resort(&self.members, &board, ask).map_or(Pick::NoDatagrams, |at| self.member(at))
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
mod tests {
    use rand::SeedableRng;
    use rand::rngs::SmallRng;

    use super::super::board::{Life, State};
    use super::*;
    use crate::addr::OutboundId;

    const ALL: [Strategy; 4] = [Strategy::Failover, Strategy::Optimal, Strategy::Random, Strategy::RoundRobin];

    fn members(n: u32) -> Vec<Member> {
        (0..n)
            .map(|id| Member {
                tag: format!("m{id}").into(),
                hop: OutboundId(10 + id).into(),
                udp: id > 0,
                weight: 100,
            })
            .collect()
    }

    fn pick(balancer: &Balancer, ask: Ask) -> Pick {
        balancer.pick(ask, &mut SmallRng::seed_from_u64(5))
    }

    fn dead(n: usize) -> Board {
        let members = vec![State { life: Life::Down, ..State::default() }; n].into();
        Board { members, ranking: (0..n).collect(), ..Board::default() }
    }

    #[test]
    fn no_members_means_fallback_or_closed_and_never_the_default_outbound() {
        for strategy in ALL {
            assert_eq!(pick(&Balancer::new("b".into(), vec![], strategy, Exit::None), Ask::TCP), Pick::Empty);
            assert_eq!(pick(&Balancer::new("b".into(), vec![], strategy, Exit::Fallback), Ask::TCP), Pick::Fallback);
        }
    }

    #[test]
    fn all_dead_leaves_the_group_only_by_a_fallback() {
        for strategy in ALL {
            let stay = Balancer::new("b".into(), members(3), strategy, Exit::None);
            stay.publish(dead(3));
            assert_eq!(pick(&stay, Ask::TCP), Pick::Member(0, OutboundId(10).into()), "{strategy:?}");
            let leave = Balancer::new("b".into(), members(3), strategy, Exit::Fallback);
            leave.publish(dead(3));
            assert_eq!(pick(&leave, Ask::TCP), Pick::Fallback, "{strategy:?}");
        }
    }

    #[test]
    fn a_single_member_is_always_picked() {
        // Trap 1 of balancing.md: a single-member balancer that returned nothing.
        for strategy in ALL {
            let one = Balancer::new("b".into(), members(1), strategy, Exit::None);
            one.publish(Board::weighted([100]));
            assert_eq!(pick(&one, Ask::TCP), Pick::Member(0, OutboundId(10).into()), "{strategy:?}");
            one.publish(dead(1));
            assert_eq!(pick(&one, Ask::TCP), Pick::Member(0, OutboundId(10).into()), "{strategy:?}");
        }
    }

    #[test]
    fn datagrams_without_a_carrier_are_told_so() {
        for strategy in ALL {
            let one = Balancer::new("b".into(), members(1), strategy, Exit::None);
            one.publish(Board::weighted([100]));
            assert_eq!(pick(&one, Ask::UDP), Pick::NoDatagrams, "{strategy:?}");
            let two = Balancer::new("b".into(), members(2), strategy, Exit::None);
            two.publish(Board::weighted([100, 100]));
            assert_eq!(pick(&two, Ask::UDP), Pick::Member(1, OutboundId(11).into()), "{strategy:?}");
        }
    }

    #[test]
    fn o12_wait_holds_flows_until_released() {
        let b = Balancer::new("b".into(), members(2), Strategy::Optimal, Exit::None);
        b.hold();
        assert_eq!(pick(&b, Ask::TCP), Pick::Wait);
        b.release();
        assert_eq!(pick(&b, Ask::TCP), Pick::Member(0, OutboundId(10).into()));
    }
}
