//! What came of a name, as text and as JSON.

use std::net::IpAddr;
use std::time::Duration;

use serde_json::{Value, json};

use crate::addr::DomainName;
use crate::dns::{By, Considered, DnsError, Explained, Families, Family, Heard, How, Part, Why};

/// Looks up a condition of the hosts.
pub type Rule<'a> = &'a dyn Fn(usize) -> String;

/// For people.
pub fn text(name: &DomainName, told: &Explained, rule: Rule<'_>) -> String {
    let mut lines = vec![format!("{name} ({})", types(told.families))];
    lines.extend(hosts(told, rule));
    if let Some(asked) = &told.name {
        lines.push(format!("  servers for {asked}, in the order in which they are asked:"));
        let rows: Vec<[String; 4]> = told.servers.iter().enumerate().map(|(n, one)| row(n, one, told)).collect();
        lines.extend(table(&rows));
    }
    lines.push(format!("  => {}", outcome(told)));
    lines.join("\n")
}

fn types(families: Families) -> &'static str {
    match (families.v4, families.v6) {
        (true, true) => "A and AAAA",
        (true, false) => "A",
        (false, true) => "AAAA",
        (false, false) => "no address that the config asks for",
    }
}

fn hosts(told: &Explained, rule: Rule<'_>) -> Vec<String> {
    let mut lines = vec![];
    for (n, (name, met)) in told.hosts.iter().enumerate() {
        let met: Vec<String> = met.iter().map(|at| format!("`{}`", rule(*at))).collect();
        let next = told.hosts.get(n + 1).map(|(next, _)| next).or(told.name.as_ref());
        let what = next.map_or_else(|| "is told by".to_owned(), |next| format!("stands for {next} by"));
        lines.push(format!("  hosts: {name} {what} {}", met.join(" and ")));
    }
    if lines.is_empty() {
        lines.push("  hosts: nothing".to_owned());
    }
    lines
}

fn row(n: usize, one: &Considered, told: &Explained) -> [String; 4] {
    let number = if one.why.is_asked() { format!("{}", n + 1) } else { "-".to_owned() };
    let heard = told.heard.iter().find(|heard| heard.place == one.place);
    let said = match heard {
        Some(heard) => said(&one.server, heard, won(told, one.place)),
        None if one.why.is_asked() && told.families != NONE => "not asked any more".to_owned(),
        None => String::new(),
    };
    [number, one.server.to_string(), why(one, told), said]
}

const NONE: Families = Families { v4: false, v6: false };

fn won(told: &Explained, place: usize) -> bool {
    told.outcome.as_ref().is_ok_and(|looked| looked.by == By::Server(place))
}

fn why(one: &Considered, told: &Explained) -> String {
    let behind = |place: usize| told.servers.iter().find(|other| other.place == place).map(|other| &*other.server);
    let why = match one.why {
        Why::Rule(_) => format!("the name meets its `{}`", one.rule.as_deref().unwrap_or("?")),
        Why::Local => "the name is one that the system knows best".to_owned(),
        Why::Fallback => "fallback".to_owned(),
        Why::Last => "nobody else is left".to_owned(),
        Why::Chosen => "it was asked for".to_owned(),
        Why::Skipped => "for its own names only (skipFallback)".to_owned(),
        Why::NoFallback => "no name asks for it (disableFallback)".to_owned(),
        Why::NoFallbackIfMatch => "the name asks for others (disableFallbackIfMatch)".to_owned(),
        Why::BehindFinal(at) => format!("nobody is asked behind {} (finalQuery)", behind(at).unwrap_or("another")),
        Why::Fake => "its fake addresses are for clients (--fake)".to_owned(),
        Why::Others => "another was asked for".to_owned(),
    };
    if one.absent { format!("{why}; moved back, it did not answer of late") } else { why }
}

/// What a server said. Its errors name it, which the row does already.
fn said(server: &str, heard: &Heard, won: bool) -> String {
    let own = |error: &DnsError| {
        let text = error.to_string();
        let rest = text.strip_prefix(server).map(|rest| rest.trim_start_matches([':', ' ']));
        rest.map_or_else(|| text.clone(), str::to_owned)
    };
    let mut parts: Vec<String> = match &heard.parts[..] {
        [Part { said: Err(one), .. }, Part { said: Err(other), .. }] if one == other => {
            vec![format!("A and AAAA: {}", own(one))]
        }
        parts => parts.iter().map(|one| part(one, &own)).collect(),
    };
    if heard.parts.is_empty() {
        parts.push(match &heard.outcome {
            Ok((ips, ttl)) => format!("{} for {ttl} s", list(ips)),
            Err(error) => own(error),
        });
    }
    if !heard.unwanted.is_empty() {
        parts.push(format!("not wanted from it: {}", list(&heard.unwanted)));
    }
    let mark = if won { " (this counts)" } else { "" };
    format!("{}; {}{mark}", parts.join("; "), time(heard.took))
}

fn part(part: &Part, own: &dyn Fn(&DnsError) -> String) -> String {
    let kind = type_of(part.family);
    let how = match part.how {
        How::Asked => "",
        How::Joined => ", asked already",
        How::Kept => ", kept",
        How::Stale => ", kept past its time",
    };
    match &part.said {
        Ok((_, _, 3)) => format!("{kind}: no such name{how}"),
        Ok((ips, ..)) if ips.is_empty() => format!("{kind}: none{how}"),
        Ok((ips, ttl, _)) => format!("{kind}: {} for {ttl} s{how}", list(ips)),
        Err(error) => format!("{kind}: {}", own(error)),
    }
}

fn type_of(family: Family) -> &'static str {
    if family == Family::V4 { "A" } else { "AAAA" }
}

fn outcome(told: &Explained) -> String {
    let took = time(told.took);
    match &told.outcome {
        Ok(looked) => {
            let by = match looked.by {
                By::Hosts => "the hosts".to_owned(),
                By::Server(at) => server(told, at).to_owned(),
            };
            format!("{} for {} s, said by {by}, after {took}", list(&looked.ips), looked.ttl)
        }
        Err(error) if error.is_final() => format!("{error}, after {took}"),
        Err(error) => format!("nobody could say: {error}, after {took}"),
    }
}

fn server(told: &Explained, place: usize) -> &str {
    told.servers.iter().find(|one| one.place == place).map_or("?", |one| &one.server)
}

fn list(ips: &[IpAddr]) -> String {
    ips.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn time(took: Duration) -> String {
    format!("{:.1} ms", took.as_secs_f64() * 1000.0)
}

/// Columns, each as wide as its widest field; the last is as long as it is.
fn table(rows: &[[String; 4]]) -> Vec<String> {
    let head = ["#", "server", "why", "said"].map(str::to_owned);
    let all = || std::iter::once(&head).chain(rows);
    let wide = |at: usize| all().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let (a, b, c) = (wide(0), wide(1), wide(2));
    let line = |row: &[String; 4]| {
        let [number, server, why, said] = row;
        format!("    {number:a$}  {server:b$}  {why:c$}  {said}").trim_end().to_owned()
    };
    all().map(line).collect()
}

/// For programs.
pub fn object(name: &DomainName, told: &Explained, rule: Rule<'_>) -> Value {
    let texts = |ips: &[IpAddr]| ips.iter().map(ToString::to_string).collect::<Vec<_>>();
    let hosts = |(name, met): &(DomainName, Vec<usize>)| json!({ "name": name.as_str(), "rules": met.iter().map(|at| rule(*at)).collect::<Vec<_>>() });
    let part = |part: &Part| {
        let (ips, ttl, code, error) = match &part.said {
            Ok((ips, ttl, code)) => (texts(ips), Some(*ttl), *code, None),
            Err(error) => (vec![], None, error.code(), Some(error.to_string())),
        };
        json!({ "type": type_of(part.family), "from": from(part.how), "addresses": ips, "ttl": ttl, "code": code,
            "error": error })
    };
    let heard = |heard: &Heard| {
        json!({
            "answers": heard.parts.iter().map(part).collect::<Vec<_>>(),
            "addresses": heard.outcome.as_ref().map(|(ips, _)| texts(ips)).unwrap_or_default(),
            "unwanted": texts(&heard.unwanted),
            "error": heard.outcome.as_ref().err().map(ToString::to_string),
            "ms": millis(heard.took),
        })
    };
    let server = |one: &Considered| {
        json!({
            "server": &*one.server,
            "place": one.place,
            "asked": one.why.is_asked(),
            "why": word(one.why),
            "rule": one.rule,
            "absent": one.absent,
            "said": told.heard.iter().find(|heard| heard.place == one.place).map(heard),
        })
    };
    let found = told.outcome.as_ref().ok();
    json!({
        "name": name.as_str(),
        "addresses": found.map(|looked| texts(&looked.ips)).unwrap_or_default(),
        "ttl": found.map(|looked| looked.ttl),
        "code": told.outcome.as_ref().map_or_else(DnsError::code, |_| 0),
        "error": told.outcome.as_ref().err().map(ToString::to_string),
        "by": found.map(|looked| match looked.by {
            By::Hosts => "hosts",
            By::Server(at) => self::server(told, at),
        }),
        "hosts": told.hosts.iter().map(hosts).collect::<Vec<_>>(),
        "asked_about": told.name.as_ref().map(|name| name.as_str()),
        "servers": told.servers.iter().map(server).collect::<Vec<_>>(),
        "ms": millis(told.took),
    })
}

/// To a tenth.
fn millis(took: Duration) -> f64 {
    (took.as_secs_f64() * 10_000.0).round() / 10.0
}

fn from(how: How) -> &'static str {
    match how {
        How::Asked => "server",
        How::Joined => "question on its way",
        How::Kept => "cache",
        How::Stale => "stale cache",
    }
}

fn word(why: Why) -> &'static str {
    match why {
        Why::Rule(_) => "rule",
        Why::Local => "local name",
        Why::Fallback => "fallback",
        Why::Last => "last",
        Why::Chosen => "chosen",
        Why::Skipped => "skipFallback",
        Why::NoFallback => "disableFallback",
        Why::NoFallbackIfMatch => "disableFallbackIfMatch",
        Why::BehindFinal(_) => "finalQuery",
        Why::Fake => "fake",
        Why::Others => "not chosen",
    }
}
