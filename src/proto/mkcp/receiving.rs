//! What came and was not read, and what the peer must be told of it.

use std::collections::VecDeque;

use super::order::{is_before, until};
use super::segment::{ACK, Head, NUMBERS, write_ack};
use super::settings::Settings;
use super::spare::Spare;

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
    /// Where the round is among the numbers.
    round: Option<usize>,
}

/// A number that is told again and again, until the peer has forgotten it.
#[derive(Debug)]
struct Owed {
    number: u32,
    timestamp: u32,
    due: Option<u32>,
}

/// Numbers that are owed at a time: the window's, and as many that were read. A peer that never forgets any goes without the
/// oldest, which it knows by what was read.
const OWED: usize = 2;

/// The least between two tellings of a number.
const LEAST: u32 = 20;

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
            (owed.timestamp, owed.due) = (timestamp, None);
        } else {
            self.owe(number, timestamp, settings);
        }
    }

    fn owe(&mut self, number: u32, timestamp: u32, settings: &Settings) {
        if self.owed.len() >= OWED * settings.window as usize {
            self.owed.pop_front();
        }
        self.owed.push_back(Owed { number, timestamp, due: None });
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

    /// Forgets what waits: nobody reads it.
    pub(super) fn clear(&mut self) {
        (self.window, self.owed, self.held, self.at) = (VecDeque::new(), VecDeque::new(), 0, 0);
        (self.changed, self.round) = (false, None);
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
    pub(super) fn transmit(
        &mut self,
        now: u32,
        overdue: u32,
        head: Head,
        settings: &Settings,
        out: &mut Vec<u8>,
    ) -> bool {
        let Some(at) = self.round else { return false };
        let most = (settings.packet.saturating_sub(ACK) / 4).clamp(1, NUMBERS);
        let again = now.wrapping_add((overdue / 2).max(LEAST));
        let mut passed = at.min(self.owed.len());
        let start = out.len();
        let due = self.owed.range_mut(passed..).inspect(|_| passed += 1);
        let due = due.filter(|owed| owed.due.is_none_or(|due| !is_before(now, due)));
        let listed = due.take(most).map(|owed| {
            owed.due = Some(again);
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
        false
    }
}
