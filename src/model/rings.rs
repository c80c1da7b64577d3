//! Balancers that lead back to themselves: by a member, by a fallback, or by a loopback outbound and the rules.
//!
//! A flow in such a ring would be chosen for again and again. What the rules decide only while a flow runs (a ring that
//! holds for some targets alone, by rules that do not name the loopback) is bounded by its hops instead.

use std::collections::{HashMap, HashSet, VecDeque};

use super::config::{BalancerId, Dest, LinkedBalancer, LinkedRule};
use super::draft::Draft;
use super::outbound::OutboundKind;
use super::routing::When;
use crate::addr::{Hop, Tag};
use crate::shape::{Kind, Problem, Severity};

/// An error for every ring, with its path.
pub(super) fn report(
    draft: &Draft,
    balancers: &[LinkedBalancer],
    rules: &[LinkedRule],
    default: Option<&Dest>,
) -> Vec<Problem> {
    let map = Map { draft, balancers, rules, default };
    let (mut problems, mut told) = (vec![], HashSet::new());
    for (n, balancer) in draft.balancers.iter().enumerate() {
        let start = Hop::Balancer(BalancerId(u32::try_from(n).unwrap_or(u32::MAX)));
        // One that stands in a ring which was told of needs no ring of its own.
        if told.contains(&start) {
            continue;
        }
        let Some(ring) = map.ring(start) else { continue };
        told.extend(ring.iter().copied());
        let path = ring.iter().map(|hop| map.tag(*hop).as_str()).collect::<Vec<_>>().join(" -> ");
        let message = format!("balancers lead to each other in a ring: {path}");
        let problem = Problem::at(&balancer.at, Severity::Error, Kind::Conflict, message);
        problems.push(problem.help("take one of them out of the other's members, fallback or rules"));
    }
    problems
}

struct Map<'a> {
    draft: &'a Draft,
    balancers: &'a [LinkedBalancer],
    rules: &'a [LinkedRule],
    default: Option<&'a Dest>,
}

impl Map<'_> {
    /// The shortest way from here to here.
    fn ring(&self, start: Hop) -> Option<Vec<Hop>> {
        let (mut from, mut next) = (HashMap::new(), VecDeque::from([start]));
        while let Some(hop) = next.pop_front() {
            for to in self.ways(hop) {
                if to == start {
                    let back = std::iter::successors(Some(hop), |hop| from.get(hop).copied());
                    let mut ring: Vec<Hop> = std::iter::once(start).chain(back).collect();
                    ring.reverse();
                    return Some(ring);
                }
                from.entry(to).or_insert_with(|| {
                    next.push_back(to);
                    hop
                });
            }
        }
        None
    }

    /// Where flows may go from here.
    fn ways(&self, hop: Hop) -> Vec<Hop> {
        match hop {
            Hop::Balancer(id) => {
                let Some(balancer) = self.balancers.get(id.index()) else { return vec![] };
                let members = balancer.members.iter().map(|member| member.hop);
                members.chain(balancer.fallback.as_ref().and_then(hop_of)).collect()
            }
            Hop::Outbound(id) => match self.draft.outbounds.get(id.index()).map(|outbound| &outbound.kind) {
                Some(OutboundKind::Loopback(loopback)) => self.behind(&loopback.inbound_tag),
                _ => vec![],
            },
        }
    }

    /// Where rules send flows that come by this inbound: those that name it, and the first that takes them all.
    fn behind(&self, inbound: &Tag) -> Vec<Hop> {
        let mut ways = vec![];
        for LinkedRule { to, when, .. } in self.rules {
            let named = when.inbound.contains(inbound);
            if !named && !when.inbound.is_empty() {
                continue;
            }
            let all = takes_all(when);
            if named || all {
                ways.extend(hop_of(to));
            }
            if all {
                return ways;
            }
        }
        ways.extend(self.default.and_then(hop_of));
        ways
    }

    fn tag(&self, hop: Hop) -> &Tag {
        match hop {
            Hop::Balancer(id) => &self.draft.balancers[id.index()].tag,
            Hop::Outbound(id) => &self.draft.outbounds[id.index()].tag,
        }
    }
}

fn hop_of(dest: &Dest) -> Option<Hop> {
    match dest {
        Dest::Outbound(id) => Some(Hop::Outbound(*id)),
        Dest::Balancer(id) => Some(Hop::Balancer(*id)),
        Dest::Closed(_) => None,
    }
}

/// Whether a rule asks nothing but by which inbound a flow came.
fn takes_all(when: &When) -> bool {
    let network = when.network.filter(|network| !(network.tcp && network.udp));
    When { inbound: vec![], network, ..when.clone() }.is_empty()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::addr::OutboundId;
    use crate::model::balancer::{Balancer, Member, Observed, ProbeKind, Strategy, TcpProbe};
    use crate::model::check::link;
    use crate::model::fields::Networks;
    use crate::model::name::Name;
    use crate::model::outbound::Outbound;
    use crate::model::protocol::Loopback;
    use crate::model::routing::{Rule, To};
    use crate::shape::Dialect;

    fn balancer(tag: &str, members: &[&str], fallback: Option<&str>) -> Balancer {
        Balancer {
            at: Default::default(),
            tag: tag.into(),
            members: members.iter().map(|tag| Member::Exact(Name::new(tag))).collect(),
            strategy: Strategy::Random(Observed::default()),
            probe: None,
            fallback: fallback.map(Name::new),
            guards: false,
        }
    }

    fn outbound(tag: &str, kind: OutboundKind) -> Outbound {
        Outbound {
            at: Default::default(),
            tag: tag.into(),
            kind,
            stream: Default::default(),
            send_through: Default::default(),
            via: None,
            mux: Default::default(),
            target_strategy: Default::default(),
            endpoint: None,
        }
    }

    /// A direct outbound `d`, one more called `loop` that comes back as `back`, and these balancers and rules.
    fn draft(balancers: Vec<Balancer>, rules: Vec<(&str, &[&str], When)>) -> Draft {
        let back = OutboundKind::Loopback(Loopback { inbound_tag: "back".into(), ..Loopback::default() });
        let rule = |(to, inbound, when): (&str, &[&str], When)| Rule {
            at: Default::default(),
            name: String::new(),
            to: if to == "d" { To::Outbound(Name::new(to)) } else { To::Balancer(Name::new(to)) },
            when: When { inbound: inbound.iter().map(|tag| Tag::new(tag)).collect(), ..when }.into(),
        };
        let mut draft = Draft { balancers, ..Draft::default() };
        draft.outbounds = vec![outbound("d", OutboundKind::Freedom(Default::default())), outbound("loop", back)];
        draft.routing.rules = rules.into_iter().map(rule).collect();
        draft
    }

    fn errors(draft: &Draft) -> Vec<String> {
        let checked = link(draft, Dialect::Toml);
        let errors = checked.problems.into_iter().filter(|problem| problem.severity == Severity::Error);
        errors.map(|problem| problem.message).collect()
    }

    fn some() -> When {
        When { protocol: vec!["http".into()], ..When::default() }
    }

    #[test]
    fn a_balancer_is_a_member_by_its_exact_tag() {
        let draft = draft(vec![balancer("out", &["in", "d"], None), balancer("in", &["d"], None)], vec![]);
        let config = link(&draft, Dialect::Toml).config.unwrap();
        let hops: Vec<Hop> = config.balancers[0].members.iter().map(|member| member.hop).collect();
        assert_eq!(hops, [Hop::Balancer(BalancerId(1)), OutboundId(0).into()]);
        // An outbound of that name is meant first, and a prefix means outbounds alone.
        let mut twins = draft;
        twins.balancers[1].tag = "d".into();
        twins.balancers[0].members = vec![Member::Exact(Name::new("d")), Member::Prefix(Name::new(""))];
        let config = link(&twins, Dialect::Json).config.unwrap();
        assert!(config.balancers[0].members.iter().all(|member| member.outbound().is_some()));
    }

    #[test]
    fn a_fallback_may_be_a_balancer() {
        let draft = draft(vec![balancer("a", &["d"], Some("b")), balancer("b", &["d"], None)], vec![]);
        for dialect in [Dialect::Json, Dialect::Toml] {
            let config = link(&draft, dialect).config.unwrap();
            assert_eq!(config.balancers[0].fallback, Some(Dest::Balancer(BalancerId(1))));
        }
    }

    #[test]
    fn one_that_probes_by_tcp_takes_no_balancer() {
        let mut draft = draft(vec![balancer("out", &["in"], None), balancer("in", &["d"], None)], vec![]);
        for (kind, want) in [
            (ProbeKind::Tcp, vec!["balancer out references unknown outbound tag: in".to_owned()]),
            (ProbeKind::Http, vec![]),
            (ProbeKind::Auto, vec![]),
        ] {
            draft.balancers[0].probe = Some(TcpProbe { kind, ..TcpProbe::default() });
            assert_eq!(errors(&draft), want);
        }
    }

    #[test]
    fn rings_are_refused_with_their_path() {
        let ring = |path: &str| vec![format!("balancers lead to each other in a ring: {path}")];
        let cases: Vec<(Draft, Vec<String>)> = vec![
            (draft(vec![balancer("a", &["a", "d"], None)], vec![]), ring("a -> a")),
            (draft(vec![balancer("a", &["b"], None), balancer("b", &["d", "a"], None)], vec![]), ring("a -> b -> a")),
            (draft(vec![balancer("a", &["d"], Some("b")), balancer("b", &["a"], None)], vec![]), ring("a -> b -> a")),
            (
                // Whoever only leads into a ring is not in it.
                draft(
                    vec![balancer("x", &["a"], None), balancer("a", &["b"], None), balancer("b", &["a"], None)],
                    vec![],
                ),
                ring("a -> b -> a"),
            ),
            (
                draft(vec![balancer("a", &["loop", "d"], None)], vec![("a", &["back"], When::default())]),
                ring("a -> loop -> a"),
            ),
            // The rule names the loopback: what it takes of it comes back.
            (draft(vec![balancer("a", &["loop"], None)], vec![("a", &["back"], some())]), ring("a -> loop -> a")),
            (draft(vec![balancer("a", &["loop"], None)], vec![("a", &[], When::default())]), ring("a -> loop -> a")),
            (
                draft(
                    vec![balancer("a", &["loop"], None), balancer("b", &["d"], Some("a"))],
                    vec![("b", &["back"], When { network: Some(Networks::BOTH), ..When::default() })],
                ),
                ring("a -> loop -> b -> a"),
            ),
        ];
        for (draft, want) in cases {
            assert_eq!(errors(&draft), want);
        }
    }

    #[test]
    fn what_is_no_ring_is_let_be() {
        let a = || vec![balancer("a", &["loop"], None)];
        for rules in [
            // Taken by an earlier rule.
            vec![("d", &["back"] as &[_], When::default()), ("a", &[], When::default())],
            // Another inbound's.
            vec![("a", &["in"], When::default())],
            // For some targets only, and not by name: flows of others go round no more than their hops allow.
            vec![("a", &[], some())],
        ] {
            assert_eq!(errors(&draft(a(), rules)), Vec::<String>::new());
        }
        let diamond =
            vec![balancer("a", &["b", "c"], None), balancer("b", &["c"], Some("c")), balancer("c", &["d"], None)];
        assert_eq!(errors(&draft(diamond, vec![])), Vec::<String>::new());
    }

    #[test]
    fn a_default_that_is_a_balancer_counts() {
        let mut draft = draft(vec![balancer("a", &["loop"], None)], vec![]);
        draft.routing.default = Some(To::Balancer(Name::new("a")));
        assert_eq!(errors(&draft), ["balancers lead to each other in a ring: a -> loop -> a"]);
    }
}
