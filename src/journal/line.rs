//! One line of a journal.
//!
//! Words and numbers are those of the balancer; addresses, users and secrets are in none of them. Of the settings of a
//! keeper the prints are left out, because what they were made of may hold secrets.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::words::{About, EvidenceWord, FailWord, KindWord, NetworkWord};
use crate::addr::{Network, Tag};
use crate::balance::{Evidence, Fail, Job, Kind, Moment, Outcome, Sample, Seen, Setup, Story};

/// One line: when, and what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Milliseconds since 1970.
    pub t: u64,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// What a line tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum What {
    /// The engine started, or a new configuration came into force: keepers follow, and numbers begin anew.
    Start {
        /// Version of this form.
        journal: u32,
        /// Who writes.
        engine: String,
    },
    /// A keeper: what it measures when, and who chooses among whom by which weights.
    Keeper {
        /// Its number, by which other lines name it.
        keeper: u32,
        /// What it is made of.
        setup: Box<Setup>,
    },
    /// A measurement ended.
    Sample(Measured),
    /// Something was decided.
    Decision(Word),
    /// A real flow showed something.
    Seen(Flow),
    /// Lines were lost here, because the disk was slower than the engine.
    Lost {
        /// How many.
        lines: u64,
    },
}

/// A measurement that ended. Times are in milliseconds, to the microsecond.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Whose keeper.
    pub keeper: u32,
    /// Of whom; of no one where the network itself was asked.
    pub member: Tag,
    /// `test`, `light`, `life`, `second` or `direct`.
    pub kind: KindWord,
    /// The round it belongs to; 0 outside rounds.
    pub round: u64,
    /// Which attempt of the round.
    pub attempt: u32,
    /// Whether it ended well.
    pub ok: bool,
    /// From before the dial to the last byte, or to the failure.
    pub time_ms: f64,
    /// The dial; of successes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dial_ms: Option<f64>,
    /// Body bytes; of successes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The HTTP status; of successes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// `refused`, `timeout`, `answer` or `other`; of failures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fail: Option<FailWord>,
    /// Why, in words; of failures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Something that was decided, or its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Word {
    /// Whose keeper.
    pub keeper: u32,
    /// `scored`, `serving`, `turned`, `guarded` or `noted`.
    pub about: About,
    /// For which balancer, where it is a choice.
    #[serde(default, skip_serializing_if = "Tag::is_empty")]
    pub balancer: Tag,
    /// About whom.
    #[serde(default, skip_serializing_if = "Tag::is_empty")]
    pub member: Tag,
    /// Whether another member serves than before; of `serving`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<bool>,
    /// Whether it is up now; of `turned`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<bool>,
    /// The whole line, as the log has it.
    pub text: String,
}

/// What a real flow showed. Times are in milliseconds, to the microsecond.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// Whose keeper.
    pub keeper: u32,
    /// By which balancer it went.
    pub balancer: Tag,
    /// By which member.
    pub member: Tag,
    /// The member's place in the balancer's list, since one may stand there twice.
    pub at: usize,
    /// `tcp` or `udp`.
    pub network: NetworkWord,
    /// `dialed`, `refused`, `timed_out`, `silent`, `answered` or `received`.
    pub shows: EvidenceWord,
    /// How long; of `dialed`, `answered` and `received`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ms: Option<f64>,
    /// How much; of `received`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

impl Line {
    /// Version of the form.
    pub const VERSION: u32 = 1;

    /// The line, with its end.
    #[must_use]
    pub fn text(&self) -> String {
        // Nothing here can fail to become JSON: keys are texts, and numbers that are none become null.
        let mut text = serde_json::to_string(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// A keeper began.
    #[must_use]
    pub fn keeper(keeper: u32, setup: &Setup, now: Moment) -> Self {
        let mut setup = Box::new(setup.clone());
        setup.print = 0;
        setup.subjects.iter_mut().for_each(|subject| subject.print = 0);
        Self { t: stamp(now), what: What::Keeper { keeper, setup } }
    }

    /// A keeper told a story.
    #[must_use]
    pub fn told(keeper: u32, story: &Story, now: Moment) -> Self {
        let what = match story {
            Story::Measured { member, job, outcome } => {
                What::Sample(Measured::of(keeper, member.clone(), *job, outcome))
            }
            told => What::Decision(Word::of(keeper, told)),
        };
        Self { t: stamp(now), what }
    }

    /// A flow of a group of a keeper showed something; none if the keeper has no such member.
    #[must_use]
    pub fn saw(keeper: u32, setup: &Setup, group: usize, seen: Seen, now: Moment) -> Option<Self> {
        let group = setup.groups.get(group)?;
        let member = setup.subjects.get(*group.members.get(seen.member)?)?.tag.clone();
        let flow = Flow::of(keeper, group.tag.clone(), member, seen);
        Some(Self { t: stamp(now), what: What::Seen(flow) })
    }
}

impl Measured {
    fn of(keeper: u32, member: Tag, job: Job, outcome: &Outcome) -> Self {
        let kind = match job.kind {
            Kind::Test => KindWord::Test,
            Kind::Light => KindWord::Light,
            Kind::Life => KindWord::Life,
            Kind::Second => KindWord::Second,
            Kind::Direct => KindWord::Direct,
        };
        let (time, sample, fail) = match outcome {
            Outcome::Done(sample) => (sample.time, Some(sample), None),
            Outcome::Failed { took, why } => (*took, None, Some(why)),
        };
        Self {
            keeper,
            member,
            kind,
            round: job.round,
            attempt: job.attempt,
            ok: outcome.good(),
            time_ms: millis(time),
            dial_ms: sample.map(|sample| millis(sample.dial)),
            bytes: sample.map(|sample| sample.bytes),
            status: sample.map(|sample| sample.status),
            fail: fail.map(|fail| match fail {
                Fail::Refused(_) => FailWord::Refused,
                Fail::Timeout(_) => FailWord::Timeout,
                Fail::Answer(_) => FailWord::Answer,
                Fail::Other(_) => FailWord::Other,
            }),
            why: fail.map(Fail::to_string),
        }
    }

    /// What was measured, as a keeper takes it.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let time = duration(self.time_ms);
        if self.ok {
            let dial = duration(self.dial_ms.unwrap_or_default());
            let (bytes, status) = (self.bytes.unwrap_or_default(), self.status.unwrap_or_default());
            return Outcome::Done(Sample { bytes, time, dial, status });
        }
        let text = self.why.as_deref().unwrap_or_default().into();
        let why = match self.fail.unwrap_or(FailWord::Other) {
            FailWord::Refused => Fail::Refused(text),
            FailWord::Timeout => Fail::Timeout(time),
            FailWord::Answer => Fail::Answer(text),
            FailWord::Other => Fail::Other(text),
        };
        Outcome::Failed { took: time, why }
    }

    /// What was done.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self.kind {
            KindWord::Test => Kind::Test,
            KindWord::Light => Kind::Light,
            KindWord::Life => Kind::Life,
            KindWord::Second => Kind::Second,
            KindWord::Direct => Kind::Direct,
        }
    }
}

impl Word {
    fn of(keeper: u32, story: &Story) -> Self {
        let none = Tag::default;
        let (about, balancer, member) = match story {
            Story::Scored { balancer, member, .. } => (About::Scored, balancer.clone(), member.clone()),
            Story::Serving { balancer, member, .. } => (About::Serving, balancer.clone(), member.clone()),
            Story::Turned { member, .. } => (About::Turned, none(), member.clone()),
            Story::Guarded { member, .. } => (About::Guarded, none(), member.clone()),
            Story::Measured { .. } | Story::Noted { .. } => (About::Noted, none(), none()),
        };
        let changed = if let Story::Serving { changed, .. } = story { Some(*changed) } else { None };
        let up = if let Story::Turned { up, .. } = story { Some(*up) } else { None };
        Self { keeper, about, balancer, member, changed, up, text: story.to_string() }
    }
}

impl Flow {
    fn of(keeper: u32, balancer: Tag, member: Tag, seen: Seen) -> Self {
        let (shows, time, bytes) = match seen.what {
            Evidence::Dialed(time) => (EvidenceWord::Dialed, Some(time), None),
            Evidence::Refused => (EvidenceWord::Refused, None, None),
            Evidence::TimedOut => (EvidenceWord::TimedOut, None, None),
            Evidence::Silent => (EvidenceWord::Silent, None, None),
            Evidence::Answered(time) => (EvidenceWord::Answered, Some(time), None),
            Evidence::Received { bytes, time } => (EvidenceWord::Received, Some(time), Some(bytes)),
        };
        let network = if seen.network == Network::Udp { NetworkWord::Udp } else { NetworkWord::Tcp };
        Self { keeper, balancer, member, at: seen.member, network, shows, time_ms: time.map(millis), bytes }
    }

    /// What was seen, as a keeper takes it.
    #[must_use]
    pub fn seen(&self) -> Seen {
        let time = duration(self.time_ms.unwrap_or_default());
        let what = match self.shows {
            EvidenceWord::Dialed => Evidence::Dialed(time),
            EvidenceWord::Refused => Evidence::Refused,
            EvidenceWord::TimedOut => Evidence::TimedOut,
            EvidenceWord::Silent => Evidence::Silent,
            EvidenceWord::Answered => Evidence::Answered(time),
            EvidenceWord::Received => Evidence::Received { bytes: self.bytes.unwrap_or_default(), time },
        };
        let network = if self.network == NetworkWord::Udp { Network::Udp } else { Network::Tcp };
        Seen { member: self.at, network, what }
    }
}

fn stamp(now: Moment) -> u64 {
    u64::try_from(now.wall.as_millis()).unwrap_or(u64::MAX)
}

fn millis(time: Duration) -> f64 {
    time.as_micros() as f64 / 1000.0
}

/// To the microsecond; what no clock gives is 0.
fn duration(millis: f64) -> Duration {
    let micros = (millis * 1000.0).round();
    if micros.is_finite() && (0.0..1e15).contains(&micros) {
        Duration::from_micros(micros as u64)
    } else {
        Duration::ZERO
    }
}

#[cfg(test)]
mod tests;
