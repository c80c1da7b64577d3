//! What a full pool of fake addresses costs: `cargo bench --bench fakes`.
//!
//! `name` is an address to its name and `known` a name to the address it has, in an order without pattern; `new` is a name
//! that takes the place of another. `dense` is a network with one address more than the pool has names.

use std::hash::RandomState;
use std::hint::black_box;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use etemenanki::addr::DomainName;
use etemenanki::dns::Pool;
use rand::seq::SliceRandom;

/// Names of a full pool.
const NAMES: u32 = 65535;

fn main() {
    println!(
        "{:>6} {:>9} {:>9} {:>9} {:>9} {:>12}",
        "pool", "name ns", "known ns", "new ns", "worst µs", "bytes/entry"
    );
    for (what, net) in [("usual", "198.18.0.0/15"), ("ipv6", "fc00::/18"), ("dense", "10.0.0.0/16")] {
        let Ok(net) = net.parse() else { continue };
        let names: Vec<DomainName> = (0..2 * NAMES).filter_map(name).collect();
        let (first, second) = names.split_at(NAMES as usize);
        let before = resident();
        let mut pool = Pool::new(net, NAMES, RandomState::new());
        // A few names a millisecond, as a busy house asks.
        let given = |pool: &mut Pool, names: &[DomainName]| -> Vec<IpAddr> {
            names.iter().zip(0_u64..).map(|(name, n)| pool.give(&copy(name), 1_700_000_000_000 + n / 4)).collect()
        };
        let mut addresses = given(&mut pool, first);
        let held = resident().saturating_sub(before);
        addresses.shuffle(&mut rand::rng());
        let mut shuffled: Vec<&DomainName> = first.iter().collect();
        shuffled.shuffle(&mut rand::rng());
        let name = each(&addresses, |ip| drop(black_box(pool.look(*ip))));
        let known = each(&shuffled, |name| _ = black_box(pool.give(name, 0)));
        let mut worst = Duration::ZERO;
        let mut now = 1_700_000_100_000_u64;
        let new = each(second, |name| {
            let begun = Instant::now();
            black_box(pool.give(name, now));
            worst = worst.max(begun.elapsed());
            now += 1;
        });
        let per = held as f64 / f64::from(NAMES);
        println!("{what:>6} {name:>9.0} {known:>9.0} {new:>9.0} {:>9.0} {per:>12.0}", worst.as_secs_f64() * 1e6);
    }
}

/// A name of usual length.
fn name(n: u32) -> Option<DomainName> {
    DomainName::new(&format!("host{n}.zone{}.example.com", n % 97)).ok()
}

/// One with bytes of its own, as from a question.
fn copy(name: &DomainName) -> DomainName {
    DomainName::new(name.as_str()).unwrap_or_else(|_| name.clone())
}

fn each<T>(list: &[T], mut what: impl FnMut(&T)) -> f64 {
    let begun = Instant::now();
    list.iter().for_each(&mut what);
    begun.elapsed().as_secs_f64() * 1e9 / list.len().max(1) as f64
}

/// Bytes of memory that the process holds.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: usize = text.split_whitespace().nth(1).and_then(|pages| pages.parse().ok()).unwrap_or_default();
    pages * 4096
}
