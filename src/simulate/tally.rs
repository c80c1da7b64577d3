//! What is counted while a strategy runs through a world.

use super::attempt::Attempt;
use super::network::{Outage, World};
use super::workload::Item;

/// No item counts as slower than this.
const SLOWEST: f64 = 20.0;

/// How a strategy did in one world.
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    /// Mean over items of their time by the best time that one member could have made, each at most 20.
    pub slowdown: f64,
    /// Failed flows, in percent.
    pub failed: f64,
    /// How often an hour the pick differed from that of the item before.
    pub switches: f64,
    /// How often, in percent, it differed from the last one for the same site.
    pub exits: f64,
    /// The page time that 95 of 100 pages stay below, in seconds.
    pub page_p95: f64,
    /// Probe traffic in kB an hour and member.
    pub probes: f64,
    /// Mean over outages of the seconds from their start to the last flow that was first dialled to the dead member;
    /// absent where no flow met one.
    pub recover: Option<f64>,
    /// Every change of the member that new items go to: from when, and who.
    pub picks: Vec<(f64, usize)>,
}

/// The running count.
#[derive(Debug)]
pub(super) struct Tally {
    outages: Vec<(Outage, Option<f64>)>,
    picks: Vec<(f64, usize)>,
    sites: Vec<Option<usize>>,
    moved: usize,
    flows: usize,
    failed: usize,
    slowdowns: Vec<f64>,
    pages: Vec<f64>,
}

impl Tally {
    pub(super) fn new(world: &World) -> Self {
        Self {
            outages: world.outages().into_iter().map(|outage| (outage, None)).collect(),
            picks: Vec::new(),
            sites: Vec::new(),
            moved: 0,
            flows: 0,
            failed: 0,
            slowdowns: Vec::new(),
            pages: Vec::new(),
        }
    }

    /// An item begins on this member.
    pub(super) fn picked(&mut self, item: &Item, member: usize) {
        if self.picks.last().is_none_or(|&(_, last)| last != member) {
            self.picks.push((item.time, member));
        }
        if self.sites.len() <= item.site {
            self.sites.resize(item.site + 1, None);
        }
        let before = self.sites[item.site].replace(member);
        self.moved += usize::from(before.is_some_and(|before| before != member));
    }

    /// A flow was first dialled to a member.
    pub(super) fn dialled(&mut self, attempt: &Attempt) {
        let hit = |outage: &Outage| {
            outage.member == attempt.member && (outage.from as f64..outage.until as f64).contains(&attempt.began)
        };
        for (outage, last) in self.outages.iter_mut().filter(|(outage, _)| hit(outage)) {
            let since = attempt.began - outage.from as f64;
            *last = Some(last.map_or(since, |last| last.max(since)));
        }
    }

    /// An item ended. Items that no member could carry are left out.
    pub(super) fn carried(&mut self, item: &Item, time: f64, failed: usize, best: Option<f64>) {
        let Some(best) = best else { return };
        self.flows += item.objects.len();
        self.failed += failed;
        self.slowdowns.push((time / best).clamp(1.0, SLOWEST));
        if item.is_page() {
            self.pages.push(time);
        }
    }

    pub(super) fn score(mut self, world: &World, items: usize, probes: f64) -> Score {
        let share = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
        self.pages.sort_by(f64::total_cmp);
        let p95 = (0.95 * self.pages.len() as f64) as usize;
        let met: Vec<f64> = self.outages.iter().filter_map(|(_, last)| *last).collect();
        Score {
            slowdown: mean(&self.slowdowns).unwrap_or(1.0),
            failed: share(self.failed, self.flows),
            switches: self.picks.len().saturating_sub(1) as f64 / world.hours(),
            exits: share(self.moved, items),
            page_p95: self.pages.get(p95).copied().unwrap_or(0.0),
            probes: probes / 1e3 / world.hours() / world.paths.len() as f64,
            recover: mean(&met),
            picks: self.picks,
        }
    }
}

/// The mean, if there is anything.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
