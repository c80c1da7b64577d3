//! Our retry behind somebody else's choice: what an engine would gain if it only dialled again.

use std::collections::VecDeque;

use super::attempt::{Attempt, DIAL, Plan};
use super::contender::Contender;
use super::field::Field;

/// Dials of real flows that are kept of each member.
const KEPT: usize = 64;

/// A strategy whose flows are dialled on the next member of its own ranking when a dial fails.
#[derive(Debug)]
pub struct Retried<C> {
    inner: C,
    dials: Vec<VecDeque<f64>>,
}

impl<C> Retried<C> {
    /// This strategy with our retry.
    #[must_use]
    pub fn new(inner: C) -> Self {
        Self { inner, dials: Vec::new() }
    }

    /// How long a dial of this member may take before the next one is tried (12.4).
    fn limit(&self, member: usize) -> f64 {
        let mut dials: Vec<f64> = self.dials[member].iter().copied().collect();
        dials.sort_by(f64::total_cmp);
        dials.get(dials.len() / 2).map_or(DIAL, |median| (2.0 * median + 0.2).clamp(0.4, DIAL))
    }
}

impl<C: Contender> Contender for Retried<C> {
    type Event = C::Event;

    fn start(&mut self, field: &mut Field<'_, C::Event>) {
        self.dials = vec![VecDeque::new(); field.world.paths.len()];
        self.inner.start(field);
    }

    fn on(&mut self, event: C::Event, field: &mut Field<'_, C::Event>) {
        self.inner.on(event, field);
    }

    fn pick(&mut self, site: usize, field: &mut Field<'_, C::Event>) -> Plan {
        let Some(first) = self.inner.pick(site, field).first() else { return Plan::default() };
        let others = self.inner.ranking(field).into_iter().filter(|&member| member != first);
        [first]
            .into_iter()
            .chain(others)
            .fold(Plan::default(), |plan, member| plan.then(member, self.limit(member)))
            .patient()
    }

    fn saw(&mut self, attempt: &Attempt, field: &mut Field<'_, C::Event>) {
        if let Some(dialed) = attempt.trip.dialed {
            let dials = &mut self.dials[attempt.member];
            dials.push_back(dialed - attempt.began);
            if dials.len() > KEPT {
                dials.pop_front();
            }
        }
        self.inner.saw(attempt, field);
    }

    fn ranking(&self, field: &Field<'_, C::Event>) -> Vec<usize> {
        self.inner.ranking(field)
    }
}
