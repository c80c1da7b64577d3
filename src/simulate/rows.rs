//! The strategies of the bench: ours as they run, and the anchors.

use super::anchors::{FailoverTcp, InTurn, LeastLoad, LeastPing, Mihomo, OptimalPr, Random, Shadowsocks, SingBox};
use super::contender::Contender;
use super::design::Design;
use super::ours::Ours;
use super::play::Scene;
use super::retried::Retried;
use super::tally::Score;
use crate::balance::Strategy;

/// A strategy of the bench.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The name by which it is chosen.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    kind: Kind,
}

/// How a row is played.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Ours(fn() -> Design),
    FailoverTcp,
    InTurn,
    LeastLoad { tolerance: u8 },
    LeastPing { pause: u16 },
    Mihomo { tolerance: u16 },
    OptimalPr { interval: u16 },
    Random,
    Shadowsocks,
    SingBox,
}

/// Whether a failed dial of an anchor is repeated on its next member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// As the engine does it: not at all.
    None,
    /// By our rule.
    Ours,
}

impl Row {
    /// All rows in the order in which they are shown.
    pub const ALL: [Self; 23] = [
        Self::new(
            "adaptive",
            "ours: adaptive with its defaults, a round every 10 minutes",
            Kind::Ours(|| Design::adaptive(600)),
        ),
        Self::new("adaptive-60s", "ours: adaptive, a round a minute", Kind::Ours(|| Design::adaptive(60))),
        Self::new("optimal", "ours: optimal with guards", Kind::Ours(|| Design::optimal(true))),
        Self::new("optimal-bare", "ours: optimal without guards", Kind::Ours(|| Design::optimal(false))),
        Self::new("failover", "ours: failover with light probes every 30 s", Kind::Ours(Design::failover)),
        Self::new("least_ping", "ours: least_ping over an observatory at 10 s", Kind::Ours(Design::least_ping)),
        Self::new("least_load", "ours: least_load over a burst observatory", Kind::Ours(Design::least_load)),
        Self::new(
            "hrw",
            "ours: hrw by site, light probes every 30 s",
            Kind::Ours(|| Design::spread(Strategy::Hrw { top: 0 })),
        ),
        Self::new(
            "round_robin",
            "ours: round robin, light probes every 30 s",
            Kind::Ours(|| Design::spread(Strategy::RoundRobin)),
        ),
        Self::new("random", "ours: random, light probes every 30 s", Kind::Ours(|| Design::spread(Strategy::Random))),
        Self::new(
            "optimal-pr168-600s",
            "optimal as proposed to Xray, a round every 10 minutes",
            Kind::OptimalPr { interval: 600 },
        ),
        Self::new("optimal-pr168-30s", "the same, a round every 30 s", Kind::OptimalPr { interval: 30 }),
        Self::new(
            "leastping-10s",
            "Xray leastPing over its observatory at its default of 10 s",
            Kind::LeastPing { pause: 10 },
        ),
        Self::new("leastping-60s", "the same at 60 s", Kind::LeastPing { pause: 60 }),
        Self::new("shadowsocks-rust", "shadowsocks-rust, 10 s", Kind::Shadowsocks),
        Self::new("mihomo-tol50", "mihomo url-test, 300 s, tolerance 50 ms", Kind::Mihomo { tolerance: 50 }),
        Self::new("mihomo-tol0", "the same with its default tolerance of 0", Kind::Mihomo { tolerance: 0 }),
        Self::new("sing-box", "sing-box urltest, 180 s, tolerance 50 ms", Kind::SingBox),
        Self::new("leastload", "Xray leastLoad over its burst observatory, defaults", Kind::LeastLoad { tolerance: 0 }),
        Self::new("leastload-tol30", "the same with a tolerance of 0.3", Kind::LeastLoad { tolerance: 30 }),
        Self::new("failover-tcp30", "the seed's failover: a TCP connect every 30 s", Kind::FailoverTcp),
        Self::new("roundrobin-bare", "round robin without any health", Kind::InTurn),
        Self::new("random-bare", "random without any health", Kind::Random),
    ];

    const fn new(name: &'static str, about: &'static str, kind: Kind) -> Self {
        Self { name, about, kind }
    }

    /// How it is set up, if it is one of ours.
    #[must_use]
    pub fn design(&self) -> Option<Design> {
        match self.kind {
            Kind::Ours(design) => Some(design()),
            _ => None,
        }
    }

    /// The name of it with or without our retry.
    #[must_use]
    pub fn title(&self, retry: Retry) -> String {
        match retry {
            Retry::None => self.name.to_owned(),
            Retry::Ours => format!("{}+retry", self.name),
        }
    }

    /// Whether it is a model of somebody else's.
    #[must_use]
    pub fn anchor(&self) -> bool {
        !matches!(self.kind, Kind::Ours(_))
    }

    /// Lets it run through a scene.
    #[must_use]
    pub fn play(&self, scene: &Scene, retry: Retry) -> Score {
        match self.kind {
            Kind::Ours(design) => scene.play(Ours::new(design(), &scene.world)),
            Kind::FailoverTcp => anchor(scene, retry, FailoverTcp::default()),
            Kind::InTurn => anchor(scene, retry, InTurn::default()),
            Kind::LeastLoad { tolerance } => anchor(scene, retry, LeastLoad::new(f64::from(tolerance) / 100.0)),
            Kind::LeastPing { pause } => anchor(scene, retry, LeastPing::new(f64::from(pause))),
            Kind::Mihomo { tolerance } => anchor(scene, retry, Mihomo::new(300.0, f64::from(tolerance) / 1e3)),
            Kind::OptimalPr { interval } => anchor(scene, retry, OptimalPr::new(f64::from(interval))),
            Kind::Random => anchor(scene, retry, Random),
            Kind::Shadowsocks => anchor(scene, retry, Shadowsocks::new(10.0)),
            Kind::SingBox => anchor(scene, retry, SingBox::new(180.0, 0.05)),
        }
    }
}

fn anchor(scene: &Scene, retry: Retry, contender: impl Contender) -> Score {
    match retry {
        Retry::None => scene.play(contender),
        Retry::Ours => scene.play(Retried::new(contender)),
    }
}
