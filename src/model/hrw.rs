//! Members of `hrw`: who takes part at all, before anybody hashes.

use crate::addr::Tag;
use crate::shape::{Kind, Problem, Severity, nearest};

use super::balancer::{Balancer, Hrw};
use super::config::LinkedMember;

/// Takes out who is not a member by its weight, and who stands twice: a name wins a key or does not, and standing twice
/// changes nothing. Says so, and of tags that are fenced without being members.
pub(super) fn settle(at: &Balancer, hrw: &Hrw, members: &mut Vec<LinkedMember>, problems: &mut Vec<Problem>) {
    let mut say = |kind: Kind, message: String, help: Option<String>| {
        let mut problem = Problem::at(&at.at, Severity::Warning, kind, format!("balancer {}: {message}", at.tag));
        problem.help = help;
        problems.push(problem);
    };
    for tag in hrw.fenced.iter().filter(|tag| !members.iter().any(|member| member.tag == **tag)) {
        let near = nearest(tag.as_str(), members.iter().map(|member| member.tag.as_str()));
        let message = format!("{tag} is fenced, which is not a member");
        say(Kind::Reference, message, near.map(|near| format!("did you mean {near}?")));
    }
    let mut seen: Vec<Tag> = vec![];
    members.retain(|LinkedMember { tag, .. }| {
        let (weight, twice) = (hrw.weight(tag), seen.contains(tag));
        if twice {
            say(Kind::Value, format!("{tag} stands twice, which counts once"), None);
        } else if weight <= 0 {
            let help = "leave its weight out for 1, or its tag out of the members".to_owned();
            say(Kind::Value, format!("{tag} has weight {weight} and so is no member"), Some(help));
        }
        seen.push(tag.clone());
        !twice && weight > 0
    });
}

#[cfg(test)]
mod tests {
    use super::super::balancer::{HrwWeight, Strategy};
    use super::*;
    use crate::addr::OutboundId;
    use crate::shape::Spot;

    #[test]
    fn who_has_no_weight_or_stands_twice_is_taken_out_and_told() {
        let weight = |(tag, weight): (&str, i64)| HrwWeight { tag: tag.into(), weight };
        let weights = [("b", 0), ("c", -7), ("d", 2)].map(weight).into();
        let hrw = Hrw { weights, fenced: vec!["d".into(), "aa".into()], ..Hrw::default() };
        let at = Balancer {
            at: Spot::default(),
            tag: "pool".into(),
            members: vec![],
            strategy: Strategy::Hrw(hrw.clone()),
            probe: None,
            fallback: None,
            guards: true,
        };
        let member = |(n, tag): (usize, &str)| LinkedMember { tag: tag.into(), hop: OutboundId(n as u32).into() };
        let mut members = ["a", "b", "c", "d", "a"].into_iter().enumerate().map(member).collect();
        let mut problems = vec![];
        settle(&at, &hrw, &mut members, &mut problems);
        assert_eq!(members.iter().map(|m| m.tag.as_str()).collect::<Vec<_>>(), ["a", "d"]);
        let told: Vec<_> = problems.iter().map(|p| p.message.as_str()).collect();
        assert_eq!(
            told,
            [
                "balancer pool: aa is fenced, which is not a member",
                "balancer pool: b has weight 0 and so is no member",
                "balancer pool: c has weight -7 and so is no member",
                "balancer pool: a stands twice, which counts once",
            ]
        );
        assert!(problems.iter().all(|p| p.severity == Severity::Warning));
    }
}
