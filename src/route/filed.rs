//! By which of its conditions a rule is found.

use crate::addr::PortSet;
use crate::model::matcher::{IpRules, IpSet};
use crate::model::routing::When;

/// The condition by which a rule is filed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filed {
    Domain,
    Ip,
    Source,
    Inbound,
    User,
    Port,
    Nowhere,
}

/// Ports of a rule that are worth filing one by one.
const FEW: usize = 16;

impl Filed {
    /// Under what a rule is filed: by what takes few flows if it can be.
    pub(super) fn of(when: &When) -> Self {
        let plain = |rules: &IpRules| {
            let plain = rules.0.iter().all(|rule| !rule.negated && matches!(rule.set, IpSet::Net(_)));
            plain && !rules.0.is_empty()
        };
        let exact = || when.user.iter().all(|user| !user.starts_with("regexp:"));
        if !when.domain.0.is_empty() {
            Self::Domain
        } else if plain(&when.ip) {
            Self::Ip
        } else if !when.user.is_empty() && exact() {
            Self::User
        } else if plain(&when.source) {
            Self::Source
        } else if !when.inbound.is_empty() {
            Self::Inbound
        } else if when.port.as_ref().is_some_and(|ports| few(ports).count() <= FEW) {
            Self::Port
        } else {
            Self::Nowhere
        }
    }
}

/// The ports of a set, one more than a few at most.
pub(super) fn few(ports: &PortSet) -> impl Iterator<Item = u16> + '_ {
    ports.ranges().iter().flat_map(|(from, to)| *from..=*to).take(FEW + 1)
}
