//! What a routing decision costs where no rule takes the flow: `cargo bench --bench router`.
//!
//! First by the number of rules, of which each has one or two conditions of the kinds that people write; then with 100 000
//! names and 30 000 networks, in rules of different sizes. Times are nanoseconds of wall clock, the median of many rounds.

use std::hint::black_box;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use etemenanki::addr::{DomainName, Network, PortSet};
use etemenanki::geo::Lists;
use etemenanki::model::fields::Networks;
use etemenanki::model::matcher::{DomainRule, DomainRules, IpRule, IpRules};
use etemenanki::model::routing::{RouteStrategy, When};
use etemenanki::route::{Decision, Facts, Router};

/// Makes the rule with a number.
type Kind = (&'static str, fn(u32) -> When);

const KINDS: [Kind; 7] = [
    ("names", name_rule),
    ("nets", net_rule),
    ("name, port", |n| When { port: Some(PortSet::one(443)), ..name_rule(n) }),
    ("net, udp", |n| When { network: Some(Networks::UDP), ..net_rule(n) }),
    ("inbounds", |n| When { inbound: vec![format!("in{n}").as_str().into()], ..When::default() }),
    ("users", |n| When { user: vec![format!("user{n}@x")], ..When::default() }),
    ("all kinds", |n| KINDS[n as usize % 6].1(n)),
];

fn main() {
    print!("{:>7}", "rules");
    KINDS.iter().for_each(|(name, _)| print!(" {name:>11}"));
    println!(" {:>9}", "build ms");
    for count in [10, 1_000, 10_000] {
        let begun = Instant::now();
        let routers = KINDS.map(|(_, rule)| router(&(0..count).map(rule).collect::<Vec<_>>()));
        let built = begun.elapsed();
        print!("{count:>7}");
        routers.iter().for_each(|router| print!(" {:>11.1}", nanos(router, Target::Both)));
        println!(" {:>9.1}", built.as_secs_f64() * 1e3);
    }
    println!("\n{NAMES} names, {NETS} networks");
    println!("{:>12} {:>11} {:>11} {:>11} {:>9}", "in rules of", "to a name", "to an ip", "to both", "build ms");
    for size in [100_000, 500, 1] {
        let rules = full(size);
        let begun = Instant::now();
        let router = router(&rules);
        let built = begun.elapsed();
        let [name, ip, both] = [Target::Name, Target::Ip, Target::Both].map(|target| nanos(&router, target));
        println!("{size:>12} {name:>11.1} {ip:>11.1} {both:>11.1} {:>9.1}", built.as_secs_f64() * 1e3);
    }
}

const NAMES: u32 = 100_000;
const NETS: u32 = 30_000;

fn name_rule(n: u32) -> When {
    When { domain: DomainRules::of(vec![entry(n)]), ..When::default() }
}

fn net_rule(n: u32) -> When {
    When { ip: IpRules::of(vec![net(n)]), ..When::default() }
}

fn entry(n: u32) -> DomainRule {
    let text = format!("service{n}.zone{}.example", n % 97);
    if n.is_multiple_of(3) { DomainRule::Full(text) } else { DomainRule::Suffix(text) }
}

fn net(n: u32) -> IpRule {
    let text = format!("{}.{}.{}.0/25", 20 + n / 65_536, n / 256 % 256, n % 256);
    IpRule::parse(&text).unwrap_or_else(|error| unreachable!("{error}"))
}

/// Rules of so many entries each; one name in a hundred is a keyword, one in two hundred an expression.
fn full(size: u32) -> Vec<When> {
    let name = |n: u32| match n % 200 {
        0 | 1 => DomainRule::Keyword(format!("word{n}q")),
        2 => DomainRule::Regex(format!(r"^ad[0-9]+\.track{n}\.[a-z]{{2,3}}$")),
        _ => entry(n),
    };
    let parts = |all: u32| (0..all.div_ceil(size)).map(move |part| part * size..((part + 1) * size).min(all));
    let names = parts(NAMES).map(|part| When { domain: DomainRules::of(part.map(name).collect()), ..When::default() });
    let nets = parts(NETS).map(|part| When { ip: IpRules::of(part.map(net).collect()), ..When::default() });
    names.chain(nets).collect()
}

fn router(rules: &[When]) -> Router {
    match Router::compile(RouteStrategy::AsIs, rules.iter().map(|when| ("", when)), &Lists::default()) {
        Ok(router) => router,
        Err(error) => unreachable!("{error}"),
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Target {
    Name,
    Ip,
    Both,
}

/// What one of many decisions costs, on flows that look alike and meet nothing.
fn nanos(router: &Router, target: Target) -> f64 {
    let names: Vec<DomainName> =
        (0..64).filter_map(|n| DomainName::new(&format!("www.service{n}.zone{n}.test")).ok()).collect();
    let any = SocketAddr::from(([127, 0, 0, 1], 1));
    let facts = |n: usize| Facts {
        inbound: "in",
        network: Network::Tcp,
        protocol: None,
        name: names.get(n % names.len()).filter(|_| target != Target::Ip),
        address: Some(IpAddr::from([20, 0, (n % 64) as u8, 200])).filter(|_| target != Target::Name),
        port: 443,
        resolved: None,
        source: any,
        local: any,
        user: Some("somebody@x"),
        attribute: None,
        vless_route: 0,
    };
    let mut rounds: Vec<Duration> = vec![];
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(300) {
        let round = Instant::now();
        for n in 0..256 {
            assert_eq!(black_box(router).decide(&facts(black_box(n))), Decision::Default);
        }
        rounds.push(round.elapsed());
    }
    rounds.sort_unstable();
    rounds[rounds.len() / 2].as_secs_f64() * 1e9 / 256.0
}
