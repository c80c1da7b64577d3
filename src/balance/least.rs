//! `least_load`: who is taken, by Xray's algorithm step by step.

use std::time::Duration;

use super::setup::Load;

/// What is known of one member.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node<'a> {
    /// Its place in the list.
    pub member: usize,
    /// Its tag, the last tie-breaker.
    pub tag: &'a str,
    /// Whether it was observed at all, works, and may be chosen.
    pub fit: bool,
    /// What it is judged by: the deviation where there are bursts, else the last delay.
    pub value: Duration,
    /// Average time of its successes.
    pub average: Duration,
    /// Results.
    pub all: u32,
    /// Failures among them.
    pub failed: u32,
}

/// All members, those first that share new flows, and how many these are.
pub(super) fn taken(nodes: &[Node<'_>], load: &Load) -> (Box<[usize]>, usize) {
    let fit = |node: &&Node<'_>| {
        let quick = load.max_rtt.is_none_or(|most| node.average < most);
        let tolerance = if load.tolerance.is_finite() { load.tolerance.clamp(0.0, 1.0) } else { 0.0 };
        // As in Xray a tolerance of 0 is none at all: failures are not looked at.
        let steady = tolerance <= 0.0 || node.all == 0 || f64::from(node.failed) / f64::from(node.all) <= tolerance;
        node.fit && quick && steady
    };
    let mut order: Vec<(f64, &Node<'_>)> = nodes.iter().filter(fit).map(|node| (cost(node, load), node)).collect();
    order.sort_by(|(a, x), (b, y)| {
        a.total_cmp(b)
            .then_with(|| x.average.cmp(&y.average))
            .then_with(|| x.failed.cmp(&y.failed))
            .then_with(|| y.all.cmp(&x.all))
            .then_with(|| x.tag.cmp(y.tag))
    });
    let taken = how_many(&order.iter().map(|(cost, _)| *cost).collect::<Vec<_>>(), load);
    let mut ranking: Vec<usize> = order.iter().map(|(_, node)| node.member).collect();
    ranking.extend(nodes.iter().filter(|node| !fit(node)).map(|node| node.member));
    (ranking.into(), taken)
}

/// Value times the square root of the member's factor.
pub(super) fn cost(node: &Node<'_>, load: &Load) -> f64 {
    let factor = load.costs.get(node.member).copied().filter(|cost| cost.is_finite() && *cost > 0.0).unwrap_or(1.0);
    node.value.as_secs_f64() * factor.sqrt()
}

fn how_many(costs: &[f64], load: &Load) -> usize {
    let wanted = usize::try_from(load.expected).unwrap_or(0);
    if wanted > costs.len() {
        return costs.len();
    }
    let expected = wanted.max(1).min(costs.len());
    if load.baselines.is_empty() {
        return expected;
    }
    let mut count = 0;
    for baseline in &load.baselines {
        let under = costs[count..].iter().take_while(|cost| **cost < baseline.as_secs_f64()).count();
        count += under;
        if count >= expected {
            break;
        }
    }
    if wanted > 0 { count.max(wanted) } else { count }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAGS: [&str; 5] = ["a", "b", "c", "d", "e"];

    /// Members by value and average, in milliseconds.
    fn nodes(known: &[(u64, u64)]) -> Vec<Node<'static>> {
        let node = |(member, &(value, average)): (usize, &(u64, u64))| Node {
            member,
            tag: TAGS[member],
            fit: true,
            value: Duration::from_millis(value),
            average: Duration::from_millis(average),
            all: 10,
            failed: 0,
        };
        known.iter().enumerate().map(node).collect()
    }

    fn load(expected: i32, baselines: &[u64]) -> Load {
        Load { expected, baselines: baselines.iter().copied().map(Duration::from_millis).collect(), ..Load::default() }
    }

    fn choice(nodes: &[Node<'_>], load: &Load) -> Vec<usize> {
        let (ranking, taken) = taken(nodes, load);
        assert_eq!(ranking.len(), nodes.len(), "nobody is lost");
        ranking[..taken].to_vec()
    }

    #[test]
    fn trap_6_steadiness_counts_not_speed() {
        let known = nodes(&[(6, 40), (5, 300)]);
        assert_eq!(choice(&known, &load(0, &[])), [1]);
        assert_eq!(choice(&known, &load(2, &[])), [1, 0]);
        assert_eq!(choice(&known, &load(9, &[])), [1, 0], "more than there are: all");
        assert_eq!(choice(&known, &load(-3, &[])), [1]);
    }

    #[test]
    fn baselines_widen_the_choice_until_enough_are_under_one() {
        let known = nodes(&[(5, 50), (15, 50), (25, 50), (200, 50)]);
        assert_eq!(choice(&known, &load(2, &[10, 30, 300])), [0, 1, 2], "the second one reaches two");
        assert_eq!(choice(&known, &load(1, &[10, 30, 300])), [0]);
        assert_eq!(choice(&known, &load(4, &[10, 30])), [0, 1, 2, 3], "fewer under it than expected: as many");
        assert_eq!(choice(&known, &load(0, &[10])), [0]);
        assert!(choice(&known, &load(0, &[1])).is_empty(), "nobody is good enough, and none was asked for");
        assert_eq!(choice(&known, &load(0, &[15])), [0], "under it, not at it");
    }

    #[test]
    fn slow_and_failing_members_are_left_out() {
        let mut known = nodes(&[(5, 500), (6, 100), (7, 100), (8, 100)]);
        known[1].failed = 4;
        known[3].fit = false;
        let mut asked = load(9, &[]);
        asked.max_rtt = Some(Duration::from_millis(500));
        assert_eq!(choice(&known, &asked), [1, 2], "an average at the limit is over it");
        asked.tolerance = 0.3;
        assert_eq!(choice(&known, &asked), [2], "a fraction, no percentage (trap 12)");
        asked.tolerance = 0.4;
        assert_eq!(choice(&known, &asked), [1, 2], "as many as tolerated");
        asked.tolerance = f64::NAN;
        assert_eq!(choice(&known, &asked), [1, 2]);
        // Trap 5: 0 is off, as in Xray.
        asked.tolerance = 0.0;
        assert_eq!(choice(&known, &asked), [1, 2]);
    }

    #[test]
    fn factors_weigh_by_their_root_and_odd_ones_count_1() {
        let known = nodes(&[(10, 50), (15, 50)]);
        let mut asked = load(1, &[]);
        asked.costs = vec![4.0, 1.0];
        assert_eq!(choice(&known, &asked), [1], "20 against 15");
        asked.costs = vec![2.0, 1.0];
        assert_eq!(choice(&known, &asked), [0], "14.1 against 15");
        asked.costs = vec![f64::NAN, -7.0];
        assert_eq!(choice(&known, &asked), [0]);
        asked.costs = vec![];
        assert_eq!(choice(&known, &asked), [0]);
    }

    #[test]
    fn ties_fall_by_average_then_failures_then_samples_then_name() {
        let mut known = nodes(&[(5, 90), (5, 80), (5, 80), (5, 80), (5, 80)]);
        known[1].failed = 1;
        known[2].all = 9;
        known[4].tag = "A";
        assert_eq!(choice(&known, &load(5, &[])), [4, 3, 2, 1, 0]);
    }

    #[test]
    fn nobody_at_all() {
        assert_eq!(taken(&[], &load(0, &[])), (Box::from([]), 0));
        assert!(choice(&nodes(&[]), &load(3, &[10])).is_empty());
    }
}
