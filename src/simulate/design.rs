//! Our strategies as they stand in the bench, with the settings that a configuration without settings has.

use std::time::Duration;

use crate::balance::{Adaptive, Load, Plan, Rank, Rounds, Strategy};

/// How one of our balancers is set up.
#[derive(Debug, Clone, PartialEq)]
pub struct Design {
    /// How it chooses.
    pub strategy: Strategy,
    /// How its members are ranked.
    pub rank: Rank,
    /// What is measured when.
    pub plan: Plan,
    /// Whether evidence of death ejects members.
    pub guards: bool,
}

const SECOND: Duration = Duration::from_secs(1);

impl Design {
    /// `adaptive` with this pause between rounds, in seconds.
    #[must_use]
    pub fn adaptive(interval: u32) -> Self {
        let settings = Adaptive { window: 8, half_life: None, kappa: 1.0, gamma: 2.0, margin: 0.15, early: true };
        let warmup = [20, 60, 180].map(|seconds| seconds * SECOND).into();
        let plan = Plan::Rounds(Rounds { warmup, ..rounds(interval * SECOND) });
        Self { strategy: Strategy::Adaptive, rank: Rank::Adaptive(settings), plan, guards: true }
    }

    /// `optimal` with its strict rounds.
    #[must_use]
    pub fn optimal(guards: bool) -> Self {
        Self { strategy: Strategy::Optimal, rank: Rank::Rate, plan: Plan::Rounds(rounds(600 * SECOND)), guards }
    }

    /// `failover` with probes through the members.
    #[must_use]
    pub fn failover() -> Self {
        let rank = Rank::List { returns: 1 };
        Self { strategy: Strategy::Failover, rank, plan: beats(30), guards: true }
    }

    /// `least_ping` over an observatory.
    #[must_use]
    pub fn least_ping() -> Self {
        let plan = Plan::Sweep { interval: 10 * SECOND, timeout: 5 * SECOND, concurrent: false };
        Self { strategy: Strategy::LeastPing, rank: Rank::Delay, plan, guards: true }
    }

    /// `least_load` over a burst observatory.
    #[must_use]
    pub fn least_load() -> Self {
        let plan = Plan::Burst { interval: 60 * SECOND, timeout: 5 * SECOND, sampling: 10, connectivity: false };
        Self { strategy: Strategy::LeastLoad, rank: Rank::Load(Load::default()), plan, guards: true }
    }

    /// `hrw`, `round_robin` or `random` over light probes.
    #[must_use]
    pub fn spread(strategy: Strategy) -> Self {
        Self { strategy, rank: Rank::None { returns: 1 }, plan: beats(30), guards: true }
    }
}

fn rounds(interval: Duration) -> Rounds {
    Rounds { interval, timeout: 5 * SECOND, count: 1, warmup: Vec::new(), stagger: Duration::ZERO, second: false }
}

fn beats(seconds: u32) -> Plan {
    Plan::Beats { interval: seconds * SECOND, timeout: 5 * SECOND, spread: true }
}
