//! How the members of a balancer come to be known: by which observatory, by tests of its own, or not at all.

use crate::addr::Tag;

use super::balancer::{ProbeKind, Strategy, TcpProbe};
use super::config::LinkedBalancer;
use super::services::{BurstObservatory, Observatory, Services};

/// An observatory of either kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Observer<'a> {
    /// One after another, or all at once.
    Plain(&'a Observatory),
    /// At random moments of a window.
    Burst(&'a BurstObservatory),
}

impl<'a> Observer<'a> {
    /// The name by which balancers may ask for it.
    #[must_use]
    pub fn tag(self) -> &'a Tag {
        match self {
            Self::Plain(observatory) => &observatory.tag,
            Self::Burst(observatory) => &observatory.tag,
        }
    }

    /// The beginnings of the tags it measures.
    #[must_use]
    pub fn subjects(self) -> &'a [String] {
        match self {
            Self::Plain(observatory) => &observatory.subjects,
            Self::Burst(observatory) => &observatory.subjects,
        }
    }

    /// Whether it measures an outbound.
    #[must_use]
    pub fn selects(self, tag: &Tag) -> bool {
        self.subjects().iter().any(|prefix| tag.as_str().starts_with(prefix.as_str()))
    }

    /// What the section is called, for messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain(_) => "observatory",
            Self::Burst(_) => "burstObservatory",
        }
    }
}

/// How the members of a balancer come to be known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Probing<'a> {
    /// By rounds of full tests.
    Rounds,
    /// By a check that the balancer runs itself.
    Own(&'a TcpProbe),
    /// By an observatory that selects at least one of them.
    Observed(Observer<'a>),
    /// By probes with usual settings, because the strategy is nothing without them.
    Usual,
    /// Only by what real flows show.
    Flows,
}

impl Services {
    /// All observatories; where several are configured, the first is what balancers read that name none (Xray).
    pub fn observers(&self) -> impl Iterator<Item = Observer<'_>> {
        let plain = self.observatories.iter().map(Observer::Plain);
        plain.chain(self.burst_observatories.iter().map(Observer::Burst))
    }

    /// The observatory of a name; the first where none is named.
    #[must_use]
    pub fn observer(&self, tag: &str) -> Option<Observer<'_>> {
        self.observers().find(|observer| tag.is_empty() || observer.tag().as_str() == tag)
    }
}

impl Strategy {
    /// The observatory it names; empty where it names none.
    #[must_use]
    pub fn observer(&self) -> &str {
        match self {
            Self::Random(observed) | Self::RoundRobin(observed) | Self::LeastPing(observed) => &observed.observer,
            Self::LeastLoad(least) => &least.observer,
            Self::Hrw(hrw) => &hrw.observer,
            Self::Failover(_) | Self::Optimal(_) | Self::Adaptive(_) => "",
        }
    }
}

impl LinkedBalancer {
    /// The observatory that measures at least one member.
    #[must_use]
    pub fn observer<'a>(&self, services: &'a Services) -> Option<Observer<'a>> {
        let observer = services.observer(self.strategy.observer())?;
        let watches =
            |member: &super::config::LinkedMember| member.outbound().is_some() && observer.selects(&member.tag);
        self.members.iter().any(watches).then_some(observer)
    }

    /// How its members come to be known.
    #[must_use]
    pub fn probing<'a>(&'a self, services: &'a Services) -> Probing<'a> {
        let observer = self.observer(services);
        match (&self.strategy, self.probe.as_ref().filter(|probe| probe.kind != ProbeKind::None), observer) {
            (Strategy::Optimal(_) | Strategy::Adaptive(_), _, _) => Probing::Rounds,
            (_, Some(probe), Some(observer)) if probe.kind == ProbeKind::Auto => Probing::Observed(observer),
            (_, Some(probe), _) => Probing::Own(probe),
            (_, None, Some(observer)) => Probing::Observed(observer),
            (Strategy::LeastPing(_) | Strategy::LeastLoad(_), None, None) => Probing::Usual,
            // Only the best compete, so somebody must find out who they are.
            (Strategy::Hrw(hrw), None, None) if hrw.top > 0 => Probing::Rounds,
            (_, None, None) => Probing::Flows,
        }
    }
}
