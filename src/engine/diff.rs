//! What a new config changes, in words for the log.

use std::collections::BTreeMap;
use std::fmt;

use super::error::name_of;
use super::pairs::{self, Fate, Pairs, pair};
use crate::addr::Tag;
use crate::model::config::{Config, Dest, LinkedBalancer};
use crate::model::inbound::{Inbound, InboundKind};
use crate::model::protocol::{SsIn, SsMethod};
use crate::model::routing::When;
use crate::model::user::VlessFlow;
use crate::shape::{Dialect, Field, Plain};

/// What a config that was applied changed. It prints as one line: `inbounds +a ~b -c, balancers ~pool (members +x)`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Applied {
    parts: Vec<String>,
    /// What counts from the next start of the program only, by the names of its keys.
    pub later: Vec<&'static str>,
}

impl Applied {
    /// What the second config changes in the first.
    pub(super) fn between(old: &Config, new: &Config, same_lists: bool) -> Self {
        let mut applied = Self::default();
        applied.list("inbounds", inbounds(old, new));
        applied.list("outbounds", outbounds(old, new));
        applied.list("balancers", balancers(old, new));
        applied.list("services", services(old, new));
        applied.when("routes changed", old.strategy != new.strategy || rules(old) != rules(new));
        let default = |config: &Config| config.default.as_ref().map(|to| Named::of(config, to));
        if default(old) != default(new) {
            let default = default(new).map_or_else(|| "nothing".to_owned(), |to| to.to_string());
            applied.parts.push(format!("default route {default}"));
        }
        applied.when("dns changed", old.dns != new.dns || old.fake_dns != new.fake_dns);
        applied.when("geodata lists changed", !same_lists);
        applied.when("policy changed", old.policy != new.policy);
        if old.log.level != new.log.level {
            applied.parts.push(match new.log.level.write(Dialect::Toml) {
                Plain::Text(word) => format!("log level {word}"),
                _ => "log level changed".to_owned(),
            });
        }
        let rest = |config: &Config| {
            let log = &config.log;
            (log.error.clone(), log.access.clone(), log.dns_log, log.mask_address.clone())
        };
        applied.when("log settings changed", rest(old) != rest(new));
        let watched =
            |config: &Config| (config.services.observatories.clone(), config.services.burst_observatories.clone());
        applied.when("observatories changed", watched(old) != watched(new));
        applied.when("other settings changed", others(old, new));
        if old.services.control != new.services.control {
            applied.later.push("control");
        }
        if old.services.reload != new.services.reload {
            applied.later.push("reload");
        }
        applied
    }

    /// Whether it changed nothing.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.parts.is_empty()
    }

    fn list(&mut self, what: &str, changes: Vec<String>) {
        if !changes.is_empty() {
            self.parts.push(format!("{what} {}", changes.join(" ")));
        }
    }

    fn when(&mut self, what: &str, changed: bool) {
        if changed {
            self.parts.push(what.to_owned());
        }
    }
}

impl fmt::Display for Applied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_nothing() { f.write_str("no changes") } else { f.write_str(&self.parts.join(", ")) }
    }
}

/// Whether two inbounds are the same but for who may come in, and both ask that.
pub(super) fn only_users_differ(old: &Inbound, new: &Inbound) -> bool {
    let asks = |inbound: &Inbound| match &inbound.kind {
        InboundKind::Socks(socks) => socks.logins().is_some(),
        InboundKind::Http(http) => !http.accounts.is_empty(),
        InboundKind::Hysteria(_)
        | InboundKind::Shadowsocks(_)
        | InboundKind::Trojan(_)
        | InboundKind::Vless(_)
        | InboundKind::Vmess(_) => true,
        _ => false,
    };
    asks(old) && asks(new) && without_users(old) == without_users(new)
}

fn without_users(inbound: &Inbound) -> Inbound {
    let mut bare = inbound.clone();
    match &mut bare.kind {
        InboundKind::Socks(socks) => socks.accounts.clear(),
        InboundKind::Http(http) => http.accounts.clear(),
        // All that is left is in the table of keys, but for the generation.
        InboundKind::Shadowsocks(ss) => {
            let method = ss.method.filter(|method| method.is_2022()).and(Some(SsMethod::Blake3Aes128));
            *ss = SsIn { method, level: ss.level, network: ss.network, ..SsIn::default() };
        }
        InboundKind::Hysteria(hysteria) => hysteria.clients.clear(),
        InboundKind::Trojan(trojan) => trojan.clients.clear(),
        InboundKind::Vless(vless) => {
            // The listener's TLS must know of Vision, whoever of the users has it.
            vless.flow = if vless.has_vision() { VlessFlow::Vision } else { VlessFlow::None };
            vless.clients.clear();
        }
        InboundKind::Vmess(vmess) => vmess.clients.clear(),
        _ => {}
    }
    bare
}

fn inbounds(old: &Config, new: &Config) -> Vec<String> {
    let name = |config: &Config, at: usize| name_of("inbounds", at, &config.inbounds[at].tag);
    listed(
        &pairs::inbounds(old, new),
        |at| name(old, at),
        |at| name(new, at),
        |before, now| {
            let users = only_users_differ(&old.inbounds[before], &new.inbounds[now]);
            if users { vec!["users".to_owned()] } else { vec![] }
        },
    )
}

fn outbounds(old: &Config, new: &Config) -> Vec<String> {
    let name = |config: &Config, at: usize| name_of("outbounds", at, &config.outbounds[at].tag);
    let pairs = pairs::outbounds(old, new);
    let mut words = listed(&pairs, |at| name(old, at), |at| name(new, at), |_, _| vec![]);
    // Places matter only where something goes by them: prefixes go by tag, and the default is told of by itself.
    if words.is_empty() && !pairs.all_same() {
        words.push("in another order".to_owned());
    }
    words
}

fn balancers(old: &Config, new: &Config) -> Vec<String> {
    let same = |before: &LinkedBalancer, now: &LinkedBalancer| differences((old, before), (new, now)).is_empty();
    let pairs = pair(&old.balancers, &new.balancers, |balancer| &balancer.tag, same);
    let name = |config: &Config, at: usize| config.balancers[at].tag.to_string();
    listed(
        &pairs,
        |at| name(old, at),
        |at| name(new, at),
        |before, now| differences((old, &old.balancers[before]), (new, &new.balancers[now])),
    )
}

fn services(old: &Config, new: &Config) -> Vec<String> {
    let pairs = pair(&old.http_services, &new.http_services, |service| &service.tag, PartialEq::eq);
    let name = |config: &Config, at: usize| config.http_services[at].tag.to_string();
    listed(&pairs, |at| name(old, at), |at| name(new, at), |_, _| vec![])
}

/// `+new ~changed (how) -gone`.
fn listed(
    pairs: &Pairs,
    old: impl Fn(usize) -> String,
    new: impl Fn(usize) -> String,
    how: impl Fn(usize, usize) -> Vec<String>,
) -> Vec<String> {
    let mut words = vec![];
    for (at, fate) in pairs.fates.iter().enumerate() {
        match fate {
            Fate::New => words.push(format!("+{}", new(at))),
            Fate::Same(_) => {}
            Fate::Changed(before) => {
                let how = how(*before, at);
                let how = if how.is_empty() { String::new() } else { format!(" ({})", how.join(", ")) };
                words.push(format!("~{}{how}", new(at)));
            }
        }
    }
    words.extend(pairs.gone.iter().map(|at| format!("-{}", old(*at))));
    words
}

/// How a balancer differs from what it was. Members count by their tags, for their places change with those of others.
fn differences((old, before): (&Config, &LinkedBalancer), (new, now): (&Config, &LinkedBalancer)) -> Vec<String> {
    let mut how = vec![];
    let members = members(before, now);
    if !members.is_empty() {
        how.push(format!("members {}", members.join(" ")));
    }
    if before.strategy.name() != now.strategy.name() {
        how.push(format!("strategy {}", now.strategy.name()));
    } else if before.strategy != now.strategy {
        how.push(format!("{} settings", now.strategy.name()));
    }
    if before.probe != now.probe {
        how.push("probe".to_owned());
    }
    let fallback = |config, balancer: &LinkedBalancer| balancer.fallback.as_ref().map(|to| Named::of(config, to));
    if fallback(old, before) != fallback(new, now) {
        let to = fallback(new, now).map_or_else(|| "none".to_owned(), |to| to.to_string());
        how.push(format!("fallback {to}"));
    }
    if before.guards != now.guards {
        how.push(format!("guards {}", if now.guards { "on" } else { "off" }));
    }
    how
}

fn members(before: &LinkedBalancer, now: &LinkedBalancer) -> Vec<String> {
    let mut count: BTreeMap<&Tag, i64> = BTreeMap::new();
    now.members.iter().for_each(|member| *count.entry(&member.tag).or_default() += 1);
    before.members.iter().for_each(|member| *count.entry(&member.tag).or_default() -= 1);
    let some = |sign: char, keep: fn(i64) -> bool| {
        count.iter().filter(move |(_, n)| keep(**n)).map(move |(tag, _)| format!("{sign}{tag}")).collect::<Vec<_>>()
    };
    let mut words = some('+', |n| n > 0);
    words.extend(some('-', |n| n < 0));
    let tags = |balancer: &LinkedBalancer| balancer.members.iter().map(|m| m.tag.clone()).collect::<Vec<_>>();
    if words.is_empty() && tags(before) != tags(now) {
        words.push("in another order".to_owned());
    }
    words
}

/// Sections that nothing here knows more of.
fn others(old: &Config, new: &Config) -> bool {
    let bare = |config: &Config| {
        let mut services = config.services.clone();
        services.observatories.clear();
        services.burst_observatories.clear();
        services
    };
    bare(old) != bare(new)
}

/// The rules without the places by which they name outbounds.
fn rules(config: &Config) -> Vec<(&str, Named, &When)> {
    config.rules.iter().map(|rule| (rule.name.as_str(), Named::of(config, &rule.to), &*rule.when)).collect()
}

/// A destination by its name: outbounds and balancers are two name spaces.
#[derive(Debug, PartialEq, Eq)]
enum Named {
    Outbound(String),
    Balancer(Tag),
    Closed(Tag),
}

impl Named {
    fn of(config: &Config, to: &Dest) -> Self {
        match to {
            Dest::Outbound(id) => Self::Outbound(name_of("outbounds", id.index(), &config.tag_of(to))),
            Dest::Balancer(_) => Self::Balancer(config.tag_of(to)),
            Dest::Closed(tag) => Self::Closed(tag.clone()),
        }
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Outbound(name) => f.write_str(name),
            Self::Balancer(tag) => write!(f, "balancer {tag}"),
            Self::Closed(tag) => write!(f, "{tag} (which does not exist)"),
        }
    }
}

#[cfg(test)]
mod tests;
