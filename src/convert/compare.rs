//! Where two drafts differ, in words: the check that a conversion means what its input meant.

use crate::model::draft::Draft;

/// Names the first item in which two drafts differ.
#[must_use]
pub fn difference(a: &Draft, b: &Draft) -> Option<String> {
    if a == b {
        return None;
    }
    let lists = [
        list("inbound", &a.inbounds, &b.inbounds, |i| i.tag.as_str()),
        list("outbound", &a.outbounds, &b.outbounds, |o| o.tag.as_str()),
        list("balancer", &a.balancers, &b.balancers, |b| b.tag.as_str()),
        list("service", &a.http_services, &b.http_services, |s| s.tag.as_str()),
        list("rule", &a.routing.rules, &b.routing.rules, |r| r.name.as_str()),
    ];
    let (s, t) = (&a.services, &b.services);
    let routing = (a.routing.strategy, &a.routing.default, a.routing.unknown_tags)
        != (b.routing.strategy, &b.routing.default, b.routing.unknown_tags);
    let parts = [
        (a.log != b.log, "log"),
        (routing, "routing"),
        (a.dns != b.dns, "dns"),
        (a.fake_dns != b.fake_dns, "fake_dns"),
        (a.policy != b.policy, "policy"),
        (s.api != t.api, "api"),
        (s.metrics != t.metrics, "metrics"),
        (s.stats != t.stats, "stats"),
        (s.control != t.control, "control"),
        (s.reload != t.reload, "reload"),
        (s.version != t.version, "version"),
        (s.geodata != t.geodata, "geodata"),
        (s.observatories != t.observatories, "observatory"),
        (s.burst_observatories != t.burst_observatories, "burst_observatory"),
        (s.reverse != t.reverse, "reverse"),
        (s.env != t.env, "env"),
    ];
    let part = parts.into_iter().find(|(differs, _)| *differs).map(|(_, name)| name.to_owned());
    Some(lists.into_iter().flatten().next().or(part).unwrap_or_else(|| "the configuration".into()))
}

fn list<T: PartialEq>(what: &str, a: &[T], b: &[T], tag: impl Fn(&T) -> &str) -> Option<String> {
    if a.len() != b.len() {
        return Some(format!("the number of {what}s ({} and {})", a.len(), b.len()));
    }
    let at = a.iter().zip(b).position(|(a, b)| a != b)?;
    let name = tag(&a[at]);
    Some(if name.is_empty() { format!("{what} {at}") } else { format!("{what} {at} ({name})") })
}
