//! An item of the workload on its way: object by object, member by member. And the best that hindsight could do.

use super::attempt::{Attempt, DIAL, Plan};
use super::network::World;
use super::trip::Wish;
use super::workload::Item;

/// What a failed object costs at least, in seconds: its user waits, and tries again.
const PENALTY: f64 = 15.0;

/// An item that was carried.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Carried {
    /// From its beginning to the end of its last object.
    pub time: f64,
    /// Objects that failed.
    pub failed: usize,
}

/// Carries an item; `plan` is asked for each object, `seen` is told of each attempt and its place among the tries.
pub(super) fn carry(
    world: &World,
    item: &Item,
    mut plan: impl FnMut() -> Plan,
    mut seen: impl FnMut(Attempt, usize),
) -> Carried {
    let mut failed = 0;
    let mut object = |began: f64, size: f64, id: u64| {
        let mut from = began;
        for (place, &(member, dial)) in plan().tries().iter().enumerate() {
            let wish = Wish { size, key: id * 8, dial, exchanges: 2, total: None };
            let trip = world.trip(member, from, &wish);
            seen(Attempt { member, began: from, size, trip }, place);
            if trip.good() {
                return trip.end;
            }
            from = trip.end;
            if !trip.undialed() {
                break;
            }
        }
        failed += 1;
        from.max(began + PENALTY)
    };
    let mut end = item.time;
    if let Some((first, rest)) = item.objects.split_first() {
        let opened = object(item.time, first.size, first.id);
        end = rest.iter().map(|next| object(opened, next.size, next.id)).reduce(f64::max).unwrap_or(opened);
    }
    Carried { time: end - item.time, failed }
}

/// The time of the best single member that carries all of the item, if any does.
pub(super) fn best(world: &World, item: &Item) -> Option<f64> {
    let alone = |member| carry(world, item, || Plan::default().then(member, DIAL), |_, _| {});
    let carried = world.members(item.time).map(alone).filter(|carried| carried.failed == 0);
    carried.map(|carried| carried.time).reduce(f64::min)
}
