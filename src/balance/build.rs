//! From a checked configuration to a running balancer.

use super::balancer::{Balancer, Exit};
use super::member::Member;
use super::strategy::Strategy;
use crate::addr::{Hop, Tag};
use crate::model::balancer::{self as model, Weight};
use crate::model::config::{LinkedBalancer, LinkedMember};

impl Strategy {
    /// The strategy a configuration names; `None` while it cannot run yet.
    #[must_use]
    pub fn of(strategy: &model::Strategy) -> Option<Self> {
        match strategy {
            model::Strategy::Failover(_) => Some(Self::Failover),
            model::Strategy::Optimal(_) => Some(Self::Optimal),
            model::Strategy::Random(_) => Some(Self::Random),
            model::Strategy::RoundRobin(_) => Some(Self::RoundRobin),
            model::Strategy::Adaptive(_)
            | model::Strategy::Hrw(_)
            | model::Strategy::LeastLoad(_)
            | model::Strategy::LeastPing(_) => None,
        }
    }
}

impl Balancer {
    /// The balancer a configuration describes, of which nothing is known yet; `None` while its strategy cannot run.
    /// `carries_udp` tells of an outbound whether datagrams can leave by it.
    #[must_use]
    pub fn of(linked: &LinkedBalancer, carries_udp: impl Fn(Hop) -> bool) -> Option<Self> {
        let strategy = Strategy::of(&linked.strategy)?;
        let weights = weights(&linked.strategy);
        let member = |LinkedMember { tag, hop }: &LinkedMember| Member {
            tag: tag.clone(),
            hop: *hop,
            udp: carries_udp(*hop),
            weight: weight(weights, tag),
        };
        let members = linked.members.iter().map(member).collect();
        let exit = if linked.fallback.is_some() { Exit::Fallback } else { Exit::None };
        Some(Self::new(linked.tag.clone(), members, strategy, exit))
    }
}

fn weights(strategy: &model::Strategy) -> &[Weight] {
    match strategy {
        model::Strategy::Optimal(optimal) => &optimal.weights,
        model::Strategy::Random(observed) | model::Strategy::RoundRobin(observed) => &observed.weights,
        _ => &[],
    }
}

fn weight(weights: &[Weight], tag: &Tag) -> u32 {
    weights.iter().find(|weight| weight.tag == *tag).map_or(Member::WEIGHT, |weight| weight.weight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::addr::OutboundId;

    fn linked(strategy: model::Strategy) -> LinkedBalancer {
        let member = |(tag, id): (&str, u32)| LinkedMember { tag: tag.into(), hop: OutboundId(id).into() };
        LinkedBalancer {
            tag: "pool".into(),
            members: [("a", 4), ("b", 2)].map(member).into(),
            strategy,
            probe: None,
            fallback: None,
            guards: true,
        }
    }

    #[test]
    fn members_take_their_weights_by_exact_tag() {
        let weights = vec![Weight { tag: "b".into(), weight: 300 }, Weight { tag: "bb".into(), weight: 5 }];
        let optimal = model::Optimal { weights, ..model::Optimal::default() };
        let balancer = Balancer::of(&linked(model::Strategy::Optimal(optimal)), |hop| hop == OutboundId(2).into());
        let members = balancer.map(|balancer| balancer.members().to_vec()).unwrap_or_default();
        let seen: Vec<_> = members.iter().map(|m| (m.tag.as_str(), m.hop, m.udp, m.weight)).collect();
        assert_eq!(seen, [("a", OutboundId(4).into(), false, 100), ("b", OutboundId(2).into(), true, 300)]);
    }

    #[test]
    fn strategies_that_cannot_run_yet_make_no_balancer() {
        let hrw = linked(model::Strategy::Hrw(model::Hrw::default()));
        assert!(Balancer::of(&hrw, |_| true).is_none());
    }
}
