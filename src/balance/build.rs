//! From a checked configuration to a running balancer.

use super::balancer::{Balancer, Exit};
use super::board::{Board, State};
use super::member::Member;
use super::strategy::Strategy;
use crate::addr::{Hop, Tag};
use crate::model::balancer::{self as model, Weight};
use crate::model::config::{LinkedBalancer, LinkedMember};

impl Strategy {
    /// The strategy a configuration names.
    #[must_use]
    pub fn of(strategy: &model::Strategy) -> Self {
        match strategy {
            model::Strategy::Adaptive(_) => Self::Adaptive,
            model::Strategy::Failover(_) => Self::Failover,
            model::Strategy::Hrw(hrw) => Self::Hrw { top: hrw.top },
            model::Strategy::LeastLoad(_) => Self::LeastLoad,
            model::Strategy::LeastPing(_) => Self::LeastPing,
            model::Strategy::Optimal(_) => Self::Optimal,
            model::Strategy::Random(_) => Self::Random,
            model::Strategy::RoundRobin(_) => Self::RoundRobin,
        }
    }
}

impl Balancer {
    /// The balancer a configuration describes, of which nothing is known yet. `carries_udp` tells of a member whether
    /// datagrams can leave by it.
    #[must_use]
    pub fn of(linked: &LinkedBalancer, carries_udp: impl Fn(Hop) -> bool) -> Self {
        let member = |LinkedMember { tag, hop }: &LinkedMember| Member {
            tag: tag.clone(),
            hop: *hop,
            udp: carries_udp(*hop),
            weight: Member::weight_of(&linked.strategy, tag),
        };
        let members = linked.members.iter().map(member).collect();
        let exit = if linked.fallback.is_some() { Exit::Fallback } else { Exit::None };
        let balancer = Self::new(linked.tag.clone(), members, Strategy::of(&linked.strategy), exit);
        let model::Strategy::Hrw(hrw) = &linked.strategy else { return balancer };
        // Its keeper says the same a moment later; a fenced member takes no flow before that either.
        let state = |member: &Member| State { fenced: hrw.fenced.contains(&member.tag), ..State::default() };
        let states = balancer.members().iter().map(state).collect();
        balancer.publish(Board { members: states, ..Board::default() });
        balancer.keyed(hrw.hash_key.0.clone())
    }
}

impl Member {
    /// The weight that a strategy's settings give a member, by its exact tag; the first entry counts. Weights of `hrw` that
    /// are not positive make no member at all, which linking has seen to.
    #[must_use]
    pub fn weight_of(strategy: &model::Strategy, tag: &Tag) -> u32 {
        let given = |weights: &[Weight]| weights.iter().find(|w| w.tag == *tag).map_or(Self::WEIGHT, |w| w.weight);
        match strategy {
            model::Strategy::Adaptive(adaptive) => given(&adaptive.weights),
            model::Strategy::Hrw(hrw) => u32::try_from(hrw.weight(tag).max(0)).unwrap_or(u32::MAX),
            model::Strategy::LeastPing(observed)
            | model::Strategy::Random(observed)
            | model::Strategy::RoundRobin(observed) => given(&observed.weights),
            model::Strategy::Optimal(optimal) => given(&optimal.weights),
            model::Strategy::Failover(_) | model::Strategy::LeastLoad(_) => Self::WEIGHT,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::key::KeyPart;
    use super::*;
    use crate::addr::OutboundId;
    use crate::model::balancer::{Hrw, HrwWeight, Observed};
    use crate::model::hashkey::HashKey;

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
        let seen: Vec<_> = balancer.members().iter().map(|m| (m.tag.as_str(), m.hop, m.udp, m.weight)).collect();
        assert_eq!(seen, [("a", OutboundId(4).into(), false, 100), ("b", OutboundId(2).into(), true, 300)]);
    }

    #[test]
    fn hrw_has_weights_of_its_own_and_huge_ones_are_clamped() {
        let weights = vec![HrwWeight { tag: "b".into(), weight: i64::MAX }];
        let hash_key = HashKey(vec![KeyPart::User]);
        let fenced = vec!["a".into()];
        let balancer = Balancer::of(
            &linked(model::Strategy::Hrw(Hrw { weights, hash_key, fenced, top: 2, ..Hrw::default() })),
            |_| true,
        );
        assert_eq!(balancer.members().iter().map(|m| m.weight).collect::<Vec<_>>(), [1, u32::MAX]);
        assert_eq!((balancer.strategy(), balancer.key_parts()), (Strategy::Hrw { top: 2 }, &[KeyPart::User][..]));
        assert_eq!(balancer.board().members.iter().map(|state| state.fenced).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn every_strategy_of_a_configuration_makes_a_balancer() {
        let all = [
            model::Strategy::Failover(model::Failover::default()),
            model::Strategy::RoundRobin(Observed::default()),
            model::Strategy::Random(Observed::default()),
            model::Strategy::LeastPing(Observed::default()),
            model::Strategy::LeastLoad(model::LeastLoad::default()),
            model::Strategy::Optimal(model::Optimal::default()),
            model::Strategy::Hrw(Hrw::default()),
            model::Strategy::Adaptive(model::Adaptive::default()),
        ];
        let names: Vec<_> = all.map(|s| Balancer::of(&linked(s), |_| true).strategy().as_str()).into();
        assert_eq!(names, model::Strategy::NAMES);
    }
}
