//! What a name costs that a DNS server has answered before: `cargo bench --bench dns`.
//!
//! The answer is there at the first poll, so no task is switched; times are nanoseconds of wall clock, the median of many rounds.

use std::net::{IpAddr, UdpSocket};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use etemenanki::addr::DomainName;
use etemenanki::dns::{Dns, Fakes, Given};
use etemenanki::flow::{BoxFuture, BoxPackets, BoxStream, DialError, Flow, Services, Stage, Via};
use etemenanki::geo::Lists;
use etemenanki::model::dns::{Dns as Section, DnsServer, QueryStrategy};
use etemenanki::model::matcher::{DomainRule, DomainRules};
use etemenanki::net::SocketOptions;
use etemenanki::net::udp::Direct;
use etemenanki::tls::Crypto;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let house: Arc<dyn Services> = Arc::new(Open);
    let name = DomainName::new("www.example.com")?;
    let (lists, fakes, crypto) = (Lists::default(), Fakes::default(), Crypto::default());
    println!("{:<42} {:>8}", "a kept answer", "ns");
    for (what, strategy, domains, parallel) in [
        ("one server, IPv4", QueryStrategy::UseIpv4, 0, false),
        ("one server, both families", QueryStrategy::UseIp, 0, false),
        ("one server with 100 000 domains", QueryStrategy::UseIp, 100_000, false),
        ("two servers, asked at once", QueryStrategy::UseIp, 0, true),
    ] {
        let servers = (0..if parallel { 2 } else { 1 }).map(|_| server(domains)).collect::<Result<_, _>>()?;
        let section =
            Section { servers, query_strategy: strategy, enable_parallel_query: parallel, ..Section::default() };
        let dns = Dns::new(Some(&section), Given { lists: &lists, fakes: &fakes, crypto: &crypto }, None)?;
        runtime.block_on(dns.resolve(&house, &name))?;
        let _entered = runtime.enter();
        let mut cx = Context::from_waker(Waker::noop());
        let mut rounds = vec![];
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(300) {
            let round = Instant::now();
            for _ in 0..256 {
                let asked = pin!(dns.resolve(&house, &name));
                assert!(matches!(asked.poll(&mut cx), Poll::Ready(Ok(_))));
            }
            rounds.push(round.elapsed());
        }
        rounds.sort_unstable();
        println!("{what:<42} {:>8.0}", rounds[rounds.len() / 2].as_secs_f64() * 1e9 / 256.0);
    }
    Ok(())
}

/// A server on this machine that knows one address for every name, and none of the other family.
fn server(domains: u32) -> std::io::Result<DnsServer> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    let at = socket.local_addr()?;
    std::thread::spawn(move || {
        let mut buf = [0; 2048];
        while let Ok((len, from)) = socket.recv_from(&mut buf) {
            let mut answer = buf[..len].to_vec();
            // An answer, recursion available.
            answer[2..4].copy_from_slice(&[0x81, 0x80]);
            let is_a = answer[len - 4..].starts_with(&[0, 1]);
            if is_a {
                answer[7] = 1;
                answer.extend([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0x0e, 0x10, 0, 4, 192, 0, 2, 1]);
            }
            if socket.send_to(&answer, from).is_err() {
                return;
            }
        }
    });
    let mut server = DnsServer::default();
    server.spec.address = at.ip().to_string();
    server.spec.port = at.port();
    server.spec.domains = DomainRules::of((0..domains).map(|n| DomainRule::Suffix(format!("name{n}.test"))).collect());
    Ok(server)
}

/// A house with open doors.
struct Open;

impl Services for Open {
    fn resolve<'a>(&'a self, _: &'a DomainName) -> BoxFuture<'a, Result<Arc<[IpAddr]>, DialError>> {
        Box::pin(async { Err(unsupported()) })
    }

    fn dial<'a>(&'a self, _: Via, _: &'a Flow, _: &'a [u8]) -> BoxFuture<'a, Result<BoxStream, DialError>> {
        Box::pin(async { Err(unsupported()) })
    }

    fn associate<'a>(&'a self, _: Via, _: &'a Flow) -> BoxFuture<'a, Result<BoxPackets, DialError>> {
        Box::pin(async { Ok(Box::new(Direct::new(SocketOptions::default())) as BoxPackets) })
    }
}

fn unsupported() -> DialError {
    DialError::us(Stage::Resolve, std::io::ErrorKind::Unsupported)
}
