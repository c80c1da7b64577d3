//! What real flows show.

use std::sync::Arc;
use std::time::Duration;

use super::super::board::Life;
use super::super::chance::later;
use super::super::moment::Moment;
use super::super::seen::{Evidence, Seen};
use super::super::setup::Plan;
use super::super::timers::Timer;
use super::{Act, Keeper};
use crate::addr::Network;

impl Keeper {
    /// For how long a member that lost its datagrams carries none.
    const NO_UDP: Duration = Duration::from_secs(60);

    /// Takes what a real flow of a group shows.
    pub fn saw(&mut self, group: usize, seen: Seen, now: Moment, acts: &mut Vec<Act>) {
        let subject = self.setup.groups.get(group).and_then(|group| group.members.get(seen.member)).copied();
        let Some(subject) = subject.filter(|&subject| subject < self.health.len()) else { return };
        self.used = now.steady;
        self.end_rest(now.steady);
        let guards = self.setup.groups[group].guards;
        match (seen.network, blame(seen.what)) {
            (Network::Tcp | Network::Unix, Some((by, why))) => {
                self.health[subject].bad(Arc::from(why), now.steady);
                // While nothing answers it is the network that is slow.
                if seen.what == Evidence::TimedOut && self.outage.is_none() {
                    self.health[subject].undialled(now.steady);
                }
                self.touch(subject, false);
                if guards {
                    self.suspect(subject, by, now, acts);
                }
            }
            (Network::Tcp | Network::Unix, None) => self.flow_worked(subject, seen.what, now, acts),
            (Network::Udp, Some((by, why))) => {
                self.health[subject].bad(Arc::from(why), now.steady);
                self.touch(subject, false);
                if guards {
                    self.suspect_udp(subject, by, now.steady);
                }
            }
            (Network::Udp, None) => {
                let udp = &mut self.health[subject].udp;
                let turned = udp.life != Life::Up;
                (udp.life, udp.suspicion, udp.seen, udp.until) = (Life::Up, 0, Some(now.steady), None);
                self.worked(subject, now, acts);
                self.touch(subject, turned);
            }
        }
        self.early_round(group, seen.member, now, acts);
        self.show(now, acts);
    }

    fn flow_worked(&mut self, subject: usize, what: Evidence, now: Moment, acts: &mut Vec<Act>) {
        let health = &mut self.health[subject];
        if let Evidence::Received { bytes, time } = what {
            // Told when the flow ended, which may be how the member's death showed: it is no sign of life now.
            health.received.push(now.steady.as_secs_f64(), (bytes, time));
            return;
        }
        health.guard.clear();
        if let Evidence::Dialed(time) = what {
            health.dial(time, now.steady);
        }
        self.last_flow = Some(now.steady);
        self.worked(subject, now, acts);
        // Where nothing is measured a flow is the only sign of life.
        if matches!(self.setup.plan, Plan::Nothing) && !self.ejected(subject) {
            for (group, seat) in self.places[subject].clone() {
                self.turn(group, seat, Life::Up, now, acts);
            }
        }
    }

    /// Datagrams get lost for many reasons: a member stops to carry them only when another carries some just now.
    fn suspect_udp(&mut self, subject: usize, by: u32, now: Duration) {
        const ENOUGH: u32 = 3;
        const RECENT: Duration = Duration::from_secs(30);
        let recent = |at: usize| self.health[at].udp.seen.is_some_and(|seen| now.saturating_sub(seen) < RECENT);
        let other = (0..self.health.len()).any(|at| at != subject && recent(at));
        let own = recent(subject);
        let udp = &mut self.health[subject].udp;
        udp.suspicion = udp.suspicion.saturating_add(by);
        if udp.suspicion >= ENOUGH && other && !own && udp.life != Life::Down {
            let until = later(now, Self::NO_UDP);
            (udp.life, udp.until) = (Life::Down, Some(until));
            self.timers.set(until, Timer::Udp(subject));
            self.touch(subject, true);
        }
    }

    /// A member without datagrams gets another chance.
    pub(super) fn udp_again(&mut self, subject: usize, now: Duration) {
        let udp = &mut self.health[subject].udp;
        if udp.until.is_some_and(|until| until <= now) {
            (udp.life, udp.suspicion, udp.until) = (Life::Untested, 0, None);
            self.touch(subject, true);
        }
    }

    /// A flow came: measuring goes on.
    fn end_rest(&mut self, now: Duration) {
        if std::mem::take(&mut self.resting) {
            for subject in std::mem::take(&mut self.parked) {
                if let Some(out) = self.health[subject].guard.out() {
                    self.life_timer(subject, out.serial, now);
                }
            }
        }
    }
}

/// How much a piece of evidence speaks against a member, and in which words.
fn blame(what: Evidence) -> Option<(u32, &'static str)> {
    match what {
        Evidence::Refused => Some((2, "a flow was refused")),
        Evidence::TimedOut => Some((1, "a flow's dial was not finished in time")),
        Evidence::Silent => Some((1, "a flow got no byte back")),
        Evidence::Dialed(_) | Evidence::Answered(_) | Evidence::Received { .. } => None,
    }
}
