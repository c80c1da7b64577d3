//! Orders of a person.

use std::time::Duration;

use super::super::board::{Decision, Pin};
use super::super::chance::later;
use super::super::moment::Moment;
use super::super::order::{Order, Refusal};
use super::super::timers::Timer;
use super::lights::wall_ms;
use super::{Act, Keeper, Purpose};
use crate::addr::Tag;

impl Keeper {
    /// Follows an order of a person.
    ///
    /// # Errors
    /// [`Refusal`] where it cannot be followed; nothing was changed then.
    pub fn order(&mut self, group: usize, order: &Order, now: Moment, acts: &mut Vec<Act>) -> Result<(), Refusal> {
        if group >= self.rosters.len() {
            return Ok(());
        }
        match order {
            Order::Pin { member, lasts, strict } => self.pin(group, member, *lasts, *strict, now, acts)?,
            Order::Unpin => self.unpin(group, "is not pinned any more", now),
            Order::Fence(member) => self.fence(group, member, true, now, acts)?,
            Order::Unfence(member) => self.fence(group, member, false, now, acts)?,
            Order::Test(member) => self.test(group, member.as_ref(), now, acts)?,
        }
        self.show(now, acts);
        Ok(())
    }

    fn pin(
        &mut self,
        group: usize,
        tag: &Tag,
        lasts: Option<Duration>,
        strict: bool,
        now: Moment,
        acts: &mut Vec<Act>,
    ) -> Result<(), Refusal> {
        let member = self.seat(group, tag)?;
        let until = lasts.map(|lasts| later(now.steady, lasts));
        self.rosters[group].pin = Some(Pin { member, until, strict });
        if let Some(until) = until {
            self.timers.set(until, Timer::Unpin(group));
        }
        self.decided(group, member, "was pinned by a person", now);
        if !self.rosters[group].usable(&self.setup.groups[group], &self.health, member) {
            let then = if strict { "flows go there all the same" } else { "the strategy decides while it is" };
            self.note(
                &format!("balancer {}: {tag} was pinned but is down; {then}", self.setup.groups[group].tag),
                true,
                acts,
            );
        }
        Ok(())
    }

    fn unpin(&mut self, group: usize, why: &str, now: Moment) {
        if let Some(pin) = self.rosters[group].pin.take() {
            self.decided(group, pin.member, why, now);
        }
    }

    /// A pin ends by its own time.
    pub(super) fn unpin_if_due(&mut self, group: usize, now: Moment, acts: &mut Vec<Act>) {
        let Some(pin) = self.rosters[group].pin.filter(|pin| pin.until.is_some_and(|until| until <= now.steady)) else {
            return;
        };
        let (member, balancer) = (self.tag(group, pin.member), self.setup.groups[group].tag.clone());
        self.note(&format!("balancer {balancer}: the pin to {member} ended"), false, acts);
        self.unpin(group, "is not pinned any more: its time is over", now);
    }

    fn fence(
        &mut self,
        group: usize,
        tag: &Tag,
        fenced: bool,
        now: Moment,
        acts: &mut Vec<Act>,
    ) -> Result<(), Refusal> {
        self.seat(group, tag)?;
        for seat in 0..self.rosters[group].seats.len() {
            // A member that is listed twice is fenced twice.
            if self.tag(group, seat) == *tag && self.rosters[group].seats[seat].fenced != fenced {
                self.rosters[group].seats[seat].fenced = fenced;
                let what = if fenced { "was fenced by a person" } else { "was unfenced by a person" };
                self.decided(group, seat, what, now);
            }
        }
        self.settle(group, true, now, acts);
        Ok(())
    }

    fn test(&mut self, group: usize, tag: Option<&Tag>, now: Moment, acts: &mut Vec<Act>) -> Result<(), Refusal> {
        let of = match tag {
            Some(tag) => vec![self.setup.groups[group].members[self.seat(group, tag)?]],
            None => {
                let mut members = self.setup.groups[group].members.clone();
                members.sort_unstable();
                members.dedup();
                members
            }
        };
        if self.rounds.is_some() {
            match tag {
                None => self.begin_round(now, acts),
                Some(_) => of.into_iter().for_each(|subject| self.test_alone(subject, acts)),
            }
        } else if self.has_lights() {
            of.into_iter().for_each(|subject| self.start(Some(subject), Purpose::Asked, 1, acts));
        } else {
            return Err(Refusal::NoProbe(self.setup.groups[group].tag.clone()));
        }
        Ok(())
    }

    /// The place of a member in a balancer's list.
    fn seat(&self, group: usize, tag: &Tag) -> Result<usize, Refusal> {
        let seats = 0..self.rosters[group].seats.len();
        seats.clone().find(|&seat| self.tag(group, seat) == *tag).ok_or_else(|| Refusal::NoMember {
            balancer: self.setup.groups[group].tag.clone(),
            member: tag.clone(),
            members: seats.map(|seat| self.tag(group, seat).to_string()).collect::<Vec<_>>().join(", "),
        })
    }

    pub(super) fn tag(&self, group: usize, seat: usize) -> Tag {
        let subject = self.setup.groups[group].members.get(seat).and_then(|&at| self.setup.subjects.get(at));
        subject.map(|subject| subject.tag.clone()).unwrap_or_default()
    }

    fn decided(&mut self, group: usize, seat: usize, what: &str, now: Moment) {
        let decision = Decision { wall_ms: wall_ms(now), member: self.tag(group, seat), what: what.into() };
        self.rosters[group].decided(decision);
    }
}
