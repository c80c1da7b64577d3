//! mihomo's `url-test`: a lazy round every five minutes, the lowest newest delay within a tolerance, an answer kept for
//! ten seconds. A refused dial, or five failed ones close together, start a round.
//!
//! Two of its habits are kept on purpose: the tolerance has no effect while the first member is current, and the first
//! member is the starting point of the search even when it is dead.

use crate::simulate::attempt::{Attempt, Plan};
use crate::simulate::contender::Contender;
use crate::simulate::field::{Field, LIGHT, Probe};
use crate::simulate::trip::{Fate, Refusal};

/// What counts as the delay of a member that is dead or untested, in seconds.
const UNKNOWN: f64 = 65.5;
/// How long an answer is kept, in seconds.
const KEPT: f64 = 10.0;

/// See the module.
#[derive(Debug)]
pub struct Mihomo {
    interval: f64,
    tolerance: f64,
    alive: Vec<bool>,
    delays: Vec<f64>,
    fastest: Option<usize>,
    kept: Option<(f64, usize)>,
    touched: f64,
    running: usize,
    failures: u32,
    first_failure: f64,
}

impl Mihomo {
    /// With this interval and tolerance, both in seconds.
    #[must_use]
    pub fn new(interval: f64, tolerance: f64) -> Self {
        Self {
            interval,
            tolerance,
            alive: Vec::new(),
            delays: Vec::new(),
            fastest: None,
            kept: None,
            touched: 0.0,
            running: 0,
            failures: 0,
            first_failure: 0.0,
        }
    }

    fn round(&mut self, field: &mut Field<'_, Round>) {
        self.running = field.members().count();
        for member in field.members() {
            field.probe(member, LIGHT, 5.0, 2, Round::Tested);
        }
    }

    fn select(&mut self, field: &Field<'_, Round>) -> Option<usize> {
        let mut members = field.members();
        let first = members.next()?;
        let (mut fast, mut recognised) = (first, false);
        for member in members {
            recognised |= self.fastest == Some(member);
            if self.alive[member] && self.delays[member] < self.delays[fast] {
                fast = member;
            }
        }
        let stays = |current: usize| {
            recognised && self.alive[current] && self.delays[current] <= self.delays[fast] + self.tolerance
        };
        self.fastest = self.fastest.filter(|&current| stays(current)).or(Some(fast));
        self.fastest
    }
}

/// What is due.
#[derive(Debug, Clone, Copy)]
pub enum Round {
    /// A round, if the group was used.
    Tick,
    /// A test ended.
    Tested(Probe),
}

impl Contender for Mihomo {
    type Event = Round;

    fn start(&mut self, field: &mut Field<'_, Round>) {
        self.alive = vec![true; field.world.paths.len()];
        self.delays = vec![UNKNOWN; field.world.paths.len()];
        field.at(0.0, Round::Tick);
    }

    fn on(&mut self, event: Round, field: &mut Field<'_, Round>) {
        match event {
            Round::Tick => {
                if field.now - self.touched < self.interval {
                    self.round(field);
                }
                field.at(field.now + self.interval, Round::Tick);
            }
            Round::Tested(probe) => {
                self.alive[probe.member] = probe.trip.good();
                self.delays[probe.member] = probe.time().unwrap_or(UNKNOWN);
                self.running = self.running.saturating_sub(1);
                if self.running == 0 {
                    self.failures = 0;
                }
            }
        }
    }

    fn pick(&mut self, _site: usize, field: &mut Field<'_, Round>) -> Plan {
        self.touched = field.now;
        let kept = self.kept.filter(|(since, _)| field.now - since < KEPT);
        if kept.is_none() {
            self.kept = self.select(field).map(|member| (field.now, member));
        }
        self.kept.map_or_else(Plan::default, |(_, member)| Plan::only(member))
    }

    fn saw(&mut self, attempt: &Attempt, field: &mut Field<'_, Round>) {
        let idle = self.running == 0;
        match attempt.trip.fate {
            Fate::Dial(Refusal::Refused) if idle => self.round(field),
            Fate::Dial(Refusal::Refused) => {}
            Fate::Dial(Refusal::Timeout) => {
                self.failures += 1;
                if self.failures == 1 {
                    self.first_failure = field.now;
                } else if field.now - self.first_failure > 5.0 {
                    self.failures = 0;
                } else if self.failures >= 5 && idle {
                    self.round(field);
                }
            }
            _ if idle => self.failures = 0,
            _ => {}
        }
    }

    fn ranking(&self, field: &Field<'_, Round>) -> Vec<usize> {
        let mut members: Vec<usize> = field.members().collect();
        let rank = |member: usize| (!self.alive[member], self.delays[member]);
        members.sort_by(|&a, &b| rank(a).0.cmp(&rank(b).0).then(rank(a).1.total_cmp(&rank(b).1)));
        members
    }
}
