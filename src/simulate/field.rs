//! What a strategy can see and do in a world: the hour, who exists, its own plans, and measurements.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::attempt::Attempt;
use super::network::World;
use super::trip::{Trip, Wish};

/// Body of a light probe.
pub const LIGHT: f64 = 300.0;
/// Body of a full test.
pub const TEST: f64 = 80e3;
/// Bytes of a probe beside its body.
const OVERHEAD: f64 = 2500.0;

/// The hour of a world and what is still to come in it. Events of one moment come in the order they were planned.
#[derive(Debug)]
pub struct Field<'a, E> {
    /// The world.
    pub world: &'a World,
    /// The hour, in seconds from the beginning.
    pub now: f64,
    /// Bytes that probes have cost.
    pub bytes: f64,
    plans: BinaryHeap<Reverse<Planned<E>>>,
    planned: u64,
    probes: u64,
}

/// A measurement that ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probe {
    /// Of whom.
    pub member: usize,
    /// When it began.
    pub began: f64,
    /// How it went.
    pub trip: Trip,
}

impl Probe {
    /// How long it took, if it went well.
    #[must_use]
    pub fn time(&self) -> Option<f64> {
        self.trip.good().then_some(self.trip.end - self.began)
    }
}

impl<'a, E> Field<'a, E> {
    pub(super) fn new(world: &'a World) -> Self {
        Self { world, now: 0.0, bytes: 0.0, plans: BinaryHeap::new(), planned: 0, probes: 0 }
    }

    /// Who exists now, in list order.
    pub fn members(&self) -> impl Iterator<Item = usize> + use<'a, E> {
        self.world.members(self.now)
    }

    /// Plans something of the strategy's own.
    pub fn at(&mut self, time: f64, event: E) {
        self.plan(time, Event::Own(event));
    }

    pub(super) fn plan(&mut self, time: f64, event: Event<E>) {
        self.planned += 1;
        self.plans.push(Reverse(Planned { time, number: self.planned, event }));
    }

    /// Measures a member now; the event made of the result comes when it ends.
    pub fn probe(&mut self, member: usize, body: f64, limit: f64, exchanges: u64, event: impl FnOnce(Probe) -> E) {
        self.probes += 1;
        self.bytes += body + OVERHEAD;
        let key = (1 << 40) + self.probes * 16 + member as u64;
        let wish = Wish { size: body, key, dial: limit, exchanges, total: Some(limit) };
        let trip = self.world.trip(member, self.now, &wish);
        let probe = Probe { member, began: self.now, trip };
        self.at(trip.end, event(probe));
    }

    /// What comes next.
    pub(super) fn next(&mut self) -> Option<(f64, Event<E>)> {
        self.plans.pop().map(|Reverse(planned)| (planned.time, planned.event))
    }
}

/// What can come.
#[derive(Debug)]
pub(super) enum Event<E> {
    /// An item of the workload begins.
    Item(usize),
    /// A flow ended, and shows something of its member.
    Seen(Attempt),
    /// Something that the strategy planned.
    Own(E),
}

#[derive(Debug)]
struct Planned<E> {
    time: f64,
    number: u64,
    event: Event<E>,
}

impl<E> Ord for Planned<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.time.total_cmp(&other.time).then(self.number.cmp(&other.number))
    }
}

impl<E> PartialOrd for Planned<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Planned<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Planned<E> {}
