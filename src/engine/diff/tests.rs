#![allow(clippy::unwrap_used)]

use super::*;
use crate::model::balancer::{Balancer, Failover, Member, Optimal, ProbeKind, Strategy, TcpProbe};
use crate::model::check::link;
use crate::model::draft::Draft;
use crate::model::inbound::Listen;
use crate::model::log::{Level, Sink};
use crate::model::name::Name;
use crate::model::outbound::{Outbound, OutboundKind};
use crate::model::protocol::{Blackhole, Dokodemo, Freedom, TrojanIn, TrojanUser, VlessIn, VlessUser};
use crate::model::routing::{Rule, To, When};
use crate::shape::Spot;

fn inbound(tag: &str, port: u16) -> Inbound {
    Inbound {
        at: Spot::default(),
        tag: tag.into(),
        listen: Listen::Any,
        ports: Some(crate::addr::PortSet::one(port)),
        kind: InboundKind::Dokodemo(Dokodemo::default()),
        stream: Default::default(),
        sniffing: Default::default(),
    }
}

fn vless(flows: &[VlessFlow]) -> InboundKind {
    let user = |flow: &VlessFlow| VlessUser { flow: *flow, ..VlessUser::default() };
    InboundKind::Vless(VlessIn { clients: flows.iter().map(user).collect(), ..VlessIn::default() })
}

fn outbound(tag: &str, kind: OutboundKind) -> Outbound {
    Outbound {
        at: Spot::default(),
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

fn direct(tag: &str) -> Outbound {
    outbound(tag, OutboundKind::Freedom(Freedom::default()))
}

fn balancer(tag: &str, members: &[&str]) -> Balancer {
    Balancer {
        at: Spot::default(),
        tag: tag.into(),
        members: members.iter().map(|member| Member::Exact(Name::new(member))).collect(),
        strategy: Strategy::Failover(Failover::default()),
        probe: None,
        fallback: None,
        guards: true,
    }
}

fn draft() -> Draft {
    let mut draft = Draft {
        inbounds: vec![inbound("a", 1), inbound("", 2)],
        outbounds: vec![direct("x"), direct("y"), direct("z")],
        balancers: vec![balancer("pool", &["x", "y"])],
        ..Draft::default()
    };
    let when = When { port: Some(crate::addr::PortSet::one(9)), ..When::default() };
    let rule = Rule { at: Spot::default(), name: String::new(), to: To::Outbound(Name::new("z")), when: when.into() };
    draft.routing.rules.push(rule);
    draft
}

fn words(change: impl FnOnce(&mut Draft)) -> String {
    let old = draft();
    let mut new = old.clone();
    change(&mut new);
    let linked = |draft| {
        let checked = link(draft, Dialect::Json);
        checked.config.unwrap_or_else(|| panic!("{:?}", checked.problems))
    };
    Applied::between(&linked(&old), &linked(&new), true).to_string()
}

#[test]
fn what_changed_is_named() {
    assert_eq!(words(|_| {}), "no changes");
    assert_eq!(words(|d| d.inbounds[0].ports = None), "inbounds ~a");
    assert_eq!(words(|d| d.inbounds[1] = inbound("", 3)), "inbounds ~inbounds[1]");
    assert_eq!(words(|d| d.inbounds = vec![inbound("", 2), inbound("b", 5)]), "inbounds +b -a");
    let hole = || outbound("z", OutboundKind::Blackhole(Blackhole::default()));
    assert_eq!(words(|d| d.outbounds[2] = hole()), "outbounds ~z");
    assert_eq!(words(|d| d.log.level = Level::Debug), "log level debug");
    assert_eq!(words(|d| d.log.access = Sink::Stdout), "log settings changed");
    assert_eq!(words(|d| d.policy.drain.0 *= 2), "policy changed");
    assert_eq!(words(|d| d.routing.rules.clear()), "routes changed");
    assert_eq!(words(|d| d.dns = Some(Default::default())), "dns changed");
    assert_eq!(words(|d| d.services.observatories.push(Default::default())), "observatories changed");
    assert_eq!(words(|d| d.services.stats = true), "other settings changed");
}

/// The seed's own weakness: a change of balancers alone was told as none.
#[test]
fn balancers_are_named_with_what_changed_in_them() {
    assert_eq!(words(|d| d.balancers[0] = balancer("pool", &["x", "z"])), "balancers ~pool (members +z -y)");
    assert_eq!(words(|d| d.balancers[0] = balancer("pool", &["y", "x"])), "balancers ~pool (members in another order)");
    assert_eq!(words(|d| d.balancers[0].guards = false), "balancers ~pool (guards off)");
    assert_eq!(words(|d| d.balancers[0].fallback = Some(Name::new("z"))), "balancers ~pool (fallback z)");
    let probe = TcpProbe { kind: ProbeKind::Http, interval: 5, timeout: 1, ..TcpProbe::default() };
    assert_eq!(words(|d| d.balancers[0].probe = Some(probe)), "balancers ~pool (probe)");
    let optimal = || Strategy::Optimal(Optimal::default());
    assert_eq!(words(|d| d.balancers[0].strategy = optimal()), "balancers ~pool (strategy optimal)");
    let later = || Strategy::Failover(Failover { return_after: 3 });
    assert_eq!(words(|d| d.balancers[0].strategy = later()), "balancers ~pool (failover settings)");
    assert_eq!(words(|d| d.balancers.push(balancer("more", &["x"]))), "balancers +more");
    assert_eq!(words(|d| d.balancers[0].tag = "other".into()), "balancers +other -pool");
}

/// A new outbound in front moves all others; neither rules nor balancers have changed by that.
#[test]
fn places_are_no_change() {
    assert_eq!(words(|d| d.outbounds.insert(1, direct("new"))), "outbounds +new");
    assert_eq!(words(|d| d.outbounds.swap(1, 2)), "outbounds in another order");
    let default = "outbounds in another order, default route y";
    assert_eq!(words(|d| d.outbounds.swap(0, 1)), default);
}

/// Users of VLESS and Trojan come and go while the listener stays, but for the first and the last of Vision, of whom the
/// listener's TLS must know.
#[test]
fn users_alone_are_told_apart() {
    let only = |old: InboundKind, new: InboundKind| {
        let of = |kind| Inbound { kind, ..inbound("in", 1) };
        only_users_differ(&of(old), &of(new))
    };
    let (none, vision) = (VlessFlow::None, VlessFlow::Vision);
    assert!(only(vless(&[none]), vless(&[none, none])) && only(vless(&[vision, none]), vless(&[vision])));
    assert!(!only(vless(&[none]), vless(&[vision])) && !only(vless(&[vision]), vless(&[])));
    let trojan = |n| InboundKind::Trojan(TrojanIn { clients: vec![TrojanUser::default(); n], ..TrojanIn::default() });
    assert!(only(trojan(1), trojan(2)) && !only(trojan(1), vless(&[none])));
}
