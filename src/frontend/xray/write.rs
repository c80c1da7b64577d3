//! The way back: a draft as the JSON that today's Xray reads.

use crate::addr::Tag;
use crate::model::balancer::{Member, ProbeKind, Strategy};
use crate::model::control::Control;
use crate::model::draft::Draft;
use crate::model::fields::Networks;
use crate::model::log::{Level, Log, Sink};
use crate::model::name::Name;
use crate::model::policy::Policy;
use crate::model::reload::Reload;
use crate::model::routing::{RouteStrategy, Rule, To, When};
use crate::model::services::Services;
use crate::shape::{Class, Dialect, Field, Plain, PlainMap, Record};

use super::{balancer, inbound, outbound, routing};
use crate::frontend::settle::Change;

/// Says with Xray's means what only TOML can say, and takes out what cannot be said.
pub fn prepare(draft: &mut Draft) -> Vec<Change> {
    let mut changes = without_room(draft);
    changes.extend(default_as_xray(draft));
    changes
}

/// What JSON has no key for.
fn without_room(draft: &mut Draft) -> Vec<Change> {
    let mut changes = vec![];
    let mut gone = |at: &crate::shape::Spot, why: String| {
        changes.push(Change { span: at.span(), class: Class::Approximated, why });
    };
    let mut bare = vec![];
    for outbound in &mut draft.outbounds {
        if outbound.endpoint.take().is_some() {
            bare.push(outbound.tag.clone());
            gone(
                &outbound.at,
                format!("outbound {}: a kind without a server has none for probes either", outbound.tag),
            );
        }
    }
    for balancer in &mut draft.balancers {
        let checks = matches!(balancer.strategy, Strategy::Random(_) | Strategy::RoundRobin(_) | Strategy::Failover(_));
        let selects = |tag: &Tag| {
            balancer.members.iter().any(|member| match member {
                Member::Exact(name) => name.tag == *tag,
                Member::Prefix(name) => tag.as_str().starts_with(name.tag.as_str()),
            })
        };
        if let Some(probe) = &mut balancer.probe
            && probe.kind == ProbeKind::Tcp
            && bare.iter().any(selects)
        {
            probe.kind = ProbeKind::Auto;
            gone(&balancer.at, format!("balancer {}: members without a server are checked by HTTP", balancer.tag));
        }
        if !checks && balancer.probe.take().is_some() {
            gone(&balancer.at, format!("balancer {}: this strategy has no check of its own in JSON", balancer.tag));
        }
    }
    changes
}

/// Xray's default is the first outbound, and it has no other.
fn default_as_xray(draft: &mut Draft) -> Vec<Change> {
    let Some(default) = draft.routing.default.take() else { return vec![] };
    let (To::Outbound(name) | To::Balancer(name)) = &default;
    let span = name.at.span();
    if let To::Outbound(name) = &default
        && let Some(at) = draft.outbounds.iter().position(|o| o.tag == name.tag)
    {
        let first = draft.outbounds.remove(at);
        draft.outbounds.insert(0, first);
        let why = format!("{} stands first among the outbounds: that is Xray's default", name.tag);
        return vec![Change { span, class: Class::Rewritten, why }];
    }
    let class = match draft.routing.strategy {
        RouteStrategy::IpIfNonMatch => Class::Approximated,
        _ => Class::Rewritten,
    };
    let mut why = "a last rule takes what no other rule took".to_owned();
    if class == Class::Approximated {
        why.push_str("; names are then never resolved for a second pass");
    }
    let when = When { network: Some(Networks::BOTH), ..When::default() };
    let at = name_spot(&default);
    draft.routing.rules.push(Rule { at, name: String::new(), to: default, when: when.into() });
    vec![Change { span, class, why }]
}

fn name_spot(to: &To) -> crate::shape::Spot {
    let (To::Outbound(Name { at, .. }) | To::Balancer(Name { at, .. })) = to;
    at.clone()
}

/// Writes a draft; what equals Xray's default is left out.
#[must_use]
pub fn write(draft: &Draft) -> PlainMap {
    let services = &draft.services;
    let mut out = PlainMap::default();
    out.put_table("log", log(&draft.log));
    put(&mut out, "api", services.api.as_ref());
    if services.stats {
        out.put("stats", PlainMap::default());
    }
    if draft.policy != Policy::default() {
        out.put("policy", draft.policy.write(Dialect::Json));
    }
    put(&mut out, "dns", draft.dns.as_ref());
    if !draft.fake_dns.0.is_empty() {
        out.put("fakedns", draft.fake_dns.write(Dialect::Json));
    }
    let mut route = routing::write(&draft.routing);
    let balancers: Vec<Plain> = draft.balancers.iter().map(|b| Plain::Map(balancer::write(b))).collect();
    if !balancers.is_empty() {
        route.put("balancers", balancers);
    }
    out.put_table("routing", route);
    list(&mut out, "inbounds", draft.inbounds.iter().map(inbound::write));
    list(&mut out, "outbounds", draft.outbounds.iter().map(outbound::write));
    observatories(&mut out, services);
    put(&mut out, "metrics", services.metrics.as_ref());
    if services.control != Control::default() {
        out.put("control", services.control.write(Dialect::Json));
    }
    if services.reload != Reload::default() {
        out.put("reload", services.reload.write(Dialect::Json));
    }
    put(&mut out, "reverse", services.reverse.as_ref());
    put(&mut out, "version", services.version.as_ref());
    put(&mut out, "geodata", services.geodata.as_ref());
    if !services.env.is_empty() {
        out.put("env", services.env.write(Dialect::Json));
    }
    if !draft.http_services.is_empty() {
        out.put("services", draft.http_services.write(Dialect::Json));
    }
    out
}

fn put<T: Record + Field>(out: &mut PlainMap, key: &str, value: Option<&T>) {
    if let Some(value) = value {
        out.put(key, value.write(Dialect::Json));
    }
}

fn list(out: &mut PlainMap, key: &str, items: impl Iterator<Item = PlainMap>) {
    let items: Vec<Plain> = items.map(Plain::Map).collect();
    if !items.is_empty() {
        out.put(key, items);
    }
}

/// The section's defaults are not those of a missing section, so it is written whole or not at all.
fn log(log: &Log) -> PlainMap {
    let mut out = PlainMap::default();
    if *log == (Log { level: Level::Warning, ..Log::default() }) {
        return out;
    }
    out.put("loglevel", log.level.write(Dialect::Json));
    for (key, sink) in [("access", &log.access), ("error", &log.error)] {
        if *sink != Sink::Stdout {
            out.put(key, sink.write(Dialect::Json));
        }
    }
    if log.dns_log {
        out.put("dnsLog", true);
    }
    if !log.mask_address.is_empty() {
        out.put("maskAddress", log.mask_address.as_str());
    }
    out
}

/// Xray has one of each kind; V2Ray's list takes them where there are more.
fn observatories(out: &mut PlainMap, services: &Services) {
    let (plain, burst) = (&services.observatories, &services.burst_observatories);
    let named = plain.iter().any(|o| !o.tag.is_empty()) || burst.iter().any(|o| !o.tag.is_empty());
    if plain.len() <= 1 && burst.len() <= 1 && !named {
        put(out, "observatory", plain.first());
        put(out, "burstObservatory", burst.first());
        return;
    }
    let observer = |kind: &str, tag: &str, settings: Plain| {
        let mut one = PlainMap::default();
        one.put("type", kind);
        one.put("tag", tag);
        if let Plain::Map(mut settings) = settings {
            settings.entries.retain(|(key, _)| key != "tag");
            one.put_table("settings", settings);
        }
        Plain::Map(one)
    };
    let plain = plain.iter().map(|o| observer("default", o.tag.as_str(), o.write(Dialect::Json)));
    let burst = burst.iter().map(|o| observer("burst", o.tag.as_str(), o.write(Dialect::Json)));
    let observers: Vec<Plain> = plain.chain(burst).collect();
    let mut multi = PlainMap::default();
    multi.put("observers", observers);
    out.put("multiObservatory", multi);
}
