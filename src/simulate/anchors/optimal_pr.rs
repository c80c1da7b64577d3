//! `optimal` exactly as it was proposed to Xray: rounds of full tests, the top score until the next round, and nothing
//! between rounds.

use crate::simulate::attempt::Plan;
use crate::simulate::contender::Contender;
use crate::simulate::field::{Field, Probe, TEST};

/// See the module.
#[derive(Debug)]
pub struct OptimalPr {
    interval: f64,
    scores: Vec<f64>,
    round: Vec<usize>,
    running: usize,
    best: usize,
}

impl OptimalPr {
    /// With this pause between rounds in seconds.
    #[must_use]
    pub fn new(interval: f64) -> Self {
        Self { interval, scores: Vec::new(), round: Vec::new(), running: 0, best: 0 }
    }
}

/// What is due.
#[derive(Debug, Clone, Copy)]
pub enum Round {
    /// A round.
    Begin,
    /// A test ended.
    Tested(Probe),
}

impl Contender for OptimalPr {
    type Event = Round;

    fn start(&mut self, field: &mut Field<'_, Round>) {
        self.scores = vec![0.0; field.world.paths.len()];
        field.at(0.0, Round::Begin);
    }

    fn on(&mut self, event: Round, field: &mut Field<'_, Round>) {
        match event {
            Round::Begin => {
                self.round = field.members().collect();
                self.running = self.round.len();
                for &member in &self.round {
                    field.probe(member, TEST, 5.0, 2, Round::Tested);
                }
            }
            Round::Tested(probe) => {
                self.scores[probe.member] = probe.time().map_or(0.0, |time| TEST / time);
                self.running = self.running.saturating_sub(1);
                if self.running == 0 {
                    let better = |&a: &usize, &b: &usize| self.scores[b].total_cmp(&self.scores[a]);
                    self.best = self.round.iter().copied().min_by(better).unwrap_or(0);
                    field.at(field.now + self.interval, Round::Begin);
                }
            }
        }
    }

    fn pick(&mut self, _site: usize, _field: &mut Field<'_, Round>) -> Plan {
        Plan::only(self.best)
    }

    fn ranking(&self, field: &Field<'_, Round>) -> Vec<usize> {
        let mut members: Vec<usize> = field.members().collect();
        members.sort_by(|&a, &b| self.scores[b].total_cmp(&self.scores[a]));
        members
    }
}
