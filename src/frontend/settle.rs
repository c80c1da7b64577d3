//! Says in a draft that came from Xray's JSON what only JSON's rules said: TOML has one name space where Xray has two, and
//! refuses names of nothing unless told otherwise.
//!
//! `convert` settles a draft before it writes it; running does not need it, and its messages keep the user's own names.

use crate::addr::Tag;
use crate::model::balancer::{Balancer, Member, ProbeKind};
use crate::model::built;
use crate::model::draft::Draft;
use crate::model::name::Name;
use crate::model::routing::{To, UnknownTags};
use crate::shape::{Class, Span};
use std::collections::HashSet;

/// What was changed, where it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The item that had to change.
    pub span: Option<Span>,
    /// How it counts.
    pub class: Class,
    /// Why, in words.
    pub why: String,
}

/// Makes a draft one that TOML can say. Flows go where they went before.
pub fn settle(draft: &mut Draft) -> Vec<Change> {
    let mut changes = vec![];
    drop_twins(draft, &mut changes);
    rename_balancers(draft, &mut changes);
    untangle(draft, &mut changes);
    draft.routing.unknown_tags = if names_nothing(draft) { UnknownTags::Close } else { UnknownTags::Refuse };
    changes
}

/// Of balancers with one name the last counts.
fn drop_twins(draft: &mut Draft, changes: &mut Vec<Change>) {
    let mut seen = HashSet::new();
    let mut kept: Vec<Balancer> = vec![];
    for balancer in draft.balancers.drain(..).rev() {
        if seen.insert(balancer.tag.clone()) {
            kept.push(balancer);
        } else {
            let why = format!("a later balancer is called {} too and counts", balancer.tag);
            changes.push(Change { span: balancer.at.span(), class: Class::Dropped, why });
        }
    }
    kept.reverse();
    draft.balancers = kept;
}

/// A balancer that is called like an outbound gets a name of its own, which its rules follow (DECISIONS 27).
fn rename_balancers(draft: &mut Draft, changes: &mut Vec<Change>) {
    for n in 0..draft.balancers.len() {
        let old = draft.balancers[n].tag.clone();
        if !is_outbound(draft, &old) {
            continue;
        }
        let new = free(draft, &old, "balancer");
        let why = format!("an outbound is called {old} too; the balancer is now {new}");
        changes.push(Change { span: draft.balancers[n].at.span(), class: Class::Rewritten, why });
        draft.balancers[n].tag = new.clone();
        let rules = draft.routing.rules.iter_mut().map(|rule| &mut rule.to);
        for to in rules.chain(&mut draft.routing.default) {
            match to {
                To::Balancer(name) if name.tag == old => name.tag = new.clone(),
                _ => {}
            }
        }
    }
}

/// A name of nothing stays one although both kinds are named alike: where the other kind has that name, it changes.
fn untangle(draft: &mut Draft, changes: &mut Vec<Change>) {
    for n in 0..=draft.routing.rules.len() {
        let to = match draft.routing.rules.get(n) {
            Some(rule) => rule.to.clone(),
            None => match &draft.routing.default {
                Some(to) => to.clone(),
                None => continue,
            },
        };
        let (name, taken, kind) = match to {
            To::Outbound(name) if !is_outbound(draft, &name.tag) => {
                let taken = is_balancer(draft, &name.tag);
                (name, taken, "outbound")
            }
            To::Balancer(name) if !is_balancer(draft, &name.tag) => {
                let taken = is_outbound(draft, &name.tag);
                (name, taken, "balancer")
            }
            _ => continue,
        };
        let mut tag = name.tag.clone();
        if taken {
            tag = free(draft, &name.tag, kind);
            let why = format!("there is no {kind} {}; {tag} is nothing's name either", name.tag);
            changes.push(Change { span: name.at.span(), class: Class::Rewritten, why });
        }
        let settled = To::Outbound(Name { tag, at: name.at });
        match draft.routing.rules.get_mut(n) {
            Some(rule) => rule.to = settled,
            None => draft.routing.default = Some(settled),
        }
    }
}

/// Whether anything is named that does not exist.
fn names_nothing(draft: &Draft) -> bool {
    let rules = draft.routing.rules.iter().map(|rule| &rule.to);
    let lost_rule = rules.chain(&draft.routing.default).any(|to| match to {
        To::Outbound(name) => !is_outbound(draft, &name.tag),
        To::Balancer(name) => !is_balancer(draft, &name.tag),
    });
    let lost_member = |balancer: &Balancer| {
        // One that probes by TCP takes outbounds alone.
        let tcp = balancer.probe.as_ref().is_some_and(|probe| probe.kind == ProbeKind::Tcp);
        let member = |tag: &Tag| has(draft, tag) || (!tcp && is_balancer(draft, tag));
        let selects = |entry: &Member| match entry {
            Member::Exact(name) => member(&name.tag),
            Member::Prefix(name) => {
                draft.outbounds.iter().any(|o| !o.tag.is_empty() && o.tag.as_str().starts_with(name.tag.as_str()))
            }
        };
        let exact = |entry: &Member| matches!(entry, Member::Exact(name) if !member(&name.tag));
        balancer.members.iter().any(exact)
            || !balancer.members.iter().any(selects)
            || balancer.fallback.as_ref().is_some_and(|n| !is_outbound(draft, &n.tag) && !is_balancer(draft, &n.tag))
    };
    let lost_via = |tag: &Tag| !has(draft, tag);
    lost_rule
        || draft.balancers.iter().any(lost_member)
        || draft.outbounds.iter().any(|o| o.chained().is_some_and(|chain| lost_via(chain.tag)))
}

fn has(draft: &Draft, tag: &Tag) -> bool {
    !tag.is_empty() && draft.outbounds.iter().any(|o| o.tag == *tag)
}

/// Whether a tag is an outbound's, or that of a service that stands in for one.
fn is_outbound(draft: &Draft, tag: &Tag) -> bool {
    has(draft, tag) || built::is_service(&draft.services, tag)
}

fn is_balancer(draft: &Draft, tag: &Tag) -> bool {
    draft.balancers.iter().any(|b| b.tag == *tag)
}

/// A name that nothing has: `TAG-balancer`, `TAG-balancer-2`, …
fn free(draft: &Draft, tag: &Tag, kind: &str) -> Tag {
    let names = |tag: &Tag| {
        is_outbound(draft, tag)
            || is_balancer(draft, tag)
            || draft
                .routing
                .rules
                .iter()
                .any(|rule| matches!(&rule.to, To::Outbound(n) | To::Balancer(n) if n.tag == *tag))
    };
    let first = Tag::from(format!("{tag}-{kind}"));
    let more = (2..).map(|n: u32| Tag::from(format!("{tag}-{kind}-{n}")));
    std::iter::once(first).chain(more).find(|tag| !names(tag)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::balancer::{Observed, Strategy, TcpProbe};
    use crate::model::outbound::{Outbound, OutboundKind};
    use crate::model::routing::Rule;
    use crate::shape::Spot;

    fn outbound(tag: &str) -> Outbound {
        let env = |_: &str| None;
        let text = crate::frontend::text::Text::new(0, "c", format!("{{\"tag\":\"{tag}\",\"protocol\":\"freedom\"}}"));
        let mut cx = crate::shape::Reader::new(crate::shape::Dialect::Json, &env);
        let node = crate::frontend::json::parse(&text, false).root.unwrap_or_else(|| crate::shape::Raw::default().0);
        let read = crate::frontend::xray::outbound::read(&mut cx, &node);
        assert!(matches!(read, Some(Outbound { kind: OutboundKind::Freedom(_), .. })));
        read.unwrap_or_else(|| unreachable!("checked above"))
    }

    fn balancer(tag: &str, selector: &str) -> Balancer {
        Balancer {
            at: Spot::default(),
            tag: tag.into(),
            members: vec![Member::Prefix(Name::new(selector))],
            strategy: Strategy::Random(Observed::default()),
            probe: None,
            fallback: None,
            guards: false,
        }
    }

    fn draft(outbounds: &[&str], balancers: Vec<Balancer>, rules: Vec<To>) -> Draft {
        let outbounds = outbounds.iter().map(|tag| outbound(tag)).collect();
        let mut draft = Draft { outbounds, balancers, ..Draft::default() };
        let rule = |to| Rule { at: Spot::default(), name: String::new(), to, when: Default::default() };
        draft.routing.rules = rules.into_iter().map(rule).collect();
        draft
    }

    fn rules(draft: &Draft) -> Vec<&To> {
        draft.routing.rules.iter().map(|rule| &rule.to).collect()
    }

    #[test]
    fn a_balancer_called_like_an_outbound_gets_a_name_of_its_own() {
        let mut d = draft(
            &["proxy", "proxy-balancer"],
            vec![balancer("proxy", "p")],
            vec![To::Balancer(Name::new("proxy")), To::Outbound(Name::new("proxy"))],
        );
        let changes = settle(&mut d);
        assert_eq!(changes.iter().map(|c| c.class).collect::<Vec<_>>(), [Class::Rewritten]);
        assert_eq!(d.balancers[0].tag.as_str(), "proxy-balancer-2");
        assert_eq!(rules(&d), [&To::Balancer(Name::new("proxy-balancer-2")), &To::Outbound(Name::new("proxy"))]);
        assert_eq!(d.routing.unknown_tags, UnknownTags::Refuse);
        assert_eq!(settle(&mut d), []);
    }

    #[test]
    fn of_twins_the_last_counts() {
        let mut d = draft(&["a"], vec![balancer("b", "x"), balancer("c", "a"), balancer("b", "a")], vec![]);
        assert_eq!(settle(&mut d)[0].class, Class::Dropped);
        assert_eq!(d.balancers.iter().map(|b| b.tag.as_str()).collect::<Vec<_>>(), ["c", "b"]);
        assert_eq!(d.routing.unknown_tags, UnknownTags::Refuse);
    }

    #[test]
    fn names_of_nothing_stay_so() {
        let lost = vec![To::Balancer(Name::new("a")), To::Outbound(Name::new("b")), To::Balancer(Name::new("z"))];
        let mut d = draft(&["a"], vec![balancer("b", "a")], lost);
        settle(&mut d);
        let names = ["a-balancer", "b-outbound", "z"].map(|tag| To::Outbound(Name::new(tag)));
        assert_eq!(rules(&d), names.iter().collect::<Vec<_>>());
        assert_eq!(d.routing.unknown_tags, UnknownTags::Close);
        let mut d = draft(&["a"], vec![balancer("b", "q")], vec![]);
        settle(&mut d);
        assert_eq!(d.routing.unknown_tags, UnknownTags::Close);
    }

    #[test]
    fn balancers_may_name_balancers() {
        let mut outer = balancer("outer", "a");
        (outer.members, outer.fallback) = (vec![Member::Exact(Name::new("b"))], Some(Name::new("b")));
        for (kind, want) in [(ProbeKind::Http, UnknownTags::Refuse), (ProbeKind::Tcp, UnknownTags::Close)] {
            outer.probe = Some(TcpProbe { kind, ..TcpProbe::default() });
            let mut d = draft(&["a"], vec![outer.clone(), balancer("b", "a")], vec![]);
            settle(&mut d);
            assert_eq!(d.routing.unknown_tags, want);
        }
    }
}
