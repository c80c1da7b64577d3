//! shadowsocks-rust's balancer: all members every ten seconds, a score of median delay, failures and median deviation
//! over eleven minutes, the lowest after each round.

use std::collections::VecDeque;

use crate::simulate::attempt::{Attempt, Plan};
use crate::simulate::contender::Contender;
use crate::simulate::field::{Field, Probe};

/// Body of its probe.
const BODY: f64 = 200.0;
/// Longest delay that counts, in seconds.
const LONGEST: f64 = 5.0;
/// The window, in intervals.
const WINDOW: f64 = 67.0;

/// See the module.
#[derive(Debug)]
pub struct Shadowsocks {
    interval: f64,
    /// When each result came, and its delay or failure.
    results: Vec<VecDeque<(f64, Option<f64>)>>,
    scores: Vec<u64>,
    round: Vec<usize>,
    running: usize,
    best: usize,
}

impl Shadowsocks {
    /// With this interval in seconds.
    #[must_use]
    pub fn new(interval: f64) -> Self {
        Self { interval, results: Vec::new(), scores: Vec::new(), round: Vec::new(), running: 0, best: 0 }
    }

    fn push(&mut self, member: usize, delay: Option<f64>, now: f64) {
        let results = &mut self.results[member];
        results.push_back((now, delay));
        while results.front().is_some_and(|&(time, _)| now - time > WINDOW * self.interval) {
            results.pop_front();
        }
        let delays: Vec<f64> = results.iter().filter_map(|&(_, delay)| delay).collect();
        let failed = 1.0 - delays.len() as f64 / results.len() as f64;
        let middle = median(delays.clone());
        let spread = match (middle, delays.len()) {
            (None, _) => LONGEST,
            (_, 1) => 0.0,
            (Some(middle), _) => median(delays.iter().map(|delay| (delay - middle).abs()).collect()).unwrap_or(0.0),
        };
        let middle = middle.unwrap_or(LONGEST);
        self.scores[member] = ((middle / LONGEST + 3.0 * failed + spread / LONGEST) / 5.0 * 10_000.0) as u64;
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    let upper = *values.get(half)?;
    Some(if values.len() % 2 == 1 { upper } else { (upper + values[half - 1]) / 2.0 })
}

/// What is due.
#[derive(Debug, Clone, Copy)]
pub enum Round {
    /// A round.
    Begin,
    /// A check ended.
    Checked(Probe),
}

impl Contender for Shadowsocks {
    type Event = Round;

    fn start(&mut self, field: &mut Field<'_, Round>) {
        self.results = vec![VecDeque::new(); field.world.paths.len()];
        self.scores = vec![u64::MAX; field.world.paths.len()];
        field.at(0.0, Round::Begin);
    }

    fn on(&mut self, event: Round, field: &mut Field<'_, Round>) {
        match event {
            Round::Begin => {
                self.round = field.members().collect();
                self.running = self.round.len();
                for &member in &self.round {
                    field.probe(member, BODY, LONGEST, 1, Round::Checked);
                }
            }
            Round::Checked(probe) => {
                self.push(probe.member, probe.time(), field.now);
                self.running = self.running.saturating_sub(1);
                if self.running == 0 {
                    self.best = self.round.iter().copied().min_by_key(|&member| self.scores[member]).unwrap_or(0);
                    field.at(field.now + self.interval, Round::Begin);
                }
            }
        }
    }

    fn pick(&mut self, _site: usize, _field: &mut Field<'_, Round>) -> Plan {
        Plan::only(self.best)
    }

    fn saw(&mut self, attempt: &Attempt, field: &mut Field<'_, Round>) {
        if attempt.trip.undialed() {
            self.push(attempt.member, None, field.now);
        }
    }

    fn ranking(&self, field: &Field<'_, Round>) -> Vec<usize> {
        let mut members: Vec<usize> = field.members().collect();
        members.sort_by_key(|&member| self.scores[member]);
        members
    }
}
