//! What came and was not read, and what the peer must be told of it.

use std::collections::VecDeque;

use super::order::{is_before, until};
use super::segment::{ACK, NUMBERS, write_ack};
use super::settings::Settings;
use super::spare::Spare;
use super::telling::Telling;

/// What came and was not read, and what the peer must be told of it.
#[derive(Debug)]
pub(super) struct Receiving {
    /// By number, from `next` on.
    window: VecDeque<Option<Vec<u8>>>,
    /// The next that will be read.
    next: u32,
    /// Bytes of it that were read.
    at: usize,
    /// Bytes that wait.
    held: usize,
    /// Numbers of which the peer does not know that we know that it knows.
    owed: VecDeque<Owed>,
    /// The peer has forgotten all before this.
    forgotten: u32,
    /// There is something to tell beside the numbers.
    changed: bool,
    /// The end of the window that the peer was told.
    told_end: u32,
    /// When a number is due, if none is at once.
    soonest: Option<u32>,
    /// Where the round is among the numbers.
    round: Option<usize>,
}

/// A number that is told again and again, until the peer has forgotten it.
#[derive(Debug)]
struct Owed {
    number: u32,
    timestamp: u32,
    due: Option<u32>,
    /// How often it was told.
    told: u32,
}

/// Numbers that are owed at a time: the window's, and as many that were read. A peer that never forgets any goes without the
/// oldest, which it knows by what was read.
const OWED: usize = 2;

/// The least between two tellings of a number. Each comes later than the one before by twice as much, up to so many doublings:
/// whoever misses it says its data again.
const LEAST: u32 = 20;
const DOUBLINGS: u32 = 6;

/// Bytes that a segment is counted for at least, when it is asked how many the window may hold.
const USUAL: usize = 1500;

impl Receiving {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            window: VecDeque::new(),
            next: 0,
            at: 0,
            held: 0,
            owed: VecDeque::new(),
            forgotten: 0,
            changed: false,
            told_end: settings.window,
            soonest: None,
            round: None,
        }
    }

    /// The next number that will be read.
    pub(super) fn next(&self) -> u32 {
        self.next
    }

    /// The first number that is missing.
    pub(super) fn missing(&self) -> u32 {
        let whole = self.window.iter().take_while(|slot| slot.is_some()).count();
        self.next.wrapping_add(u32::try_from(whole).unwrap_or(u32::MAX))
    }

    /// Bytes that wait.
    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// Whether nothing waits, and nothing is to be told.
    pub(super) fn is_idle(&self) -> bool {
        self.window.is_empty() && !self.owes()
    }

    /// Whether there is something to read.
    pub(super) fn is_ready(&self) -> bool {
        self.window.front().is_some_and(Option::is_some)
    }

    /// Whether the peer must be told something.
    pub(super) fn owes(&self) -> bool {
        self.changed || !self.owed.is_empty()
    }

    /// In how many milliseconds something is to be told, if anything is.
    pub(super) fn due(&self, now: u32) -> Option<u32> {
        let soonest = if self.changed { 0 } else { self.soonest.map_or(0, |soonest| until(now, soonest)) };
        self.owes().then_some(soonest)
    }

    /// The peer has forgotten all before this.
    pub(super) fn forget(&mut self, sending_next: u32) {
        if is_before(self.forgotten, sending_next) {
            self.forgotten = sending_next;
            self.owed.retain(|owed| !is_before(owed.number, sending_next));
        }
    }

    /// A segment came. Unless there is `room`, only the one that is read next is kept.
    pub(super) fn take(
        &mut self,
        number: u32,
        timestamp: u32,
        payload: &[u8],
        room: bool,
        settings: &Settings,
        spare: &mut Spare,
    ) {
        if is_before(number, self.next) {
            // It was read already. What tells so was lost.
            self.changed = true;
            return;
        }
        let at = until(self.next, number);
        let most = (settings.window as usize).saturating_mul(settings.packet.max(USUAL));
        if at >= settings.window || at > 0 && (!room || self.held + payload.len() > most) {
            return;
        }
        let at = at as usize;
        if at >= self.window.len() {
            self.window.resize_with(at + 1, || None);
        }
        let Some(slot) = self.window.get_mut(at) else { return };
        if slot.is_none() {
            let mut kept = spare.take();
            kept.extend_from_slice(payload);
            self.held += kept.len();
            *slot = Some(kept);
            self.owe(number, timestamp, settings);
        } else if let Some(owed) = self.owed.iter_mut().find(|owed| owed.number == number) {
            (owed.timestamp, owed.due, owed.told) = (timestamp, None, 0);
            self.soonest = None;
        } else {
            self.owe(number, timestamp, settings);
        }
    }

    fn owe(&mut self, number: u32, timestamp: u32, settings: &Settings) {
        if self.owed.len() >= OWED * settings.window as usize {
            self.owed.pop_front();
        }
        self.owed.push_back(Owed { number, timestamp, due: None, told: 0 });
        self.soonest = None;
    }

    /// Reads as much as there is room for.
    pub(super) fn read(
        &mut self,
        mut into: impl FnMut(&[u8]) -> usize,
        settings: &Settings,
        spare: &mut Spare,
    ) -> usize {
        let mut read = 0;
        while let Some(Some(payload)) = self.window.front() {
            let rest = payload.get(self.at..).unwrap_or_default();
            let took = into(rest).min(rest.len());
            read += took;
            self.at += took;
            if took < rest.len() {
                break;
            }
            let len = payload.len();
            if let Some(Some(payload)) = self.window.pop_front() {
                spare.give(payload);
            }
            self.held -= len.min(self.held);
            (self.at, self.next) = (0, self.next.wrapping_add(1));
        }
        let end = self.next.wrapping_add(settings.window);
        // The peer waits for room, if anybody does.
        self.changed |= until(self.told_end, end) >= (settings.window / 4).max(1);
        read
    }

    /// A beat begins: what is due is told in it.
    pub(super) fn beat(&mut self) {
        self.round = self.owes().then_some(0);
    }

    /// Whether there is more of this round.
    pub(super) fn is_open(&self) -> bool {
        self.round.is_some()
    }

    /// Appends the next segment of this round; none is the end of it.
    pub(super) fn transmit(&mut self, telling: &Telling<'_>, out: &mut Vec<u8>) -> bool {
        let &Telling { now, overdue, head, settings, .. } = telling;
        let Some(at) = self.round else { return false };
        let most = (settings.packet.saturating_sub(ACK) / 4).clamp(1, NUMBERS);
        let again = (overdue / 2).max(LEAST);
        let mut passed = at.min(self.owed.len());
        let start = out.len();
        let due = self.owed.range_mut(passed..).inspect(|_| passed += 1);
        let due = due.filter(|owed| owed.due.is_none_or(|due| !is_before(now, due)));
        let listed = due.take(most).map(|owed| {
            owed.due = Some(now.wrapping_add(again << owed.told.min(DOUBLINGS)));
            owed.told = owed.told.saturating_add(1);
            (owed.number, owed.timestamp)
        });
        let end = self.next.wrapping_add(settings.window);
        let any = write_ack(head, end, self.next, listed, out);
        if any || self.changed {
            (self.round, self.changed, self.told_end) = (Some(passed), false, end);
            return true;
        }
        out.truncate(start);
        self.round = None;
        let dues = self.owed.iter().map(|owed| owed.due.map_or(0, |due| until(now, due)));
        self.soonest = dues.min().map(|soonest| now.wrapping_add(soonest));
        false
    }
}
