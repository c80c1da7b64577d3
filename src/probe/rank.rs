//! How the members of a balancer are ranked, by its strategy.

use regex_automata::meta::Regex;

use crate::balance::{Adaptive, Load, Member, Rank};
use crate::model::balancer::{self as model, Cost, LeastLoad, Strategy};
use crate::model::goregex::translate;

/// A pattern of `costs` that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("costs: `{0}` is not a regular expression")]
pub struct BadCost(String);

/// The rank of a strategy.
///
/// # Errors
/// [`BadCost`] where a pattern of `least_load` cannot be read.
pub(super) fn rank(strategy: &Strategy, members: &[Member]) -> Result<Rank, BadCost> {
    Ok(match strategy {
        Strategy::Failover(failover) => Rank::List { returns: failover.return_after.max(1) },
        Strategy::Random(_) | Strategy::RoundRobin(_) => Rank::None { returns: 1 },
        // Only the best by what `adaptive` goes by compete.
        Strategy::Hrw(hrw) if hrw.top > 0 => Rank::Adaptive(adaptive(&model::Adaptive::default())),
        Strategy::Hrw(_) => Rank::None { returns: 1 },
        Strategy::LeastPing(_) => Rank::Delay,
        Strategy::LeastLoad(least) => Rank::Load(load(least, members)?),
        Strategy::Optimal(_) => Rank::Rate,
        Strategy::Adaptive(settings) => Rank::Adaptive(adaptive(settings)),
    })
}

fn adaptive(settings: &model::Adaptive) -> Adaptive {
    Adaptive {
        window: usize::try_from(settings.window).unwrap_or(usize::MAX).max(1),
        half_life: settings.half_life.map(|time| time.0),
        kappa: settings.kappa,
        gamma: settings.gamma,
        margin: settings.margin,
        early: settings.early_rounds,
    }
}

/// Xray's bounds: baselines of 0 are none, tolerance is a share.
fn load(least: &LeastLoad, members: &[Member]) -> Result<Load, BadCost> {
    let patterns = least.costs.iter().map(Pattern::of).collect::<Result<Vec<_>, _>>()?;
    let cost = |member: &Member| {
        let found = patterns.iter().find_map(|pattern| pattern.cost(member.tag.as_str()));
        found.unwrap_or(USUAL)
    };
    Ok(Load {
        costs: members.iter().map(cost).collect(),
        baselines: least.baselines.iter().map(|base| base.0).filter(|base| !base.is_zero()).collect(),
        expected: least.expected,
        max_rtt: Some(least.max_rtt.0).filter(|limit| !limit.is_zero()),
        // A number that is none is off, as 0 is.
        tolerance: if least.tolerance.is_nan() { 0.0 } else { least.tolerance.clamp(0.0, 1.0) },
    })
}

/// One entry of `costs` (`app/router/weight.go`).
struct Pattern<'a> {
    cost: &'a Cost,
    regex: Option<Regex>,
}

impl<'a> Pattern<'a> {
    fn of(cost: &'a Cost) -> Result<Self, BadCost> {
        let bad = || BadCost(cost.r#match.chars().take(200).collect());
        let regex = if cost.regexp { Some(compiled(&cost.r#match).ok_or_else(bad)?) } else { None };
        Ok(Self { cost, regex })
    }

    /// The cost of a tag that matches: the value, or the first number of what was matched.
    fn cost(&self, tag: &str) -> Option<f64> {
        let matched = match &self.regex {
            Some(regex) => regex.find(tag).map(|found| &tag[found.range()])?,
            None => tag.contains(self.cost.r#match.as_str()).then_some(self.cost.r#match.as_str())?,
        };
        if matched.is_empty() {
            return None;
        }
        Some(if self.cost.value > 0.0 { self.cost.value } else { first_number(matched).unwrap_or(USUAL) })
    }
}

/// A cost's expression, which is Go's.
fn compiled(pattern: &str) -> Option<Regex> {
    Regex::new(&translate(pattern).ok()?).ok()
}

/// Digits, and a point with digits behind it.
fn first_number(text: &str) -> Option<f64> {
    let begin = text.find(|c: char| c.is_ascii_digit())?;
    let rest = &text[begin..];
    let whole = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let fraction = rest[whole..]
        .strip_prefix('.')
        .map_or(0, |behind| behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len()));
    let end = if fraction > 0 { whole + 1 + fraction } else { whole };
    rest[..end].parse().ok()
}

/// What a member costs that no entry matches.
const USUAL: f64 = 1.0;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::addr::OutboundId;
    use crate::shape::GoTime;
    use std::time::Duration;

    #[test]
    fn costs_are_found_as_xray_finds_them() {
        let cost = |r#match: &str, regexp, value| Cost { regexp, r#match: r#match.into(), value };
        let least = LeastLoad {
            costs: vec![cost("slow", false, 4.0), cost(r"x\d+(\.\d+)?", true, 0.0), cost("us", false, 0.0)],
            baselines: vec![GoTime(Duration::ZERO), GoTime(Duration::from_millis(300))],
            tolerance: f64::NAN,
            ..LeastLoad::default()
        };
        let member = |tag: &str| Member { tag: tag.into(), hop: OutboundId(0).into(), udp: true, weight: 100 };
        let members = ["slow-x3", "de-x2.5-b", "us-7", "other"].map(member);
        let Rank::Load(load) = rank(&Strategy::LeastLoad(least), &members).unwrap() else { panic!("not load") };
        assert_eq!(load.costs, [4.0, 2.5, 1.0, 1.0], "the number must stand in what matched");
        assert_eq!((load.baselines, load.max_rtt), (vec![Duration::from_millis(300)], None));
        assert_eq!(load.tolerance, 0.0);
    }

    #[test]
    fn a_pattern_that_cannot_be_read_is_an_error() {
        let costs = vec![Cost { regexp: true, r#match: "(".into(), value: 1.0 }];
        let least = Strategy::LeastLoad(LeastLoad { costs, ..LeastLoad::default() });
        assert_eq!(rank(&least, &[]), Err(BadCost("(".into())));
    }
}
