use std::future::poll_fn;

use tokio::io::{AsyncWriteExt, duplex};

use super::*;
use crate::addr::Network;
use crate::dns::Families;
use crate::model::fake::{FakePool, FakePools, ServerFakes};
use crate::model::fields::ListOf;
use crate::model::matcher::{Bare, DomainRule, DomainRules, IpRule, IpRules};

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: inner.example\r\n\r\n";

/// Pools in which `name.example` has the address that is given back, and the next has no name.
fn fakes() -> (Fakes, [Target; 2]) {
    let pools = FakePools(vec![FakePool { ip_pool: "198.18.0.0/15".parse().ok(), pool_size: 9 }]);
    let fakes = Fakes::new(&pools, None, None);
    let name = DomainName::new("name.example").unwrap();
    let given = fakes.of(&ServerFakes::Off, true).unwrap().give(&name, Families::BOTH);
    let other: std::net::IpAddr =
        if given[0].to_string() == "198.18.9.9" { [198, 18, 9, 8] } else { [198, 18, 9, 9] }.into();
    (fakes, [given[0], other].map(|ip| Target::new(ip.into(), 80)))
}

fn written(sniffers: &[Sniffer]) -> Written {
    Written { enabled: true, dest_override: ListOf(sniffers.to_vec()), ..Written::default() }
}

fn compiled(written: &Written) -> Sniffing {
    Sniffing::compile(written, &Lists::default()).unwrap().unwrap()
}

fn flow(network: Network, target: &Target) -> Flow {
    let any = ([127, 0, 0, 1], 1).into();
    Flow::new("in".into(), network, any, any, target.clone())
}

/// What is found of a stream, and where it goes: `protocol name -> destination`.
async fn found(written: &Written, fakes: &Fakes, target: &Target, says: &[u8]) -> String {
    let (mut client, io) = duplex(1024);
    client.write_all(says).await.unwrap();
    let mut flow = flow(Network::Tcp, target);
    let first = compiled(written).read(fakes, &mut flow, &mut (Box::new(io) as BoxStream)).await.unwrap();
    let read = if written.metadata_only { &b""[..] } else { says };
    assert_eq!(first, read, "what was read goes on");
    told(&flow)
}

fn told(flow: &Flow) -> String {
    let sniffed = flow.sniffed.as_ref();
    let protocol = sniffed.map_or("-", |sniffed| sniffed.protocol);
    let name = sniffed.and_then(|sniffed| sniffed.domain.as_ref()).map_or("-", |name| name.as_str());
    format!("{protocol} {name} -> {}", flow.destination())
}

#[tokio::test(start_paused = true)]
async fn a_fake_address_means_its_name() {
    let (fakes, [named, nameless]) = fakes();
    let real: Target = "192.0.2.1:80".parse().unwrap();
    let (fake, http, both) = ([Sniffer::FakeDns], [Sniffer::Http], [Sniffer::FakeDns, Sniffer::Http]);
    let same = |found: &str, target: &Target| format!("{found} -> {target}");
    for (sniffers, target, says, want) in [
        (&fake[..], &named, REQUEST, "http1 name.example -> name.example:80".to_owned()),
        (&both, &named, REQUEST, "http1 name.example -> name.example:80".to_owned()),
        (&fake, &named, b"", "fakedns name.example -> name.example:80".to_owned()),
        (&fake, &named, b"220 ready\r\n", "fakedns name.example -> name.example:80".to_owned()),
        // Without it the payload's name is better than none, and without that the address is dialed.
        (&http, &named, REQUEST, "http1 inner.example -> inner.example:80".to_owned()),
        (&http, &named, b"", same("fakedns -", &named)),
        // The pool lost the name: any other will do if `fakedns` is listed.
        (&fake, &nameless, REQUEST, "http1 inner.example -> inner.example:80".to_owned()),
        (&[Sniffer::Tls], &nameless, REQUEST, same("http1 -", &nameless)),
        (&fake, &nameless, b"", same("- -", &nameless)),
        (&fake, &real, REQUEST, same("http1 -", &real)),
        (&both, &real, REQUEST, "http1 inner.example -> inner.example:80".to_owned()),
    ] {
        assert_eq!(found(&written(sniffers), &fakes, target, says).await, want, "{sniffers:?} {target}");
    }
}

/// A real address stays where names only count for rules; a fake one never does, since nobody has it.
#[tokio::test(start_paused = true)]
async fn a_fake_address_is_replaced_even_where_targets_stay() {
    let (fakes, [named, nameless]) = fakes();
    let real: Target = "192.0.2.1:80".parse().unwrap();
    let written = Written { route_only: true, ..written(&[Sniffer::FakeDns, Sniffer::Http]) };
    for (target, want) in [
        (&named, "http1 name.example -> name.example:80"),
        (&nameless, "http1 inner.example -> inner.example:80"),
        (&real, "http1 inner.example -> 192.0.2.1:80"),
    ] {
        assert_eq!(found(&written, &fakes, target, REQUEST).await, want);
    }
}

#[tokio::test(start_paused = true)]
async fn exclusions_hold_for_fake_addresses_too() {
    let (fakes, [named, _]) = fakes();
    let same = format!("http1 - -> {named}");
    let rule = DomainRule::parse("full:name.example", Bare::Keyword).unwrap();
    let by_name = Written { domains_excluded: DomainRules::of(vec![rule]), ..written(&[Sniffer::FakeDns]) };
    assert_eq!(found(&by_name, &fakes, &named, REQUEST).await, "http1 inner.example -> inner.example:80");
    let net = IpRule::parse("198.18.0.0/15").unwrap();
    let by_address = Written { ips_excluded: IpRules::of(vec![net]), ..written(&[Sniffer::FakeDns]) };
    assert_eq!(found(&by_address, &fakes, &named, REQUEST).await, same);
}

#[tokio::test(start_paused = true)]
async fn with_metadata_only_no_byte_is_read_and_nobody_is_waited_for() {
    let (fakes, [named, nameless]) = fakes();
    let written = Written { metadata_only: true, ..written(&[Sniffer::FakeDns, Sniffer::Http]) };
    let begun = Instant::now();
    assert_eq!(found(&written, &fakes, &named, REQUEST).await, "fakedns name.example -> name.example:80");
    assert_eq!(found(&written, &fakes, &nameless, REQUEST).await, format!("- - -> {nameless}"));
    assert_eq!(begun.elapsed(), Duration::ZERO);
    let mut flow = flow(Network::Udp, &named);
    assert!(compiled(&written).begin(&fakes, &mut flow, b"\xc0 like QUIC").is_none());
    assert_eq!(told(&flow), "fakedns name.example -> name.example:80");
}

#[tokio::test(start_paused = true)]
async fn datagrams_to_a_fake_address_go_to_its_name() {
    let (fakes, [named, _]) = fakes();
    let sniffing = compiled(&written(&[Sniffer::FakeDns]));
    let mut flow = flow(Network::Udp, &named);
    assert!(sniffing.begin(&fakes, &mut flow, b"a question").is_none());
    assert_eq!(told(&flow), "fakedns name.example -> name.example:80");
    // The beginning of a QUIC hello: what it is will be clear with the next one, or never.
    let hello = [&[0xc3, 0, 0, 0, 1, 8][..], &[7; 8], &[0, 0, 0x41, 0x00], &[0; 300]].concat();
    let mut flow = self::flow(Network::Udp, &named);
    if let Some(mut ear) = sniffing.begin(&fakes, &mut flow, &hello) {
        poll_fn(|cx| sniffing.poll_over(&mut ear, &mut flow, cx)).await;
    }
    assert!(told(&flow).ends_with("name.example -> name.example:80"), "{}", told(&flow));
}
