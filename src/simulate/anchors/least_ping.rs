//! Xray's `leastPing` over its plain observatory: members are asked one after another with a pause after each, the
//! newest delay alone counts, one failure is death until the next success.

use crate::simulate::attempt::Plan;
use crate::simulate::contender::Contender;
use crate::simulate::field::{Field, LIGHT, Probe};

/// See the module.
#[derive(Debug)]
pub struct LeastPing {
    pause: f64,
    asked: usize,
    delays: Vec<Option<f64>>,
}

impl LeastPing {
    /// With this pause after each member, in seconds.
    #[must_use]
    pub fn new(pause: f64) -> Self {
        Self { pause, asked: 0, delays: Vec::new() }
    }
}

/// The next member is due, or one was asked.
#[derive(Debug, Clone, Copy)]
pub enum Sweep {
    /// Ask the next.
    Due,
    /// It ended.
    Asked(Probe),
}

impl Contender for LeastPing {
    type Event = Sweep;

    fn start(&mut self, field: &mut Field<'_, Sweep>) {
        self.delays = vec![None; field.world.paths.len()];
        field.at(0.0, Sweep::Due);
    }

    fn on(&mut self, event: Sweep, field: &mut Field<'_, Sweep>) {
        match event {
            Sweep::Due => {
                let members: Vec<usize> = field.members().collect();
                let member = members[self.asked % members.len()];
                self.asked += 1;
                field.probe(member, LIGHT, 5.0, 2, Sweep::Asked);
            }
            Sweep::Asked(probe) => {
                self.delays[probe.member] = probe.time();
                field.at(field.now + self.pause, Sweep::Due);
            }
        }
    }

    fn pick(&mut self, _site: usize, field: &mut Field<'_, Sweep>) -> Plan {
        self.ranking(field).first().map_or_else(Plan::default, |&member| Plan::only(member))
    }

    fn ranking(&self, field: &Field<'_, Sweep>) -> Vec<usize> {
        let mut members: Vec<usize> = field.members().collect();
        let delay = |member: usize| self.delays[member].unwrap_or(f64::INFINITY);
        members.sort_by(|&a, &b| delay(a).total_cmp(&delay(b)));
        members
    }
}
