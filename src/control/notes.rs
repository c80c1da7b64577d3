//! What whoever gave an order should know of what it did.

use super::protocol::OrderAsk;
use crate::balance::{Life, MemberReport, Report};

/// Notes on an order that was followed, from the balancer's state afterwards.
pub(super) fn notes(order: &OrderAsk, report: &Report) -> Vec<String> {
    let mut notes = vec![];
    if let OrderAsk::Pin { member, strict, .. } = order
        && let Some(state) = report.members.iter().find(|state| state.member == *member)
        && let Some(trouble) = trouble(state)
    {
        notes.push(if *strict {
            format!("member {member} {trouble}: new flows go to it all the same")
        } else {
            let serving = serving(report);
            format!("member {member} {trouble}: until it can be used, the strategy decides ({serving}); --strict would send flows to it all the same")
        });
    }
    if let OrderAsk::Fence { .. } = order
        && !report.members.is_empty()
        && report.members.iter().all(|member| member.fenced)
    {
        notes.push(if report.leaves {
            "every member is fenced: new flows leave by the fallback".to_owned()
        } else {
            "every member is fenced: new flows have nowhere to go".to_owned()
        });
    }
    notes
}

/// Why a member cannot be used now.
fn trouble(member: &MemberReport) -> Option<&'static str> {
    match member {
        MemberReport { fenced: true, .. } => Some("is fenced"),
        MemberReport { ejected: Some(_), .. } => Some("is ejected"),
        MemberReport { life: Life::Down, .. } => Some("is down"),
        _ => None,
    }
}

fn serving(report: &Report) -> String {
    if report.leaves {
        "new flows leave by the fallback".to_owned()
    } else if report.serving.is_empty() {
        "nobody serves".to_owned()
    } else {
        format!("{} serves", report.serving.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(member: MemberReport) -> Report {
        let other = MemberReport { member: "other".into(), ..MemberReport::default() };
        let member = MemberReport { member: "m".into(), ..member };
        Report { members: vec![member, other], serving: vec!["other".into()], ..Report::default() }
    }

    fn pin(strict: bool) -> OrderAsk {
        OrderAsk::Pin { member: "m".into(), for_ms: None, strict }
    }

    #[test]
    fn a_pin_to_the_dead_is_noted() {
        let dead = || report(MemberReport { life: Life::Down, ..MemberReport::default() });
        let said = notes(&pin(false), &dead()).concat();
        assert!(said.contains("m is down") && said.contains("other serves") && said.contains("--strict"), "{said}");
        assert!(notes(&pin(true), &dead()).concat().contains("all the same"));
        let fenced = report(MemberReport { fenced: true, ..MemberReport::default() });
        assert!(notes(&pin(false), &fenced).concat().contains("is fenced"));
        assert!(notes(&pin(false), &report(MemberReport::default())).is_empty());
    }

    #[test]
    fn the_last_fence_is_noted() {
        let fence = OrderAsk::Fence { member: "m".into() };
        let mut fenced = report(MemberReport { fenced: true, ..MemberReport::default() });
        assert!(notes(&fence, &fenced).is_empty(), "another is left");
        fenced.members[1].fenced = true;
        assert!(notes(&fence, &fenced).concat().contains("nowhere"));
        fenced.leaves = true;
        assert!(notes(&fence, &fenced).concat().contains("fallback"));
    }
}
