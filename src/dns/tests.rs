//! The module against servers that answer, that lie, and that are silent.
#![allow(clippy::unwrap_used)]

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::{RData, Record, RecordType, rdata::A};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::time::Instant;

use super::{Asked, By, Dns, DnsError, Explained, Faked, Fakes, Families, Given, How, Why};
use crate::addr::DomainName;
use crate::flow::{BoxFuture, BoxPackets, BoxStream, DialError, Flow, Services, Stage, Via};
use crate::geo::Lists;
use crate::model::dns::{Dns as Written, DnsServer, HostAnswer, Hosts, QueryStrategy};
use crate::model::fake::{FakePool, FakePools, ServerFakes};
use crate::model::matcher::{DomainRule, DomainRules};
use crate::net::SocketOptions;
use crate::net::udp::Direct;
use crate::shape::Millis;
use crate::tls::Crypto;

/// A house of which every way is direct.
pub(super) struct Open;

impl Services for Open {
    fn resolve<'a>(&'a self, _: &'a DomainName) -> BoxFuture<'a, Result<Arc<[IpAddr]>, DialError>> {
        Box::pin(async { Err(DialError::us(Stage::Resolve, std::io::ErrorKind::Unsupported)) })
    }

    fn dial<'a>(&'a self, _: Via, flow: &'a Flow, first: &'a [u8]) -> BoxFuture<'a, Result<BoxStream, DialError>> {
        Box::pin(async move {
            let failed = |error| DialError::target(Stage::Dial, error);
            let mut io = TcpStream::connect(flow.target.socket().unwrap()).await.map_err(failed)?;
            io.write_all(first).await.map_err(failed)?;
            Ok(Box::new(io) as BoxStream)
        })
    }

    fn associate<'a>(&'a self, _: Via, _: &'a Flow) -> BoxFuture<'a, Result<BoxPackets, DialError>> {
        Box::pin(async { Ok(Box::new(Direct::new(SocketOptions::default())) as BoxPackets) })
    }
}

/// The answer to a question, changed.
pub(super) fn answer(bytes: &[u8], change: impl FnOnce(&mut Message)) -> Vec<u8> {
    let asked = Message::from_vec(bytes).unwrap();
    let name = asked.queries[0].name().clone();
    let mut message = asked.into_response();
    match (name.to_string().as_str(), message.queries[0].query_type()) {
        ("gone.test.", _) => message.metadata.response_code = ResponseCode::NXDomain,
        ("broken.test.", _) => message.metadata.response_code = ResponseCode::ServFail,
        (_, RecordType::A) => {
            message.add_answer(Record::from_rdata(name, 60, RData::A(A([192, 0, 2, 1].into()))));
        }
        _ => {}
    }
    change(&mut message);
    message.to_vec().unwrap()
}

/// A server that says several things to each question, from the last to the truth.
async fn server(said: fn(&[u8]) -> Vec<Vec<u8>>) -> (SocketAddr, Arc<AtomicUsize>) {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let (at, asked) = (socket.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&asked);
    tokio::spawn(async move {
        let mut buf = [0; 2048];
        while let Ok((n, from)) = socket.recv_from(&mut buf).await {
            count.fetch_add(1, Ordering::SeqCst);
            for bytes in said(&buf[..n]) {
                socket.send_to(&bytes, from).await.unwrap();
            }
        }
    });
    (at, asked)
}

fn made(written: &Written, before: Option<&Dns>) -> Dns {
    made_with(written, &Fakes::default(), before)
}

fn made_with(written: &Written, fakes: &Fakes, before: Option<&Dns>) -> Dns {
    let (lists, crypto) = (Lists::default(), Crypto::default());
    Dns::new(Some(written), Given { lists: &lists, fakes, crypto: &crypto }, before).unwrap()
}

fn dns(servers: &[SocketAddr]) -> Dns {
    made(&written(servers), None)
}

fn written(servers: &[SocketAddr]) -> Written {
    let one = |at: &SocketAddr| {
        let mut server = DnsServer::default();
        server.spec.address = at.ip().to_string();
        server.spec.port = at.port();
        server.spec.timeout = Millis(Duration::from_millis(300));
        server
    };
    let servers = servers.iter().map(one).collect();
    Written { servers, query_strategy: QueryStrategy::UseIpv4, ..Written::default() }
}

async fn ask(dns: &Dns, name: &str) -> Result<Arc<[IpAddr]>, DnsError> {
    let house: Arc<dyn Services> = Arc::new(Open);
    dns.resolve(&house, &DomainName::new(name).unwrap()).await
}

fn good() -> Arc<[IpAddr]> {
    [IpAddr::from([192, 0, 2, 1])].into()
}

#[tokio::test]
async fn many_ask_once_and_what_is_kept_is_there_at_once() {
    let (at, asked) = server(|q| vec![answer(q, |_| {})]).await;
    let dns = dns(&[at]);
    let (a, b, c) = tokio::join!(ask(&dns, "a.test"), ask(&dns, "a.test"), ask(&dns, "A.test"));
    assert_eq!([a, b, c], [Ok(good()), Ok(good()), Ok(good())]);
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    let mut again = Box::pin(ask(&dns, "a.test"));
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    assert_eq!(again.as_mut().poll(&mut cx), std::task::Poll::Ready(Ok(good())));
}

/// What is known costs no switch of tasks, be the servers asked in turn or all at once.
#[tokio::test]
async fn what_is_kept_is_there_at_the_first_look() {
    let (at, asked) = server(|q| vec![answer(q, |_| {})]).await;
    let (silent, _) = server(|_| vec![]).await;
    for parallel in [false, true] {
        let section = Written { enable_parallel_query: parallel, ..written(&[at, silent]) };
        let dns = made(&section, None);
        assert_eq!(ask(&dns, "a.test").await, Ok(good()));
        let before = asked.load(Ordering::SeqCst);
        let mut again = Box::pin(ask(&dns, "a.test"));
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        assert_eq!(again.as_mut().poll(&mut cx), std::task::Poll::Ready(Ok(good())), "all at once: {parallel}");
        assert_eq!(asked.load(Ordering::SeqCst), before);
    }
}

#[tokio::test]
async fn absence_is_kept_and_failure_is_not() {
    let (at, asked) = server(|q| vec![answer(q, |_| {})]).await;
    let dns = dns(&[at]);
    for _ in 0..2 {
        assert_eq!(ask(&dns, "gone.test").await.unwrap_err(), DnsError::NoName);
    }
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    for _ in 0..2 {
        let error = ask(&dns, "broken.test").await.unwrap_err();
        assert_eq!(error.to_string(), format!("{at} answered with code 2 (it failed)"));
    }
    assert_eq!(asked.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn lies_are_passed_over() {
    let (at, _) = server(|q| {
        let spoofed = answer(q, |m| m.metadata.id = m.metadata.id.wrapping_add(1));
        vec![vec![], vec![0xc0; 9000], q.to_vec(), spoofed, answer(q, |_| {})]
    })
    .await;
    assert_eq!(ask(&dns(&[at]), "a.test").await, Ok(good()));
    let (at, _) = server(|q| vec![q.to_vec(); 200]).await;
    let error = ask(&dns(&[at]), "a.test").await.unwrap_err();
    assert_eq!(error.to_string(), format!("{at} did not answer within 300ms"));
}

#[tokio::test]
async fn a_silent_server_costs_its_time_once() {
    let (dead, asked) = server(|_| vec![]).await;
    let (at, _) = server(|q| vec![answer(q, |_| {})]).await;
    let dns = dns(&[dead, at]);
    assert_eq!(ask(&dns, "a.test").await, Ok(good()));
    let before = Instant::now();
    for name in ["b.test", "c.test"] {
        assert_eq!(ask(&dns, name).await, Ok(good()));
    }
    assert!(before.elapsed() < Duration::from_millis(300));
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn what_is_cut_is_asked_again_by_tcp() {
    let (at, _) = server(|q| {
        vec![answer(q, |m| {
            m.answers.clear();
            m.metadata.truncation = true;
        })]
    })
    .await;
    let listener = TcpListener::bind(at).await.unwrap();
    tokio::spawn(async move {
        let (mut io, _) = listener.accept().await.unwrap();
        let mut asked = vec![0; usize::from(io.read_u16().await.unwrap())];
        io.read_exact(&mut asked).await.unwrap();
        let bytes = answer(&asked, |_| {});
        io.write_u16(u16::try_from(bytes.len()).unwrap()).await.unwrap();
        io.write_all(&bytes).await.unwrap();
    });
    assert_eq!(ask(&dns(&[at]), "a.test").await, Ok(good()));
}

#[tokio::test]
async fn all_at_once_the_first_group_counts() {
    let (dead, _) = server(|_| vec![]).await;
    let (at, _) = server(|q| vec![answer(q, |_| {})]).await;
    let mut written = Written { enable_parallel_query: true, ..written(&[dead, at]) };
    let fast = made(&written, None);
    let begun = Instant::now();
    assert_eq!(ask(&fast, "a.test").await, Ok(good()));
    assert!(begun.elapsed() < Duration::from_millis(250), "both are one group, so nobody waits for the silent one");
    written.servers[1].spec.skip_fallback = true;
    written.servers[1].spec.domains = DomainRules::of(vec![DomainRule::Suffix("test".to_owned())]);
    let slow = made(&written, None);
    assert_eq!(ask(&slow, "a.test").await, Ok(good()), "the one that the name asks for comes first");
}

#[tokio::test]
async fn an_equal_server_goes_on_with_what_it_knows() {
    let (at, asked) = server(|q| vec![answer(q, |_| {})]).await;
    let mut written = written(&[at]);
    let first = made(&written, None);
    assert_eq!(ask(&first, "a.test").await, Ok(good()));
    let second = made(&written, Some(&first));
    assert_eq!(ask(&second, "a.test").await, Ok(good()));
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    written.servers[0].spec.client_ip = Some([198, 51, 100, 1].into());
    let third = made(&written, Some(&second));
    assert_eq!(ask(&third, "a.test").await, Ok(good()));
    assert_eq!(asked.load(Ordering::SeqCst), 2, "another client network may have other answers");
}

/// Whoever guesses the number still answers from elsewhere.
#[tokio::test]
async fn an_answer_from_another_address_is_none() {
    let (socket, liar) = (UdpSocket::bind("127.0.0.1:0").await.unwrap(), UdpSocket::bind("127.0.0.1:0").await.unwrap());
    let at = socket.local_addr().unwrap();
    tokio::spawn(async move {
        let mut buf = [0; 2048];
        let (n, from) = socket.recv_from(&mut buf).await.unwrap();
        let lie = answer(&buf[..n], |m| {
            let name = m.queries[0].name().clone();
            m.answers = vec![Record::from_rdata(name, 60, RData::A(A([203, 0, 113, 1].into())))];
        });
        liar.send_to(&lie, from).await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        socket.send_to(&answer(&buf[..n], |_| {}), from).await.unwrap();
    });
    assert_eq!(ask(&dns(&[at]), "a.test").await, Ok(good()));
}

const ONLY_V4: Asked = Asked { families: Families { v4: true, v6: false }, fakes: false };

async fn explain(dns: &Dns, name: &str) -> Explained {
    let house: Arc<dyn Services> = Arc::new(Open);
    dns.explain(&house, &DomainName::new(name).unwrap(), Asked::REAL, None).await
}

#[tokio::test]
async fn an_answer_tells_how_long_it_is_good_and_a_failure_its_code() {
    let (at, _) = server(|q| vec![answer(q, |_| {})]).await;
    let (dead, _) = server(|_| vec![]).await;
    let full = |name: &str| DomainRule::Full(name.to_owned());
    let hosts = Hosts(vec![
        (full("fixed.test"), HostAnswer::Ips(vec![[10, 0, 0, 1].into(), "2001:db8::1".parse().unwrap()])),
        (full("six.test"), HostAnswer::Ips(vec!["2001:db8::1".parse().unwrap()])),
        (full("never.test"), HostAnswer::Code(3)),
        (full("refused.test"), HostAnswer::Code(5)),
        (full("void.test"), HostAnswer::Code(0)),
    ]);
    let dns = made(&Written { hosts, ..written(&[at]) }, None);
    let house: Arc<dyn Services> = Arc::new(Open);
    let look = async |name: &str| {
        let looked = dns.look(&house, &DomainName::new(name).unwrap(), ONLY_V4).await;
        looked.map(|looked| (looked.ips.to_vec(), looked.ttl, looked.by)).map_err(|error| error.code())
    };
    assert_eq!(look("a.test").await, Ok((good().to_vec(), 60, By::Server(0))));
    assert!(matches!(look("a.test").await, Ok((_, 59..=60, By::Server(0)))));
    assert_eq!(look("fixed.test").await, Ok((vec![[10, 0, 0, 1].into()], 10, By::Hosts)));
    for (name, code) in [
        ("six.test", 0),
        ("never.test", 3),
        ("refused.test", 5),
        ("void.test", 0),
        ("gone.test", 3),
        ("broken.test", 2),
    ] {
        assert_eq!(look(name).await, Err(code), "{name}");
    }
    let silent = self::dns(&[dead]).look(&house, &DomainName::new("a.test").unwrap(), ONLY_V4).await;
    assert_eq!(silent.map_err(|error| error.code()), Err(2));
}

#[tokio::test]
async fn how_an_answer_came_about_is_told() {
    let (dead, _) = server(|_| vec![]).await;
    let (at, _) = server(|q| vec![answer(q, |_| {})]).await;
    let mut written = written(&[dead, at, at]);
    written.servers[1].spec.domains = DomainRules::of(vec![DomainRule::Suffix("shop.test".to_owned())]);
    written.servers[2].spec.skip_fallback = true;
    written.hosts = Hosts(vec![
        (DomainRule::Full("alias.test".to_owned()), HostAnswer::Alias("www.shop.test".to_owned())),
        (DomainRule::Full("fixed.test".to_owned()), HostAnswer::Ips(vec![[10, 0, 0, 1].into()])),
    ]);
    let dns = made(&written, None);
    let told = explain(&dns, "a.test").await;
    let whys = |told: &Explained| told.servers.iter().map(|one| (one.place, one.why, one.absent)).collect::<Vec<_>>();
    assert_eq!(whys(&told), [(0, Why::Fallback, false), (1, Why::Fallback, false), (2, Why::Skipped, false)]);
    let heard: Vec<_> = told.heard.iter().map(|heard| (heard.place, heard.outcome.is_ok())).collect();
    assert_eq!(heard, [(0, false), (1, true)]);
    assert!(told.heard[0].took >= Duration::from_millis(300) && told.took >= told.heard[0].took);
    assert_eq!(told.heard[1].parts[0].how, How::Asked);
    assert_eq!(told.heard[1].parts[0].said, Ok((good().to_vec(), 60, 0)));
    assert_eq!(told.outcome.map(|looked| looked.by), Ok(By::Server(1)));
    // Who is absent is told of, and where it moved to.
    let told = explain(&dns, "alias.test").await;
    assert_eq!(whys(&told), [(1, Why::Rule(0), false), (0, Why::Fallback, true), (2, Why::Skipped, false)]);
    assert_eq!(told.servers[0].rule.as_deref(), Some("domain:shop.test"));
    assert_eq!(told.hosts, [(DomainName::new("alias.test").unwrap(), vec![0])]);
    assert_eq!(told.name, Some(DomainName::new("www.shop.test").unwrap()));
    let told = explain(&dns, "b.test").await;
    assert_eq!(whys(&told), [(1, Why::Fallback, false), (0, Why::Fallback, true), (2, Why::Skipped, false)]);
    let told = explain(&dns, "a.test").await;
    assert_eq!(told.heard[0].parts[0].how, How::Kept);
    let told = explain(&dns, "fixed.test").await;
    assert_eq!((told.servers.len(), told.name, told.hosts.len()), (0, None, 1));
    assert_eq!(told.outcome.map(|looked| looked.by), Ok(By::Hosts));
}

/// Clients are given fake addresses; for everybody else those servers are not there.
#[tokio::test]
async fn servers_of_fake_addresses_are_for_clients() {
    let mut fake = DnsServer::default();
    fake.spec.address = "FakeDNS".to_owned();
    let (at, _) = server(|q| vec![answer(q, |_| {})]).await;
    let mut written = written(&[at]);
    written.servers.insert(0, fake);
    let dns = made(&written, None);
    assert_eq!(ask(&dns, "a.test").await, Ok(good()));
    let told = explain(&dns, "a.test").await;
    assert_eq!(
        told.servers.iter().map(|one| (one.place, one.why)).collect::<Vec<_>>(),
        [(1, Why::Fallback), (0, Why::Fake)]
    );
    written.servers.pop();
    let dns = made(&written, None);
    let told = explain(&dns, "localhost.test").await;
    assert_eq!(
        told.servers.iter().map(|one| (one.place, one.why)).collect::<Vec<_>>(),
        [(1, Why::Last), (0, Why::Fake)]
    );
}

fn pools(net: &str) -> FakePools {
    FakePools(vec![FakePool { ip_pool: net.parse().ok(), pool_size: 9 }])
}

#[tokio::test]
async fn who_asks_for_fake_addresses_gets_them_in_the_order_of_servers() {
    let (at, asked) = server(|q| vec![answer(q, |_| {})]).await;
    let mut written = written(&[at]);
    let mut fake = DnsServer::default();
    fake.spec.address = "fakedns".to_owned();
    fake.spec.domains = DomainRules::of(vec![DomainRule::Full("a.test".to_owned())]);
    fake.spec.skip_fallback = true;
    written.servers.push(fake);
    written.hosts =
        Hosts(vec![(DomainRule::Full("fixed.test".to_owned()), HostAnswer::Ips(vec![[10, 0, 0, 1].into()]))]);
    let fakes = Fakes::new(&pools("198.18.0.0/15"), Some(&written), None);
    let dns = made_with(&written, &fakes, None);
    let house: Arc<dyn Services> = Arc::new(Open);
    let look = async |name: &str, families| {
        let looked = dns.look(&house, &DomainName::new(name).unwrap(), Asked { families, fakes: true }).await;
        looked.map(|looked| (looked.ips.to_vec(), looked.ttl, looked.by))
    };
    let (ips, ttl, by) = look("A.test.", Families::BOTH).await.unwrap();
    assert_eq!((ips.len(), ttl, by, asked.load(Ordering::SeqCst)), (1, 1, By::Server(1), 0));
    assert_eq!(fakes.look(ips[0]), Faked::Name(DomainName::new("a.test").unwrap()));
    assert_eq!(look("a.test", Families::BOTH).await, Ok((ips, 1, By::Server(1))));
    assert_eq!(look("b.test", Families::BOTH).await, Ok((good().to_vec(), 60, By::Server(0))));
    assert_eq!(look("fixed.test", Families::BOTH).await, Ok((vec![[10, 0, 0, 1].into()], 10, By::Hosts)));
    // The section wants no IPv6, so nobody has any.
    assert_eq!(look("a.test", Families { v4: false, v6: true }).await, Err(DnsError::NoAddress));
    assert_eq!(ask(&dns, "a.test").await, Ok(good()), "what is dialed is never a fake");
}

#[tokio::test]
async fn a_server_may_stand_for_itself_and_for_pools_of_its_own() {
    let (at, asked) = server(|q| vec![answer(q, |_| {})]).await;
    let mut written = written(&[at]);
    for (own, net) in [(ServerFakes::Own(pools("10.0.0.0/8")), "10."), (ServerFakes::Shared, "198.")] {
        written.servers[0].spec.fake_dns = own;
        let fakes = Fakes::new(&pools("198.18.0.0/15"), Some(&written), None);
        let dns = made_with(&written, &fakes, None);
        let house: Arc<dyn Services> = Arc::new(Open);
        let (name, wants) = (DomainName::new("a.test").unwrap(), Asked { families: Families::BOTH, fakes: true });
        let looked = dns.look(&house, &name, wants).await.unwrap();
        assert!(looked.ttl == 1 && looked.ips[0].to_string().starts_with(net), "{looked:?}");
        let before = asked.load(Ordering::SeqCst);
        assert_eq!(ask(&dns, "a.test").await, Ok(good()), "everybody else is given its own answer");
        assert_eq!(asked.load(Ordering::SeqCst), before + 1);
    }
}
