use std::collections::{HashMap, HashSet};

use proptest::prelude::*;

use super::*;

fn pool(net: &str, most: u32) -> Pool {
    Pool::new(net.parse().unwrap(), most, RandomState::new())
}

fn name(text: &str) -> DomainName {
    DomainName::new(text).unwrap()
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn a_name_gets_the_address_of_the_time_and_keeps_it() {
    let mut pool = pool("198.18.0.0/15", 100);
    let first = pool.give(&name("A.example"), (3 << 17) + 0x1_0203);
    assert_eq!(first, ip("198.19.2.3"));
    assert_eq!(pool.give(&name("a.example"), 99), first);
    assert_eq!(pool.look(first), Faked::Name(name("a.example")));
    assert_eq!(pool.look(ip("198.19.2.4")), Faked::Nameless);
    assert_eq!(pool.look(ip("198.20.0.0")), Faked::No);
    assert_eq!(pool.look(ip("fc00::1")), Faked::No);
}

#[test]
fn one_that_is_taken_leads_to_the_next_and_around_the_end() {
    let mut pool = pool("10.0.0.0/30", 3);
    let given: Vec<IpAddr> = ["a", "b", "c"].iter().map(|label| pool.give(&name(label), 2)).collect();
    assert_eq!(given, [ip("10.0.0.2"), ip("10.0.0.3"), ip("10.0.0.0")]);
    // The fourth takes what is left, and the first is forgotten both ways.
    assert_eq!(pool.give(&name("d"), 2), ip("10.0.0.1"));
    assert_eq!(pool.look(ip("10.0.0.2")), Faked::Nameless);
    assert_eq!(pool.give(&name("a"), 3), ip("10.0.0.2"));
    assert_eq!(pool.len(), 3);
}

#[test]
fn who_is_used_stays_whichever_way() {
    let mut pool = pool("10.0.0.0/24", 3);
    let [a, b, c] = ["a", "b", "c"].map(|label| pool.give(&name(label), 0));
    assert_eq!(pool.look(a), Faked::Name(name("a")));
    pool.give(&name("b"), 0);
    pool.give(&name("d"), 0);
    assert_eq!(pool.look(c), Faked::Nameless);
    assert_eq!([pool.look(a), pool.look(b)], [Faked::Name(name("a")), Faked::Name(name("b"))]);
}

#[test]
fn large_networks_are_counted_from_their_beginning() {
    let mut pool = pool("fc00::/18", 10);
    assert_eq!(pool.give(&name("a.example"), 0x0102_0304_0506), ip("fc00::102:304:506"));
    assert_eq!(pool.look(ip("fc00::102:304:506")), Faked::Name(name("a.example")));
    assert_eq!(pool.look(ip("fc00:0:0:1::102:304:506")), Faked::Nameless);
    let mut pool = self::pool("64:ff9b::/96", 10);
    assert_eq!(pool.give(&name("a.example"), (7 << 32) + 5), ip("64:ff9b::5"));
    let mut pool = self::pool("::/0", 10);
    let given = pool.give(&name("a.example"), u64::MAX);
    assert_eq!(given, ip("::ffff:ffff:ffff:ffff"));
    assert_eq!(pool.give(&name("b.example"), u64::MAX), ip("::"));
    let mut pool = self::pool("0.0.0.0/0", 10);
    assert_eq!(pool.give(&name("a.example"), (1 << 32) - 1), ip("255.255.255.255"));
    assert_eq!(pool.give(&name("b.example"), (1 << 32) - 1), ip("0.0.0.0"));
}

/// A search that is given up must end well: in a place behind the run, and of a full pool in that of the oldest.
#[test]
fn a_long_run_of_taken_addresses_is_not_walked_along() {
    let mut pool = pool("10.0.0.0/24", 255);
    let given: Vec<IpAddr> = (0..250).map(|n| pool.give(&name(&format!("n{n}")), 0)).collect();
    assert_eq!(given[249], ip("10.0.0.249"));
    assert_eq!(pool.give(&name("more"), 10), ip("10.0.0.250"));
    assert_eq!(pool.give(&name("late"), 252), ip("10.0.0.252"));
    let rest: Vec<IpAddr> = ["a", "b", "c"].iter().map(|label| pool.give(&name(label), 10)).collect();
    assert_eq!(rest, [ip("10.0.0.253"), ip("10.0.0.254"), ip("10.0.0.255")], "251 alone is left");
    assert_eq!(pool.len(), 255);
    // Nothing is free near 100 and behind 255, so the oldest lends its address.
    assert_eq!(pool.give(&name("full"), 100), ip("10.0.0.0"));
    assert_eq!((pool.look(given[0]), pool.len()), (Faked::Name(name("full")), 255));
    assert_eq!(pool.give(&name("n0"), 251), ip("10.0.0.251"), "it has to begin anew");
    assert_eq!(pool.look(given[1]), Faked::Nameless);
}

proptest! {
    /// Against a list in the order of use: whoever is among the last `most` has its address, and nobody else has one.
    #[test]
    fn names_and_addresses_are_one_to_one(
        steps in prop::collection::vec((0_u8..40, 0_u64..40, any::<bool>()), 1..300),
        most in 1_u32..15,
    ) {
        let mut pool = pool("10.0.0.0/28", most);
        let mut used: Vec<(DomainName, IpAddr)> = vec![];
        let mut ever: HashMap<IpAddr, HashSet<DomainName>> = HashMap::new();
        for (who, now, gives) in steps {
            let who = name(&format!("n{who}.example"));
            let known = used.iter().position(|(name, _)| *name == who);
            if gives {
                let got = pool.give(&who, now);
                match known {
                    Some(at) => {
                        let entry = used.remove(at);
                        prop_assert_eq!(entry.1, got);
                        used.push(entry);
                    }
                    None => {
                        prop_assert!(used.iter().all(|(_, ip)| *ip != got), "{} is taken", got);
                        used.push((who.clone(), got));
                        if used.len() > most as usize {
                            used.remove(0);
                        }
                    }
                }
                ever.entry(got).or_default().insert(who);
            } else if let Some(at) = known {
                let entry = used.remove(at);
                prop_assert_eq!(pool.look(entry.1), Faked::Name(who));
                used.push(entry);
            }
            prop_assert_eq!(pool.len(), used.len());
        }
        for ip in ever.keys() {
            let want = used.iter().find(|(_, taken)| taken == ip).map(|(name, _)| name.clone());
            prop_assert_eq!(pool.look(*ip), want.map_or(Faked::Nameless, Faked::Name));
        }
    }
}
