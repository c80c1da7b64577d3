//! A journal again, under another strategy: what would have served, had it decided?
//!
//! The strategy's own keeper runs in the journal's time. What it measures is answered with the recorded measurement of
//! that member which is nearest in time, and what flows showed it is told again. That is not what would have happened,
//! since other flows would have shown other things, but it is what the strategy says of the same evidence.

use std::collections::BTreeMap;
use std::time::Duration;

use super::design::Design;
use crate::addr::Tag;
use crate::balance::{Act, Board, Fail, Job, Keeper, Kind, Memory, Moment, Outcome, Seen, Setup};

/// Something that a journal tells.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// When, since 1970.
    pub at: Duration,
    /// What.
    pub what: Recorded,
}

/// What a journal can tell of one keeper.
#[derive(Debug, Clone, PartialEq)]
pub enum Recorded {
    /// A measurement ended.
    Sample {
        /// Of whom.
        member: Tag,
        /// What was done.
        kind: Kind,
        /// How it ended.
        outcome: Outcome,
    },
    /// A flow showed something.
    Seen {
        /// By which balancer it went.
        balancer: Tag,
        /// What.
        seen: Seen,
    },
    /// Somebody began to serve.
    Serving {
        /// For which balancer.
        balancer: Tag,
        /// Who.
        member: Tag,
    },
}

/// Who served one balancer, as recorded and as replayed.
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    /// The balancer.
    pub balancer: Tag,
    /// Each change that was recorded.
    pub recorded: Vec<(Duration, Tag)>,
    /// Each change of the replay, with its reason.
    pub replayed: Vec<(Duration, Tag, String)>,
    /// From the first moment to the last.
    pub span: (Duration, Duration),
}

impl Course {
    /// The share of time in which both had the same member, of the time in which both had one.
    #[must_use]
    pub fn agreement(&self) -> Option<f64> {
        let moments = self.recorded.iter().map(|(at, _)| *at).chain(self.replayed.iter().map(|(at, ..)| *at));
        let mut moments: Vec<Duration> = moments.chain([self.span.1]).collect();
        moments.sort_unstable();
        let recorded = |at| self.recorded.iter().rev().find(|(from, _)| *from <= at).map(|(_, member)| member);
        let replayed = |at| self.replayed.iter().rev().find(|(from, ..)| *from <= at).map(|(_, member, _)| member);
        let (mut same, mut all) = (0.0, 0.0);
        for part in moments.windows(2) {
            let lasts = part[1].saturating_sub(part[0]).as_secs_f64();
            if let (Some(one), Some(other)) = (recorded(part[0]), replayed(part[0])) {
                all += lasts;
                same += if one == other { lasts } else { 0.0 };
            }
        }
        (all > 0.0).then(|| same / all)
    }
}

/// Replays what a journal tells of one keeper, whose members and weights `setup` has; with a strategy of the bench, or
/// as it was set up.
#[must_use]
pub fn replay(setup: &Setup, records: &[Record], design: Option<&Design>) -> Vec<Course> {
    let (Some(first), Some(last)) = (records.first(), records.last()) else { return Vec::new() };
    let mut setup = setup.clone();
    if let Some(design) = design {
        setup.plan = design.plan.clone();
        for group in &mut setup.groups {
            (group.rank, group.guards) = (design.rank.clone(), design.guards);
        }
    }
    let span = (first.at, last.at);
    let course = |tag: &Tag| Course { balancer: tag.clone(), recorded: vec![], replayed: vec![], span };
    let mut run = Run {
        began: first.at,
        samples: Samples::of(records),
        courses: setup.groups.iter().map(|group| course(&group.tag)).collect(),
        pending: BTreeMap::new(),
        planned: 0,
        tags: setup.subjects.iter().map(|subject| subject.tag.clone()).collect(),
        keeper: Keeper::new(setup, &Memory::default(), Moment { steady: Duration::ZERO, wall: first.at }),
    };
    for record in records {
        run.until(record.at);
        match &record.what {
            Recorded::Seen { balancer, seen } => {
                if let Some(group) = run.group(balancer) {
                    run.tell(record.at, |keeper, now, acts| keeper.saw(group, *seen, now, acts));
                }
            }
            Recorded::Serving { balancer, member } => {
                if let Some(group) = run.group(balancer)
                    && run.courses[group].recorded.last().is_none_or(|(_, last)| last != member)
                {
                    run.courses[group].recorded.push((record.at, member.clone()));
                }
            }
            Recorded::Sample { .. } => {}
        }
    }
    run.courses
}

struct Run {
    began: Duration,
    keeper: Keeper,
    tags: Vec<Tag>,
    samples: Samples,
    courses: Vec<Course>,
    /// Measurements that run, by when they end and in which order they began.
    pending: BTreeMap<(Duration, u64), (Job, Outcome)>,
    planned: u64,
}

impl Run {
    fn group(&self, balancer: &Tag) -> Option<usize> {
        self.courses.iter().position(|course| course.balancer == *balancer)
    }

    /// Does all that is due before this moment.
    fn until(&mut self, end: Duration) {
        loop {
            let wake = self.keeper.next_wake().map(|next| self.began.saturating_add(next));
            let done = self.pending.first_key_value().map(|((at, _), _)| *at);
            let Some(next) = [wake, done].into_iter().flatten().min().filter(|next| *next <= end) else { return };
            if done == Some(next)
                && let Some((_, (job, outcome))) = self.pending.pop_first()
            {
                self.tell(next, |keeper, now, acts| keeper.done(job, outcome, now, acts));
            } else {
                self.tell(next, Keeper::wake);
            }
        }
    }

    fn tell(&mut self, at: Duration, what: impl FnOnce(&mut Keeper, Moment, &mut Vec<Act>)) {
        let mut acts = Vec::new();
        what(&mut self.keeper, Moment { steady: at.saturating_sub(self.began), wall: at }, &mut acts);
        for act in acts {
            match act {
                Act::Start(job) => {
                    let outcome = self.answer(job, at);
                    let took = match &outcome {
                        Outcome::Done(sample) => sample.time,
                        Outcome::Failed { took, .. } => *took,
                    };
                    self.planned += 1;
                    self.pending.insert((at.saturating_add(took), self.planned), (job, outcome));
                }
                Act::Publish(group, board) => self.publish(group, &board, at),
                Act::Release(_) | Act::Status(..) | Act::Tell(_) => {}
            }
        }
    }

    fn publish(&mut self, group: usize, board: &Board, at: Duration) {
        let place = board.serving().and_then(|serving| self.keeper.setup().groups.get(group)?.members.get(serving));
        let Some(member) = place.and_then(|&subject| self.tags.get(subject)) else { return };
        let course = &mut self.courses[group];
        if course.replayed.last().is_none_or(|(_, last, _)| last != member) {
            let why = board.why.as_deref().unwrap_or_default().to_owned();
            course.replayed.push((at, member.clone(), why));
        }
    }

    fn answer(&self, job: Job, at: Duration) -> Outcome {
        let member = job.subject.and_then(|subject| self.tags.get(subject));
        let nearest = member.and_then(|member| self.samples.nearest(member, job.kind == Kind::Test, at));
        nearest.cloned().unwrap_or_else(|| Outcome::Failed {
            took: job.timeout,
            why: Fail::Other("the journal has no measurement of it".into()),
        })
    }
}

/// All recorded measurements, by member, in the order of time. Full tests and light probes answer for each other where
/// a journal has only one of the two.
struct Samples(BTreeMap<(Tag, bool), Vec<(Duration, Outcome)>>);

impl Samples {
    fn of(records: &[Record]) -> Self {
        let mut samples: BTreeMap<(Tag, bool), Vec<_>> = BTreeMap::new();
        for record in records {
            if let Recorded::Sample { member, kind, outcome } = &record.what {
                let full = *kind == Kind::Test;
                samples.entry((member.clone(), full)).or_default().push((record.at, outcome.clone()));
            }
        }
        Self(samples)
    }

    fn nearest(&self, member: &Tag, full: bool, at: Duration) -> Option<&Outcome> {
        let of = |full| self.0.get(&(member.clone(), full));
        let samples = of(full).or_else(|| of(!full))?;
        let after = samples.partition_point(|(time, _)| *time < at);
        let near = samples[after.saturating_sub(1)..].iter().take(2);
        near.min_by_key(|(time, _)| time.abs_diff(at)).map(|(_, outcome)| outcome)
    }
}

#[cfg(test)]
mod tests;
