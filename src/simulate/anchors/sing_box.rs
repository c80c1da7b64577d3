//! sing-box's `urltest`: a member with a fresh result is not asked again, the current one stays unless another is better
//! by the tolerance, and a failed dial forgets the member's result without choosing anew.

use crate::simulate::attempt::{Attempt, Plan};
use crate::simulate::contender::Contender;
use crate::simulate::field::{Field, Probe};

/// Body of its probe: a HEAD request brings little.
const BODY: f64 = 100.0;

/// See the module.
#[derive(Debug)]
pub struct SingBox {
    interval: f64,
    tolerance: f64,
    /// When each result came, and its delay.
    history: Vec<Option<(f64, f64)>>,
    selected: Option<usize>,
    running: usize,
}

impl SingBox {
    /// With this interval and tolerance, both in seconds.
    #[must_use]
    pub fn new(interval: f64, tolerance: f64) -> Self {
        Self { interval, tolerance, history: Vec::new(), selected: None, running: 0 }
    }

    fn test(&mut self, all: bool, field: &mut Field<'_, Tick>) {
        let stale =
            |member: &usize| all || self.history[*member].is_none_or(|(since, _)| field.now - since >= self.interval);
        let due: Vec<usize> = field.members().filter(stale).collect();
        self.running = due.len();
        if due.is_empty() {
            self.update(field);
        }
        for member in due {
            field.probe(member, BODY, 15.0, 2, Tick::Tested);
        }
    }

    fn update(&mut self, field: &Field<'_, Tick>) {
        let delay = |member: usize| self.history[member].map(|(_, delay)| delay);
        let mut best = self.selected.and_then(|current| Some((current, delay(current)?)));
        for member in field.members() {
            let Some(delay) = delay(member) else { continue };
            if best.is_none_or(|(_, least)| least > delay + self.tolerance) {
                best = Some((member, delay));
            }
        }
        self.selected = best.map(|(member, _)| member).or(self.selected).or_else(|| field.members().next());
    }
}

/// What is due.
#[derive(Debug, Clone, Copy)]
pub enum Tick {
    /// The first test, of all.
    First,
    /// A test of those without a fresh result.
    Again,
    /// A test ended.
    Tested(Probe),
}

impl Contender for SingBox {
    type Event = Tick;

    fn start(&mut self, field: &mut Field<'_, Tick>) {
        self.history = vec![None; field.world.paths.len()];
        field.at(0.0, Tick::First);
        field.at(self.interval, Tick::Again);
    }

    fn on(&mut self, event: Tick, field: &mut Field<'_, Tick>) {
        match event {
            Tick::First => self.test(true, field),
            Tick::Again => {
                self.test(false, field);
                field.at(field.now + self.interval, Tick::Again);
            }
            Tick::Tested(probe) => {
                self.history[probe.member] = probe.time().map(|delay| (field.now, delay));
                self.running = self.running.saturating_sub(1);
                if self.running == 0 {
                    self.update(field);
                }
            }
        }
    }

    fn pick(&mut self, _site: usize, field: &mut Field<'_, Tick>) -> Plan {
        self.selected.or_else(|| field.members().next()).map_or_else(Plan::default, Plan::only)
    }

    fn saw(&mut self, attempt: &Attempt, _field: &mut Field<'_, Tick>) {
        if attempt.trip.undialed() {
            self.history[attempt.member] = None;
        }
    }

    fn ranking(&self, field: &Field<'_, Tick>) -> Vec<usize> {
        let mut members: Vec<usize> = field.members().collect();
        let delay = |member: usize| self.history[member].map_or(f64::INFINITY, |(_, delay)| delay);
        members.sort_by(|&a, &b| delay(a).total_cmp(&delay(b)));
        members
    }
}
