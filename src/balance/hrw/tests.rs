//! The known answers and the properties of balancing rule 9.2.

use super::*;
use crate::addr::OutboundId;

type Group = Vec<Member>;

fn member(tag: &str, weight: u32) -> Member {
    Member { tag: tag.into(), hop: OutboundId(0).into(), udp: true, weight }
}

/// The seed's own three servers.
fn servers() -> Group {
    [("srv-a", 2), ("srv-b", 1), ("srv-c", 3)].map(|(tag, weight)| member(tag, weight)).into()
}

fn key(bytes: &str) -> Key {
    Key::EMPTY.with(bytes.as_bytes())
}

fn addresses() -> impl Iterator<Item = Key> {
    (0..=u16::MAX).map(|n| key(&format!("10.0.{}.{}", n >> 8, n & 0xFF)))
}

fn winner(key: Key, group: &Group) -> &str {
    best(key, group, 0..group.len()).map_or("", |at| group[at].tag.as_str())
}

/// Who wins each key, before and after a change, and how many keys moved from where to where.
fn moves<'a>(before: &'a Group, after: &'a Group, keys: impl Iterator<Item = Key>) -> Vec<(&'a str, &'a str)> {
    keys.map(|key| (winner(key, before), winner(key, after))).filter(|(was, is)| was != is).collect()
}

#[test]
fn scores_are_those_of_the_specification() {
    let expected = [
        ("10.0.0.5", [4.154_827, 0.762_691, 0.645_235], "srv-a"),
        ("10.0.0.6", [2.234_956, 0.413_284, 1.604_967], "srv-a"),
        ("example.com", [9.194_811, 0.362_007, 25.290_313], "srv-c"),
        ("192.168.1.10", [1.248_700, 0.504_389, 2.484_878], "srv-c"),
    ];
    for (text, scores, wins) in expected {
        for (member, expected) in servers().iter().zip(scores) {
            let score = score(key(text).and(member.tag.as_str().as_bytes()), member.weight);
            assert!((score - expected).abs() < 5e-7, "{text} {}: {score}", member.tag);
        }
        assert_eq!(winner(key(text), &servers()), wins);
    }
    // To the last bit, so that a machine with another logarithm would be found out.
    assert_eq!(score(0x9e31_28df_8a86_58c1, 2).to_bits(), 0x4010_9e8b_12cd_d865);
    assert_eq!(score(0x0272_f659_f5ac_968f, 3).to_bits(), 0x3fe4_a5c3_f7fd_5a3e);
}

#[test]
fn shares_are_those_of_the_specification() {
    let mut won = [0u32; 3];
    addresses().filter_map(|key| best(key, &servers(), 0..3)).for_each(|at| won[at] += 1);
    assert_eq!(won, [21_596, 11_032, 32_908]);
}

#[test]
fn a_new_member_moves_only_the_keys_it_wins() {
    let (before, mut after) = (servers(), servers());
    after.push(member("srv-d", 2));
    let moved = moves(&before, &after, addresses());
    assert_eq!(moved.len(), 16_369);
    assert!(moved.iter().all(|(_, to)| *to == "srv-d"));
}

#[test]
fn a_member_that_leaves_moves_only_its_own_keys() {
    let (before, mut after) = (servers(), servers());
    after.remove(1);
    let moved = moves(&before, &after, addresses());
    assert!(moved.iter().all(|(from, _)| *from == "srv-b"));
    let to = |tag: &str| moved.iter().filter(|(_, to)| *to == tag).count();
    assert_eq!((moved.len(), to("srv-a"), to("srv-c")), (11_032, 4_473, 6_559));
}

#[test]
fn a_fenced_member_loses_its_own_keys_and_gets_exactly_those_back() {
    let group = servers();
    for key in addresses().step_by(7) {
        let (all, without) = (best(key, &group, 0..3), best(key, &group, [0, 2].into_iter()));
        assert!(without == all || all == Some(1), "a key of another member moved");
    }
}

#[test]
fn a_weight_moves_keys_only_towards_or_away_from_its_member() {
    let (low, mut high) = (servers(), servers());
    high[2].weight = 6;
    let up = moves(&low, &high, addresses());
    assert!(up.iter().all(|(_, to)| *to == "srv-c"));
    assert_eq!((up.len() as f64 / 655.36 * 100.0).round(), 1644.0, "16.44 %");
    let down = moves(&high, &low, addresses());
    assert!(down.iter().all(|(from, _)| *from == "srv-c"));
    assert_eq!(down.len(), up.len());
}

#[test]
fn the_order_of_the_list_plays_no_part() {
    let (one, mut other) = (servers(), servers());
    other.reverse();
    assert_eq!(moves(&one, &other, addresses()), []);
}

/// Trap 10 of balancing.md: a hash with a seed of the process would send users elsewhere after each restart. The known
/// answers above would not hold with one; neither would they with trap 11, a hash of places in the list.
#[test]
fn a_member_listed_twice_wins_no_more_than_once() {
    let (once, mut twice) = (servers(), servers());
    twice.push(member("srv-b", 1));
    assert_eq!(moves(&once, &twice, addresses()), []);
}

#[test]
fn shares_pass_a_chi_square_test() {
    let (sets, keys) = ([equal_names(), last_letter_differs(), urls(), long_names()], key_sets());
    let weightings: [fn(usize) -> u32; 6] =
        [|_| 1, |n| n as u32 + 1, |n| if n == 0 { 10 } else { 1 }, |n| 1 + (n as u32 % 3), |_| 100, |n| 7 + n as u32];
    let (mut tested, mut failed) = (0, vec![]);
    for (names, (what, keys)) in sets.iter().flat_map(|names| keys.iter().map(move |keys| (names, keys))) {
        for weight in weightings {
            let group: Group = names.iter().enumerate().map(|(n, name)| member(name, weight(n))).collect();
            tested += 1;
            if chi_square(&group, keys) > CRITICAL[group.len() - 2] {
                failed.push((*what, group));
            }
        }
    }
    assert!(tested >= 100 && failed.len() * 100 <= tested, "{} of {tested}: {failed:?}", failed.len());
}

/// Critical values at p = 0.001 for 1, 2, 3 … degrees of freedom.
const CRITICAL: [f64; 9] = [10.828, 13.816, 16.266, 18.467, 20.515, 22.458, 24.322, 26.124, 27.877];

fn chi_square(group: &Group, keys: &[Key]) -> f64 {
    let mut won = vec![0u32; group.len()];
    keys.iter().filter_map(|key| best(*key, group, 0..group.len())).for_each(|at| won[at] += 1);
    let total: f64 = group.iter().map(|member| f64::from(member.weight)).sum();
    let terms = group.iter().zip(won).map(|(member, won)| {
        let expected = keys.len() as f64 * f64::from(member.weight) / total;
        (f64::from(won) - expected).powi(2) / expected
    });
    terms.sum()
}

fn equal_names() -> Vec<String> {
    ["srv-a", "srv-b", "srv-c"].map(str::to_owned).into()
}

fn last_letter_differs() -> Vec<String> {
    (1..=6).map(|n| format!("proxy{n}")).collect()
}

fn urls() -> Vec<String> {
    (1..=3).map(|n| format!("http://backend{n}:8080")).collect()
}

fn long_names() -> Vec<String> {
    (0..10).map(|n| format!("{n:02} node of a subscription with a long name [{n}]")).collect()
}

fn key_sets() -> Vec<(&'static str, Vec<Key>)> {
    let many = |make: &dyn Fn(u32) -> Key| (0..6000).map(make).collect();
    vec![
        ("addresses", many(&|n| key(&format!("10.0.{}.{}", n >> 8, n & 0xFF)))),
        ("far addresses", many(&|n| key(&format!("{}.{}.7.1", n % 251, n / 251)))),
        ("IPv6", many(&|n| key(&format!("2001:db8::{n:x}")))),
        ("sites", many(&|n| key(&format!("site-{n}.example")))),
        ("users and sites", many(&|n| key(&format!("user{}", n % 77)).next().with(format!("{n}.com").as_bytes()))),
    ]
}

#[test]
fn a_thousand_to_one_is_followed_within_five_sigma() {
    let group = vec![member("small", 1), member("large", 1000)];
    let small = addresses().filter(|key| best(*key, &group, 0..2) == Some(0)).count() as f64;
    let (n, share) = (65_536.0, 1.0 / 1001.0);
    let sigma = f64::sqrt(n * share * (1.0 - share));
    assert!((small - n * share).abs() < 5.0 * sigma, "{small} of {:.1} +- {sigma:.1}", n * share);
}

#[test]
fn one_member_and_the_empty_key_are_ordinary() {
    let one = vec![member("only", 1)];
    assert_eq!(best(Key::EMPTY, &one, 0..1), Some(0));
    assert_eq!(best(Key::EMPTY, &servers(), 0..0), None);
    assert!(best(Key::EMPTY, &servers(), 0..3).is_some());
    assert_ne!(key("10.0.0.1").and(b"1x"), key("10.0.0.11").and(b"x"), "the pair is not ambiguous");
}

#[test]
fn no_hash_gives_a_score_that_is_not_a_number_above_zero() {
    for hash in [0, 1, u64::MAX, u64::MAX - 1, 1 << 63, 0x7FF] {
        for weight in [1, u32::MAX] {
            let score = score(hash, weight);
            assert!(score.is_finite() && score > 0.0, "{hash:x} {weight}: {score}");
        }
    }
    assert!(draw(u64::MAX) < 1.0 && draw(0) > 0.0);
}

#[test]
fn weight_0_is_never_chosen() {
    let group = vec![member("a", 0), member("b", 0)];
    assert!(addresses().take(50).all(|key| best(key, &group, 0..2).is_none()));
}

/// The bound that spares logarithms must never change who wins.
#[test]
fn the_shortcut_gives_the_same_winner_as_all_scores() {
    for weight in [|_: u32| 1, |n: u32| 1 + n * n * 100] {
        let group: Group = (0..40).map(|n| member(&format!("m{n}"), weight(n))).collect();
        for key in addresses().step_by(29) {
            let scored = group.iter().map(|m| score(key.and(m.tag.as_str().as_bytes()), m.weight));
            let top = scored.enumerate().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at);
            assert_eq!(best(key, &group, 0..40), top);
        }
    }
}
