//! Who serves, given what each member is worth.

use super::reason::Reason;

/// What one member is worth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Worth {
    /// Its score, where it has one.
    pub score: Option<f64>,
    /// Whether its last test says that it works, or nothing is known.
    pub works: bool,
    /// Whether it takes no new flow whatever its score: ejected, fenced.
    pub out: bool,
}

impl Worth {
    fn score(&self) -> f64 {
        self.score.unwrap_or(0.0)
    }
}

/// Best first: those that take flows before those that do not, then by score; of equals what works before what does not
/// (so a live member of weight 0 beats dead ones, O8), then the one that serves (O10), then list order.
fn order(worth: &[Worth], serving: Option<usize>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..worth.len()).collect();
    // Sorting is stable, so list order decides last.
    order.sort_by(|&a, &b| {
        let (x, y) = (&worth[a], &worth[b]);
        x.out
            .cmp(&y.out)
            .then_with(|| y.score().total_cmp(&x.score()))
            .then_with(|| y.works.cmp(&x.works))
            .then_with(|| (serving == Some(b)).cmp(&(serving == Some(a))))
    });
    order
}

/// The ranking, while who serves stays.
pub(super) fn kept(worth: &[Worth], serving: Option<usize>) -> Box<[usize]> {
    let mut ranking = order(worth, serving);
    if let Some(at) = serving.filter(|&at| at < worth.len()) {
        ranking.retain(|&member| member != at);
        ranking.insert(0, at);
    }
    ranking.into()
}

/// The highest score serves (O9 to O11, O14).
pub(super) fn highest(worth: &[Worth], serving: Option<usize>) -> (Box<[usize]>, Reason) {
    let ranking = order(worth, serving);
    let Some(&best) = ranking.first() else { return (ranking.into(), Reason::AllZero) };
    let score = |at: usize| worth[at].score();
    let tied = ranking.get(1).is_some_and(|&second| score(second) == score(best) && !worth[second].out);
    let reason = if worth.len() == 1 {
        Reason::OnlyMember
    } else if score(best) > 0.0 {
        match (tied, serving == Some(best)) {
            (false, _) => Reason::Highest,
            (true, true) => Reason::TieKept,
            (true, false) => Reason::TieFirst,
        }
    } else if serving == Some(best) {
        Reason::AllZero
    } else {
        Reason::LastAlive
    };
    (ranking.into(), reason)
}

/// The one that serves goes on unless another is better by more than the margin.
pub(super) fn ahead(worth: &[Worth], serving: Option<usize>, margin: f64) -> (Box<[usize]>, Reason) {
    let ranking = order(worth, serving);
    let current = serving.and_then(|at| worth.get(at).map(|worth| (at, worth)));
    let (Some(&best), Some((at, current))) = (ranking.first(), current) else {
        return (ranking.into(), Reason::Highest);
    };
    let margin = if margin.is_finite() { margin.max(0.0) } else { 0.0 };
    let better = !worth[best].out && worth[best].score() > current.score() * (1.0 + margin);
    let reason = if worth.len() == 1 {
        Reason::OnlyMember
    } else if worth[best].out || worth[best].score() <= 0.0 && !current.out && (current.works || !worth[best].works) {
        Reason::AllZero
    } else if best == at {
        Reason::Highest
    } else if current.out {
        Reason::Next
    } else if current.score() <= 0.0 {
        Reason::Highest
    } else if better {
        Reason::Ahead
    } else {
        Reason::WithinMargin
    };
    if matches!(reason, Reason::WithinMargin | Reason::AllZero) {
        // It serves although another stands before it.
        return (kept(worth, serving), reason);
    }
    (ranking.into(), reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worth(scores: &[f64]) -> Vec<Worth> {
        scores.iter().map(|&score| Worth { score: Some(score), works: score > 0.0, out: false }).collect()
    }

    fn first((ranking, reason): (Box<[usize]>, Reason)) -> (usize, Reason) {
        (ranking[0], reason)
    }

    #[test]
    fn o8_weight_zero_serves_only_when_all_others_are_zero_or_out() {
        let mut all = worth(&[0.0, 5.0]);
        all[0].works = true;
        assert_eq!(first(highest(&all, Some(0))), (1, Reason::Highest));
        all[1] = Worth { score: Some(0.0), works: false, out: false };
        assert_eq!(first(highest(&all, Some(1))), (0, Reason::LastAlive));
        all[1] = Worth { score: Some(5.0), works: true, out: true };
        assert_eq!(first(highest(&all, Some(1))).0, 0);
    }

    #[test]
    fn o10_equal_top_scores_keep_the_serving_member_else_list_order() {
        assert_eq!(first(highest(&worth(&[5.0, 5.0, 5.0]), Some(2))), (2, Reason::TieKept));
        assert_eq!(first(highest(&worth(&[5.0, 5.0, 1.0]), Some(2))), (0, Reason::TieFirst));
    }

    #[test]
    fn o11_all_zero_keeps_the_serving_member() {
        assert_eq!(first(highest(&worth(&[0.0, 0.0, 0.0]), Some(1))), (1, Reason::AllZero));
        assert_eq!(first(ahead(&worth(&[0.0, 0.0, 0.0]), Some(1), 0.15)), (1, Reason::AllZero));
    }

    #[test]
    fn o14_one_member() {
        assert_eq!(first(highest(&worth(&[0.0]), Some(0))), (0, Reason::OnlyMember));
        assert_eq!(first(ahead(&worth(&[3.0]), Some(0), 0.15)), (0, Reason::OnlyMember));
    }

    #[test]
    fn the_margin_keeps_who_serves() {
        assert_eq!(first(ahead(&worth(&[100.0, 114.9, 50.0]), Some(0), 0.15)), (0, Reason::WithinMargin));
        assert_eq!(first(ahead(&worth(&[100.0, 115.1, 50.0]), Some(0), 0.15)), (1, Reason::Ahead));
        // Trap 6: also for the first of the list; trap 12: a fraction, no percentage.
        assert_eq!(first(ahead(&worth(&[114.9, 100.0]), Some(1), 0.15)), (1, Reason::WithinMargin));
        assert_eq!(first(ahead(&worth(&[100.0, 99.0]), Some(1), f64::NAN)), (0, Reason::Ahead));
        let mut out = worth(&[100.0, 20.0, 30.0]);
        out[0].out = true;
        assert_eq!(first(ahead(&out, Some(0), 0.15)), (2, Reason::Next));
        let (ranking, _) = ahead(&worth(&[100.0, 110.0, 50.0]), Some(0), 0.15);
        assert_eq!(&*ranking, [0, 1, 2], "who serves, then by score");
    }

    #[test]
    fn an_unscored_one_that_serves_gives_way_to_any_score() {
        let mut all = worth(&[0.0, 3.0]);
        all[0].score = None;
        assert_eq!(first(ahead(&all, Some(0), 0.15)).0, 1);
        assert!(highest(&[], None).0.is_empty() && ahead(&[], None, 0.15).0.is_empty());
    }

    proptest::proptest! {
        #[test]
        fn whoever_is_best_serves_and_nobody_is_lost(
            worth in proptest::collection::vec((proptest::option::of(0u32..5), proptest::bool::ANY, proptest::bool::ANY), 1..7),
            serving in 0usize..7,
        ) {
            let worth: Vec<Worth> = worth
                .into_iter()
                .map(|(score, works, out)| Worth { score: score.map(f64::from), works, out })
                .collect();
            let best = worth.iter().filter(|one| !one.out).map(|one| one.score.unwrap_or(0.0)).reduce(f64::max);
            for (ranking, _) in [highest(&worth, Some(serving)), ahead(&worth, Some(serving), 0.0)] {
                let mut everyone = ranking.to_vec();
                everyone.sort_unstable();
                proptest::prop_assert_eq!(everyone, (0..worth.len()).collect::<Vec<_>>());
                if let Some(best) = best {
                    proptest::prop_assert!(!worth[ranking[0]].out);
                    proptest::prop_assert_eq!(worth[ranking[0]].score.unwrap_or(0.0), best);
                }
            }
        }
    }
}
