//! What was said and is not known to have arrived.

use std::collections::VecDeque;

use super::order::{is_before, until};
use super::segment::write_data;
use super::settings::Settings;
use super::spare::Spare;
use super::telling::Telling;

/// What was said and is not known to have arrived.
#[derive(Debug)]
pub(super) struct Sending {
    /// By number, from `first` on.
    slots: VecDeque<Slot>,
    first: u32,
    /// The first number that the peer would not take.
    peer_end: u32,
    /// Packets of a beat, as loss allows.
    control: u32,
    /// Segments that left and were not acknowledged.
    flying: u32,
    /// The number at which what never left begins.
    fresh: u32,
    /// Data that may still leave in this beat.
    left: u32,
    round: Option<Round>,
    /// `first` has moved, and the peer does not know.
    moved: bool,
}

#[derive(Debug)]
struct Slot {
    payload: Vec<u8>,
    /// How often it left.
    sent: u32,
    /// When it leaves again.
    due: u32,
    /// It has arrived.
    taken: bool,
}

/// A walk over what may leave.
#[derive(Debug)]
struct Round {
    /// A beat's, which tells of losses.
    whole: bool,
    at: u32,
    sent: u32,
    lost: u32,
}

/// What every peer takes before it has said how much.
const FIRST_WINDOW: u32 = 32;

/// Packets of a beat, however many are lost.
const LEAST: u32 = 16;

/// Losses of a beat in percent from which on less is said, and up to which more is.
const MANY: u32 = 15;
const FEW: u32 = 5;

/// A segment that left so often leaves more rarely, at last only after so many times what is usual: nobody may be there. Where
/// nobody has answered yet it does so from the first on, since somebody else's address may have been given.
const PATIENT: u32 = 6;
const RARE: u32 = 8;
const RAREST: u32 = 64;

impl Sending {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            slots: VecDeque::new(),
            first: 0,
            peer_end: FIRST_WINDOW,
            control: settings.flight,
            flying: 0,
            fresh: 0,
            left: 0,
            round: None,
            moved: false,
        }
    }

    /// The first number that is not known to have arrived.
    pub(super) fn first(&self) -> u32 {
        self.first
    }

    /// Whether all has arrived.
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Whether the peer should be told what it may forget.
    pub(super) fn has_moved(&self) -> bool {
        self.moved
    }

    /// The peer was told.
    pub(super) fn told(&mut self) {
        self.moved = false;
    }

    /// Segments that there is room for.
    pub(super) fn room(&self, settings: &Settings) -> usize {
        (settings.buffer as usize).saturating_sub(self.slots.len())
    }

    /// Takes bytes to be said, as far as there is room; gives how many.
    pub(super) fn push(&mut self, bytes: &[u8], settings: &Settings, spare: &mut Spare) -> usize {
        let size = settings.segment();
        let mut rest = bytes;
        if let Some(last) = self.slots.back_mut().filter(|last| last.sent == 0) {
            let (more, behind) = rest.split_at(rest.len().min(size.saturating_sub(last.payload.len())));
            last.payload.extend_from_slice(more);
            rest = behind;
        }
        for _ in 0..self.room(settings) {
            if rest.is_empty() {
                break;
            }
            let (piece, behind) = rest.split_at(rest.len().min(size));
            let mut payload = spare.take();
            payload.extend_from_slice(piece);
            self.slots.push_back(Slot::new(payload));
            rest = behind;
        }
        bytes.len() - rest.len()
    }

    /// Says nothing, to be told that it has arrived.
    pub(super) fn knock(&mut self) {
        self.slots.push_back(Slot::new(vec![]));
    }

    /// Forgets all: nobody hears it.
    pub(super) fn clear(&mut self) {
        self.first = self.first.wrapping_add(u32::try_from(self.slots.len()).unwrap_or(u32::MAX));
        self.fresh = self.first;
        (self.slots, self.flying, self.round) = (VecDeque::new(), 0, None);
    }

    /// The peer would take all before this.
    pub(super) fn widen(&mut self, window_end: u32) {
        if is_before(self.peer_end, window_end) {
            self.peer_end = window_end;
        }
    }

    /// All before this have arrived. Whether something of it is new.
    pub(super) fn taken_before(&mut self, next: u32, spare: &mut Spare) -> bool {
        // A number that never left cannot have arrived.
        let known = (until(self.first, next) as usize).min(until(self.first, self.fresh) as usize);
        let mut any = false;
        for slot in self.slots.iter_mut().take(known) {
            any |= take(slot, &mut self.flying, spare);
        }
        self.pass();
        any
    }

    /// This one has arrived. Whether that is new.
    pub(super) fn taken(&mut self, number: u32, spare: &mut Spare) -> bool {
        let left = !is_before(number, self.first) && is_before(number, self.fresh);
        let at = number.wrapping_sub(self.first) as usize;
        let any = left && self.slots.get_mut(at).is_some_and(|slot| take(slot, &mut self.flying, spare));
        if any {
            self.pass();
        }
        any
    }

    /// This one arrived: what left before it and did not is likely lost, and leaves again sooner.
    pub(super) fn hurry(&mut self, number: u32, overdue: u32) {
        let before = until(self.first, number) as usize;
        let waiting = self.slots.iter_mut().take(before).filter(|slot| slot.sent > 0 && !slot.taken);
        waiting.for_each(|slot| slot.due = slot.due.wrapping_sub(overdue / 3));
    }

    fn pass(&mut self) {
        while self.slots.front().is_some_and(|slot| slot.taken) {
            self.slots.pop_front();
            self.first = self.first.wrapping_add(1);
            self.moved = true;
        }
    }

    /// A beat begins: so much may leave in it.
    pub(super) fn beat(&mut self, settings: &Settings) {
        let window = until(self.first, self.peer_end);
        let flight = settings.flight.min(window).min(self.control);
        // One at least: it asks whether the peer takes more.
        self.left = flight.saturating_mul(settings.multiplier).max(1);
        self.round = Some(Round { whole: true, at: self.first, sent: 0, lost: 0 });
    }

    /// Between beats only what never left does.
    pub(super) fn refresh(&mut self) {
        if self.round.is_none() {
            self.round = Some(Round { whole: false, at: self.fresh, sent: 0, lost: 0 });
        }
    }

    /// Whether something could leave before the next beat.
    pub(super) fn is_fresh(&self) -> bool {
        self.left > 0
            && until(self.first, self.fresh) < u32::try_from(self.slots.len()).unwrap_or(u32::MAX)
            && is_before(self.fresh, self.peer_end)
    }

    /// Whether there is more of this round.
    pub(super) fn is_open(&self) -> bool {
        self.round.is_some()
    }

    /// Appends the next segment of this round; none is the end of it.
    pub(super) fn transmit(&mut self, telling: &Telling<'_>, out: &mut Vec<u8>) -> bool {
        let &Telling { now, overdue, head, settings, answered } = telling;
        let Some(round) = &mut self.round else { return false };
        if is_before(round.at, self.first) {
            round.at = self.first;
        }
        while self.left > 0 {
            let number = round.at;
            let Some(slot) = self.slots.get_mut(number.wrapping_sub(self.first) as usize) else { break };
            if !is_before(number, self.peer_end) && number != self.first {
                break;
            }
            round.at = number.wrapping_add(1);
            if slot.taken || slot.sent > 0 && is_before(now, slot.due) {
                continue;
            }
            if slot.sent == 0 {
                self.flying += 1;
                self.fresh = round.at;
            } else {
                round.lost += 1;
            }
            round.sent += 1;
            self.left -= 1;
            slot.sent = slot.sent.saturating_add(1);
            let factor = if answered {
                (slot.sent.saturating_sub(PATIENT) + 1).min(RARE)
            } else {
                1_u32.checked_shl(slot.sent - 1).unwrap_or(RAREST).min(RAREST)
            };
            slot.due = now.wrapping_add(overdue.saturating_mul(factor));
            write_data(head, now, number, self.first, &slot.payload, out);
            self.moved = false;
            return true;
        }
        let lost = round.lost * 100 / self.flying.max(1);
        if round.whole && round.sent > 0 {
            self.adapt(lost, settings);
        }
        self.round = None;
        false
    }

    fn adapt(&mut self, lost: u32, settings: &Settings) {
        if lost >= MANY {
            self.control = self.control * 3 / 4;
        } else if lost <= FEW {
            self.control += self.control / 4;
        }
        self.control = self.control.max(LEAST).min(settings.flight);
    }
}

impl Slot {
    fn new(payload: Vec<u8>) -> Self {
        Self { payload, sent: 0, due: 0, taken: false }
    }
}

fn take(slot: &mut Slot, flying: &mut u32, spare: &mut Spare) -> bool {
    let new = !slot.taken;
    if new {
        slot.taken = true;
        *flying = flying.saturating_sub(1);
        spare.give(std::mem::take(&mut slot.payload));
    }
    new
}
