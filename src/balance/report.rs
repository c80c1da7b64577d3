//! What a balancer shows of itself: the one truth behind the command line, an API and metrics.
//!
//! A report is made of the newest board, the counters and the strategy, and of nothing else; so all places that show one
//! agree. Clocks do not leave the process: moments are told as distances from the report, in milliseconds.

use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::SmallRng;
use serde::{Deserialize, Serialize};

use super::ask::Ask;
use super::balancer::{Balancer, Pick};
use super::board::{Board, Decision, Life, Pin, Stand, State, Stats, Terms};
use super::moment::Moment;
use crate::addr::Network;

/// A balancer at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Its tag.
    pub balancer: String,
    /// Its strategy, as TOML spells it.
    pub strategy: String,
    /// Where flows go when no member can take them.
    pub fallback: Option<String>,
    /// When this was made, in milliseconds since 1970.
    pub wall_ms: u64,
    /// The newest round whose results are shown; 0 before the first, and where there are no rounds.
    pub round: u64,
    /// How long until the next round.
    pub next_round_ms: Option<u64>,
    /// Whether nothing answers at all, so that nothing is changed until something does.
    pub outage: bool,
    /// Who takes new flows now; several where the strategy shares them out.
    pub serving: Vec<String>,
    /// Whether new flows leave by the fallback.
    pub leaves: bool,
    /// Why who serves does so.
    pub why: Option<String>,
    /// Who was pinned.
    pub pin: Option<PinReport>,
    /// The members in list order.
    pub members: Vec<MemberReport>,
    /// The last decisions, oldest first.
    pub decisions: Vec<DecisionReport>,
}

/// A member that a person chose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinReport {
    /// Who.
    pub member: String,
    /// For how much longer; absent: until told otherwise.
    pub left_ms: Option<u64>,
    /// Even when it is dead.
    pub strict: bool,
}

/// One change, with its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionReport {
    /// When, in milliseconds since 1970.
    pub wall_ms: u64,
    /// Who it is about.
    pub member: String,
    /// What and why.
    pub what: String,
}

/// A member at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MemberReport {
    /// Its tag.
    pub member: String,
    /// Whether it takes new flows now.
    pub serves: bool,
    /// Whether it works.
    pub life: Life,
    /// Whether it works for datagrams, where that was seen apart.
    pub life_udp: Option<Life>,
    /// Whether it carries datagrams at all.
    pub udp: bool,
    /// Its ejection, while it is out.
    pub ejected: Option<Ejected>,
    /// Whether it was fenced.
    pub fenced: bool,
    /// Whether it was pinned.
    pub pinned: bool,
    /// How long its dial took in the last successful test.
    pub delay_ms: Option<f64>,
    /// Its average speed in the last round, in bytes per second.
    pub rate: Option<f64>,
    /// Body bytes of the last round.
    pub bytes: u64,
    /// Time the attempts of the last round took.
    pub time_ms: u64,
    /// What its rate is multiplied with.
    pub weight: u32,
    /// What the strategy goes by.
    pub score: Option<f64>,
    /// The terms of the score; times in seconds.
    pub terms: Option<Terms>,
    /// Statistics of its newest results, where there are any.
    pub stats: Option<StatsReport>,
    /// How long a flow's dial may take before the next member is tried.
    pub dial_limit_ms: Option<u64>,
    /// Flows it was given.
    pub picks: u64,
    /// Flows of it that run.
    pub flows: u64,
    /// Why its last test or dial failed.
    pub last_error: Option<String>,
    /// How long ago something last succeeded.
    pub seen_ms: Option<u64>,
    /// How long ago something was last tried.
    pub tried_ms: Option<u64>,
    /// How long until its next test.
    pub next_ms: Option<u64>,
}

/// The ejection of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ejected {
    /// What is left of its quarantine.
    pub left_ms: u64,
    /// How often it was ejected in the last half hour.
    pub times: u32,
}

/// Statistics of results. Times are of successes only.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StatsReport {
    /// Results.
    pub all: u32,
    /// Failures among them.
    pub failed: u32,
    /// Mean time.
    pub average_ms: f64,
    /// Population deviation.
    pub deviation_ms: f64,
    /// Shortest.
    pub least_ms: f64,
    /// Longest.
    pub most_ms: f64,
}

impl Report {
    /// What is to be told of a balancer, whose fallback has this tag, at this moment on its keeper's clock.
    #[must_use]
    pub fn of(balancer: &Balancer, fallback: Option<&str>, now: Moment) -> Self {
        let board = balancer.board();
        let (serving, leaves) = serving(balancer, &board);
        let tag = |at: usize| balancer.members().get(at).map_or("?", |member| member.tag.as_str()).to_owned();
        let member = |(at, state): (usize, &State)| MemberReport {
            member: tag(at),
            serves: serving.contains(&at),
            udp: balancer.members().get(at).is_some_and(|member| member.udp),
            weight: balancer.members().get(at).map_or(0, |member| member.weight),
            pinned: board.pin.is_some_and(|pin| pin.member == at),
            picks: balancer.counted(at).0,
            flows: balancer.counted(at).1,
            ..MemberReport::of(state, now.steady)
        };
        Self {
            balancer: balancer.tag().to_string(),
            strategy: balancer.strategy().as_str().to_owned(),
            fallback: fallback.map(str::to_owned),
            wall_ms: millis(now.wall),
            round: board.round,
            next_round_ms: board.next_round.map(|next| until(next, now.steady)),
            outage: board.outage,
            serving: serving.iter().map(|at| tag(*at)).collect(),
            leaves,
            why: board.why.as_deref().map(str::to_owned),
            pin: board.pin.map(|Pin { member, until: end, strict }| PinReport {
                member: tag(member),
                left_ms: end.map(|end| until(end, now.steady)),
                strict,
            }),
            members: board.members.iter().enumerate().map(member).collect(),
            decisions: board.decisions.iter().map(DecisionReport::of).collect(),
        }
    }
}

impl MemberReport {
    /// What its state says; the rest is left empty.
    fn of(state: &State, now: Duration) -> Self {
        let since = |then: Duration| millis(now.saturating_sub(then));
        Self {
            life: state.life,
            life_udp: Some(state.life_udp).filter(|life| *life != Life::Untested),
            ejected: match state.stand {
                Stand::In => None,
                Stand::Ejected { until: end, times } => Some(Ejected { left_ms: until(end, now), times }),
            },
            fenced: state.fenced,
            delay_ms: state.delay.map(fine),
            rate: state.rate,
            bytes: state.bytes,
            time_ms: millis(state.time),
            score: state.score,
            terms: state.terms,
            stats: Some(state.stats).filter(|stats| stats.all > 0).map(StatsReport::of),
            dial_limit_ms: state.dial_limit.map(millis),
            last_error: state.last_error.as_deref().map(str::to_owned),
            seen_ms: state.last_seen.map(since),
            tried_ms: state.last_tried.map(since),
            next_ms: state.next.map(|next| until(next, now)),
            ..Self::default()
        }
    }
}

impl StatsReport {
    fn of(stats: Stats) -> Self {
        Self {
            all: stats.all,
            failed: stats.failed,
            average_ms: fine(stats.average),
            deviation_ms: fine(stats.deviation),
            least_ms: fine(stats.least),
            most_ms: fine(stats.most),
        }
    }
}

impl DecisionReport {
    fn of(decision: &Decision) -> Self {
        Self { wall_ms: decision.wall_ms, member: decision.member.to_string(), what: decision.what.to_string() }
    }
}

/// Who takes new flows, and whether they leave the group instead. The balancer itself is asked wherever one member
/// serves: what is shown must be what is done.
fn serving(balancer: &Balancer, board: &Board) -> (Vec<usize>, bool) {
    let usable = |at: &usize| board.usable(*at, Network::Tcp);
    if let Some(pin) = board.pin.filter(|pin| pin.strict || usable(&pin.member)) {
        return (vec![pin.member], false);
    }
    let shared = balancer.strategy().shared(balancer.members(), board);
    if !shared.is_empty() {
        return (shared, false);
    }
    // No chance is needed where nothing is shared, and a pick without candidates moves no rotation.
    match balancer.pick(Ask::TCP, &mut SmallRng::seed_from_u64(0)) {
        Pick::Member(at, _) => (vec![at], false),
        Pick::Fallback => (vec![], true),
        Pick::Wait | Pick::Empty | Pick::NoDatagrams | Pick::Spent => (vec![], false),
    }
}

fn until(then: Duration, now: Duration) -> u64 {
    millis(then.saturating_sub(now))
}

/// Whole milliseconds.
fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Milliseconds to the microsecond: what a member on this machine takes is no 0.
fn fine(time: Duration) -> f64 {
    time.as_micros() as f64 / 1000.0
}

#[cfg(test)]
mod tests;
