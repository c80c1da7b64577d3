//! Whether observatories and the balancers that read them fit together.

use crate::addr::Tag;
use crate::shape::{Dialect, Kind, Problem, Severity, Spot, nearest};

use super::balancer::{Balancer, Strategy};
use super::config::LinkedBalancer;
use super::probing::{Observer, Probing};
use super::services::Services;

/// Tells of observatories that nobody reads, of balancers that read none although they must, and of members that none
/// selects. `slip` is how bad a name without an owner is.
pub fn report(
    balancers: (&[Balancer], &[LinkedBalancer]),
    services: &Services,
    (dialect, slip): (Dialect, Severity),
    problems: &mut Vec<Problem>,
) {
    for (written, linked) in balancers.0.iter().zip(balancers.1) {
        let mut say = |severity, kind, what: String| problems.push(Problem::at(&written.at, severity, kind, what));
        let tag = &linked.tag;
        let named = linked.strategy.observer();
        if !named.is_empty() && services.observer(named).is_none() {
            say(slip, Kind::Reference, format!("balancer {tag}: there is no observatory {named}"));
            let near = nearest(named, services.observers().map(|observer| observer.tag().as_str()));
            help(problems, near.map(|near| format!("did you mean {near}?")));
            continue;
        }
        match linked.probing(services) {
            Probing::Usual if !linked.members.is_empty() => {
                let section = section(&linked.strategy, dialect);
                let why = match services.observer(named) {
                    Some(_) => "the observatory selects none of its members",
                    None => "no observatory is configured",
                };
                say(
                    Severity::Warning,
                    Kind::Missing,
                    format!("balancer {tag}: {why}: its members are probed with the usual settings"),
                );
                help(problems, Some(format!("add the section {section} to choose them")));
            }
            Probing::Observed(observer) => {
                let left_out = |member: &&super::config::LinkedMember| !observer.selects(&member.tag);
                let missing: Vec<&str> =
                    linked.members.iter().filter(left_out).map(|m| m.tag.as_str()).take(12).collect();
                if !missing.is_empty() {
                    let list = missing.join(", ");
                    let what = format!("balancer {tag}: {} does not select {list}", observer.name());
                    say(Severity::Warning, Kind::Value, format!("{what}: what is never tested counts as working"));
                    help(problems, Some("add the beginnings of their tags to its selector".into()));
                }
            }
            _ => {}
        }
    }
    for observer in services.observers() {
        unread(observer, balancers.1, services, problems);
    }
}

/// Only what a balancer reads is run.
fn unread(observer: Observer<'_>, balancers: &[LinkedBalancer], services: &Services, problems: &mut Vec<Problem>) {
    // Full tests leave an observatory one use: its address is what guards ask.
    let reads = |balancer: &LinkedBalancer| match balancer.probing(services) {
        Probing::Observed(read) => read == observer,
        Probing::Rounds => balancer.observer(services) == Some(observer),
        _ => false,
    };
    if observer.subjects().is_empty() || balancers.iter().any(reads) {
        return;
    }
    let name = |tag: &Tag| if tag.is_empty() { String::new() } else { format!(" {tag}") };
    let what = format!("{}{}: no balancer reads it, so it is not run", observer.name(), name(observer.tag()));
    problems.push(Problem::at(&Spot::default(), Severity::Warning, Kind::Skipped, what));
}

fn section(strategy: &Strategy, dialect: Dialect) -> &'static str {
    match (strategy, dialect) {
        (Strategy::LeastLoad(_), Dialect::Json) => "`burstObservatory`",
        (Strategy::LeastLoad(_), Dialect::Toml) => "[[burst_observatory]]",
        (_, Dialect::Json) => "`observatory`",
        (_, Dialect::Toml) => "[[observatory]]",
    }
}

fn help(problems: &mut [Problem], text: Option<String>) {
    if let Some(last) = problems.last_mut() {
        last.help = text;
    }
}
