//! Xray's `leastLoad` over its burst observatory: probes at random moments, and the member whose delay varies least.

use std::collections::VecDeque;

use crate::simulate::attempt::Plan;
use crate::simulate::contender::Contender;
use crate::simulate::draw::Draw;
use crate::simulate::field::{Field, LIGHT, Probe};
use crate::simulate::tally::mean;

/// See the module.
#[derive(Debug)]
pub struct LeastLoad {
    interval: f64,
    sampling: usize,
    tolerance: f64,
    drawn: u64,
    /// When each result came, and its delay or failure.
    results: Vec<VecDeque<(f64, Option<f64>)>>,
}

impl LeastLoad {
    /// Xray's defaults: a probe a minute, ten kept. `tolerance` is the share of failures from which a member is left
    /// out; 0 is off.
    #[must_use]
    pub fn new(tolerance: f64) -> Self {
        Self { interval: 60.0, sampling: 10, tolerance, drawn: 0, results: Vec::new() }
    }

    fn window(&self) -> f64 {
        self.interval * self.sampling as f64
    }

    /// Deviation and mean, by which members are compared; none where the member is dead, unknown or fails too often.
    fn load(&self, member: usize, now: f64) -> Option<(f64, f64)> {
        let young = |&&(time, _): &&(f64, Option<f64>)| now - time <= 2.0 * self.window();
        let results: Vec<Option<f64>> = self.results[member].iter().filter(young).map(|&(_, delay)| delay).collect();
        let delays: Vec<f64> = results.iter().copied().flatten().collect();
        let failed = (results.len() - delays.len()) as f64 / results.len().max(1) as f64;
        if self.tolerance > 0.0 && failed > self.tolerance {
            return None;
        }
        let average = mean(&delays)?;
        let squares: Vec<f64> = delays.iter().map(|delay| (delay - average) * (delay - average)).collect();
        let deviation = if delays.len() < 2 { average / 2.0 } else { mean(&squares)?.sqrt() };
        Some((deviation, average))
    }
}

/// What is due.
#[derive(Debug, Clone, Copy)]
pub enum Burst {
    /// A window of random moments.
    Window,
    /// A probe of this member.
    Probe(usize),
    /// It ended.
    Probed(Probe),
}

impl Contender for LeastLoad {
    type Event = Burst;

    fn start(&mut self, field: &mut Field<'_, Burst>) {
        self.results = vec![VecDeque::new(); field.world.paths.len()];
        for member in field.members() {
            field.at(0.0, Burst::Probe(member));
        }
        field.at(0.0, Burst::Window);
    }

    fn on(&mut self, event: Burst, field: &mut Field<'_, Burst>) {
        match event {
            Burst::Window => {
                for member in field.members() {
                    for _ in 0..self.sampling {
                        self.drawn += 1;
                        let moment = Draw::of([field.world.seed, self.drawn, 77]).uniform();
                        field.at(field.now + self.window() * moment, Burst::Probe(member));
                    }
                }
                field.at(field.now + self.window(), Burst::Window);
            }
            Burst::Probe(member) => field.probe(member, LIGHT, 5.0, 2, Burst::Probed),
            Burst::Probed(probe) => {
                let results = &mut self.results[probe.member];
                results.push_back((field.now, probe.time()));
                if results.len() > self.sampling {
                    results.pop_front();
                }
            }
        }
    }

    fn pick(&mut self, _site: usize, field: &mut Field<'_, Burst>) -> Plan {
        self.ranking(field).first().map_or_else(Plan::default, |&member| Plan::only(member))
    }

    fn ranking(&self, field: &Field<'_, Burst>) -> Vec<usize> {
        const UNKNOWN: (f64, f64) = (f64::INFINITY, f64::INFINITY);
        let load = |member| self.load(member, field.now).unwrap_or(UNKNOWN);
        let mut members: Vec<(usize, (f64, f64))> = field.members().map(|member| (member, load(member))).collect();
        members.sort_by(|(_, a), (_, b)| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        members.into_iter().map(|(member, _)| member).collect()
    }
}
