//! What became of a flow, as text and as JSON.

use serde_json::{Value, json};

use crate::engine::{Chosen, Outlook};
use crate::flow::Flow;
use crate::route::{Ended, Tried};

/// Looks up the name of a rule.
pub type Name<'a> = &'a dyn Fn(usize) -> String;

/// For people.
pub fn text(flow: &Flow, outlook: &Outlook, name: Name<'_>) -> String {
    let mut lines = vec![head(flow)];
    if outlook.fake {
        lines.push(
            "  the target is a fake address: in a running engine it means the name it was given for, and rules see that; \
             no pool has names here, so it is an address like others"
                .into(),
        );
    }
    for (n, look) in outlook.looks.iter().enumerate() {
        if n > 0 {
            lines.push(resolved(outlook));
        }
        let wide = look.tried.iter().map(|tried| name(tried.rule).chars().count()).max().unwrap_or(0);
        let line = |tried: &Tried| format!("  {:wide$}  {}", name(tried.rule), tried.text());
        lines.extend(look.tried.iter().map(line));
    }
    if outlook.looks.is_empty() {
        lines.push("  it is answered before any rule is asked".into());
    } else if outlook.rule.is_none() {
        lines.push(
            "  no rule takes it: it goes where `default` says, which is the first outbound unless said otherwise"
                .into(),
        );
    }
    lines.extend(outlook.levels.iter().map(level));
    lines.push(match &outlook.exit {
        Ok(tag) if tag.is_empty() => "  => the outbound without a tag".into(),
        Ok(tag) => format!("  => outbound {tag}"),
        Err(why) => format!("  => {why}"),
    });
    lines.join("\n")
}

fn head(flow: &Flow) -> String {
    let inbound = if flow.inbound.is_empty() { "an inbound without a tag" } else { flow.inbound.as_str() };
    let user = flow.user.as_ref().map(|user| format!(" of {user}")).unwrap_or_default();
    let protocol = flow.protocol.map(|protocol| format!(" ({protocol})")).unwrap_or_default();
    format!("{} {}{protocol} from {}{user} by {inbound}", flow.network, flow.target, flow.source)
}

fn resolved(outlook: &Outlook) -> String {
    let name = outlook.name.as_deref().unwrap_or_default();
    match &outlook.resolved {
        Some(Ok(ips)) => {
            let ips: Vec<String> = ips.iter().map(ToString::to_string).collect();
            format!("  {name} is resolved: {}; the rules are asked once more", ips.join(", "))
        }
        Some(Err(why)) => format!("  {name} cannot be resolved ({why}); the rules are asked once more"),
        None => String::new(),
    }
}

fn level(level: &Chosen) -> String {
    let Chosen { balancer, strategy, member, known } = level;
    let by = if *known { "as the running engine has it" } else { "the strategy's choice, nothing is measured" };
    match member {
        Some(member) => format!("  -> balancer {balancer} ({strategy}): member {member} ({by})"),
        None => format!("  -> balancer {balancer} ({strategy}): leaves by the fallback ({by})"),
    }
}

/// For programs.
pub fn object(flow: &Flow, outlook: &Outlook, name: Name<'_>) -> Value {
    let tried = |tried: &Tried| {
        let (verdict, lacks) = match &tried.ended {
            Ended::Takes => ("takes", None),
            Ended::Lacks(what) => ("lacks", Some(what)),
            Ended::Resolves => ("resolves", None),
        };
        json!({ "rule": name(tried.rule), "place": tried.rule, "verdict": verdict, "held": tried.held, "lacks": lacks })
    };
    let looks: Vec<Vec<Value>> = outlook.looks.iter().map(|look| look.tried.iter().map(tried).collect()).collect();
    let level = |level: &Chosen| {
        json!({
            "balancer": level.balancer.as_str(),
            "strategy": level.strategy,
            "member": level.member.as_ref().map(|tag| tag.as_str()),
            "measured": level.known,
        })
    };
    json!({
        "target": flow.target.to_string(),
        "network": flow.network.as_str(),
        "source": flow.source.to_string(),
        "inbound": flow.inbound.as_str(),
        "user": flow.user.as_deref(),
        "protocol": flow.protocol,
        "fake": outlook.fake,
        "rule": outlook.rule.map(name),
        "outbound": outlook.exit.as_ref().ok().map(|tag| tag.as_str()),
        "closed": outlook.exit.as_ref().err(),
        "resolved": outlook.resolved.as_ref().map(|found| match found {
            Ok(ips) => json!({ "addresses": ips.iter().map(ToString::to_string).collect::<Vec<_>>() }),
            Err(why) => json!({ "error": why }),
        }),
        "balancers": outlook.levels.iter().map(level).collect::<Vec<_>>(),
        "looks": looks,
    })
}
