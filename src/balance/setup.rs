//! What a keeper is made of: who can be measured, who chooses among them, and what is measured when.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::addr::{Hop, Tag};

/// What a keeper is made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// Who can be measured: every member once, whichever balancers it belongs to.
    pub subjects: Vec<Subject>,
    /// The balancers.
    pub groups: Vec<Group>,
    /// What is measured when.
    pub plan: Plan,
    /// Settings of guards; those of each group say whether it wants them.
    pub guards: Guards,
    /// Whether measuring rests while no flow uses the members.
    pub idle: Option<Duration>,
    /// Print of the probe settings, under which results are remembered.
    pub print: u64,
    /// Chance: where jitter and random moments come from, so that a simulation can repeat them.
    pub seed: u64,
}

/// Somebody who can be measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// Its tag.
    pub tag: Tag,
    /// Where it leads.
    pub hop: Hop,
    /// Whether the plan measures it; members that no observatory selects are not.
    pub watched: bool,
    /// Print of its definition.
    pub print: u64,
}

/// A balancer, as its keeper sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// Its tag.
    pub tag: Tag,
    /// Its members in list order, as places among the subjects; one may stand twice.
    pub members: Vec<usize>,
    /// One weight a member.
    pub weights: Vec<u32>,
    /// How members are ranked.
    pub rank: Rank,
    /// Whether evidence of death may eject and return members.
    pub guards: bool,
    /// How long flows may wait for the first result.
    pub wait: Option<Duration>,
    /// Members fenced by the configuration, as places in the list.
    pub fenced: Vec<usize>,
}

/// How members of a group are ranked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Rank {
    /// Not at all (`random`, `round_robin`, `hrw`); a dead member returns after so many successes in a row.
    None {
        /// At least 1.
        returns: u32,
    },
    /// List order (`failover`); a dead member returns after so many successes in a row.
    List {
        /// At least 1.
        returns: u32,
    },
    /// The shortest delay first (`least_ping`).
    Delay,
    /// `least_load`.
    Load(Load),
    /// Rate times weight of the last round (`optimal`).
    Rate,
    /// Speed, steadiness and availability over several tests.
    Adaptive(Adaptive),
}

/// Settings of `least_load`, with one factor of cost a member.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// What a member's cost is multiplied with (its square root), in list order.
    pub costs: Vec<f64>,
    /// Costs under which members are taken together.
    pub baselines: Vec<Duration>,
    /// How many members to take.
    pub expected: i32,
    /// Average delay from which a member is left out.
    pub max_rtt: Option<Duration>,
    /// Share of failures from which a member is left out; 0 is off.
    pub tolerance: f64,
}

/// Settings of `adaptive`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Adaptive {
    /// Tests that count.
    pub window: usize,
    /// Age at which a test counts half; absent: 1.5 intervals, at least 300 s.
    pub half_life: Option<Duration>,
    /// How much unsteadiness costs.
    pub kappa: f64,
    /// How much failures cost.
    pub gamma: f64,
    /// By how much another must be better.
    pub margin: f64,
    /// Whether trouble on real flows starts a round early.
    pub early: bool,
}

/// What is measured when.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Plan {
    /// Nothing; only what real flows show counts.
    Nothing,
    /// Full tests of all members together.
    Rounds(Rounds),
    /// Light probes, each member on its own rhythm: the next one `interval` after the end of the last.
    Beats {
        /// The pause.
        interval: Duration,
        /// Bound of one probe.
        timeout: Duration,
        /// Whether first probes are spread over a part of the interval, and later ones jittered; the TCP check of the
        /// seed begins at once.
        spread: bool,
    },
    /// As Xray's `observatory`: one member after another with a pause after each, or all at once.
    Sweep {
        /// The pause.
        interval: Duration,
        /// Bound of one probe.
        timeout: Duration,
        /// All at once.
        concurrent: bool,
    },
    /// As Xray's `burstObservatory`: random moments in a window of `interval` times `sampling`.
    Burst {
        /// Mean pause of a member.
        interval: Duration,
        /// Bound of one probe.
        timeout: Duration,
        /// Results kept, and probes a window.
        sampling: u32,
        /// Whether a failure is checked against a direct request before it counts.
        connectivity: bool,
    },
}

/// Rounds of full tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rounds {
    /// From the end of a round to the start of the next.
    pub interval: Duration,
    /// Bound of one attempt.
    pub timeout: Duration,
    /// Attempts a member and round.
    pub count: u32,
    /// Extra rounds after the start.
    pub warmup: Vec<Duration>,
    /// Most of the start of a round that is spread over its members; 0: all start together (O1).
    pub stagger: Duration,
    /// Whether a second address can tell a dead test target from dead members (O17).
    pub second: bool,
}

/// Settings of guards (balancing rule 12.4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Guards {
    /// Whether light probes can be made, to confirm a suspicion and to return.
    pub probes: bool,
    /// Bound of one light probe.
    pub timeout: Duration,
    /// Quarantine of the first ejection; it doubles with each.
    pub quarantine: Duration,
    /// Longest quarantine.
    pub longest: Duration,
}

impl Default for Guards {
    fn default() -> Self {
        let secs = Duration::from_secs;
        Self { probes: true, timeout: secs(5), quarantine: secs(30), longest: secs(600) }
    }
}
