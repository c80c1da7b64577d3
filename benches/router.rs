//! What a routing decision costs with 10, 1 000 and 10 000 rules, none of which takes the flow: `cargo bench --bench router`.
//!
//! `names` and `nets` are lists as people write them, one condition a rule; `both` are rules that must be tried one by one.

use std::hint::black_box;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use etemenanki::addr::{DomainName, Network, PortSet};
use etemenanki::geo::Lists;
use etemenanki::model::matcher::{DomainRule, DomainRules, IpRule, IpRules};
use etemenanki::model::routing::{RouteStrategy, When};
use etemenanki::route::{Decision, Facts, Router};

fn main() {
    println!("{:>7} {:>12} {:>12} {:>12} {:>12}", "rules", "names ns", "nets ns", "both ns", "build ms");
    for count in [10, 1_000, 10_000] {
        let begun = Instant::now();
        let routers = [name_rule, net_rule, both_rule].map(|rule| router(&(0..count).map(rule).collect::<Vec<_>>()));
        let built = begun.elapsed();
        let [names, nets, both] = routers.map(|router| cost(&router).as_secs_f64() * 1e9);
        println!("{count:>7} {names:>12.1} {nets:>12.1} {both:>12.1} {:>12.1}", built.as_secs_f64() * 1e3);
    }
}

fn name_rule(n: u32) -> When {
    let text = format!("service{n}.zone{}.example", n % 97);
    let rule = if n.is_multiple_of(3) { DomainRule::Full(text) } else { DomainRule::Suffix(text) };
    When { domain: DomainRules::of(vec![rule]), ..When::default() }
}

fn net_rule(n: u32) -> When {
    let text = format!("10.{}.{}.0/25", n / 256 % 256, n % 256);
    When { ip: IpRules::of(IpRule::parse(&text).into_iter().collect()), ..When::default() }
}

fn both_rule(n: u32) -> When {
    When { port: Some(PortSet::one(443)), ..name_rule(n) }
}

fn router(rules: &[When]) -> Router {
    match Router::compile(RouteStrategy::AsIs, rules.iter().map(|when| ("", when)), &Lists::default()) {
        Ok(router) => router,
        Err(error) => unreachable!("{error}"),
    }
}

/// The average of many decisions on flows that look alike and meet nothing.
fn cost(router: &Router) -> Duration {
    let names: Vec<DomainName> =
        (0..64).filter_map(|n| DomainName::new(&format!("www.service{n}.zone{n}.test")).ok()).collect();
    let any = SocketAddr::from(([127, 0, 0, 1], 1));
    let facts = |n: usize| Facts {
        inbound: "in",
        network: Network::Tcp,
        protocol: None,
        name: names.get(n % names.len()),
        address: Some(IpAddr::from([10, 0, (n % 64) as u8, 200])),
        port: 443,
        resolved: None,
        source: any,
        local: any,
        user: None,
        attribute: None,
        vless_route: 0,
    };
    let mut rounds = 64;
    loop {
        let begun = Instant::now();
        for n in 0..rounds {
            assert_eq!(black_box(router).decide(&facts(black_box(n))), Decision::Default);
        }
        let took = begun.elapsed();
        if took > Duration::from_millis(300) {
            return took / u32::try_from(rounds).unwrap_or(u32::MAX);
        }
        rounds *= 2;
    }
}
