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

use super::{Dns, DnsError};
use crate::addr::DomainName;
use crate::flow::{BoxFuture, BoxPackets, BoxStream, DialError, Flow, Services, Stage, Via};
use crate::geo::Lists;
use crate::model::dns::{Dns as Written, DnsServer, QueryStrategy};
use crate::model::matcher::{DomainRule, DomainRules};
use crate::net::SocketOptions;
use crate::net::udp::Direct;
use crate::shape::Millis;

struct Open;

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

fn answer(bytes: &[u8], change: impl FnOnce(&mut Message)) -> Vec<u8> {
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

fn dns(servers: &[SocketAddr]) -> Dns {
    Dns::new(Some(&written(servers)), &Lists::default(), None).unwrap()
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
        assert_eq!(error.to_string(), "127.0.0.1 answered with code 2 (it failed)");
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
    assert_eq!(error.to_string(), "127.0.0.1 did not answer within 300ms");
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
    let fast = Dns::new(Some(&written), &Lists::default(), None).unwrap();
    let begun = Instant::now();
    assert_eq!(ask(&fast, "a.test").await, Ok(good()));
    assert!(begun.elapsed() < Duration::from_millis(250), "both are one group, so nobody waits for the silent one");
    written.servers[1].spec.skip_fallback = true;
    written.servers[1].spec.domains = DomainRules::of(vec![DomainRule::Suffix("test".to_owned())]);
    let slow = Dns::new(Some(&written), &Lists::default(), None).unwrap();
    assert_eq!(ask(&slow, "a.test").await, Ok(good()), "the one that the name asks for comes first");
}

#[tokio::test]
async fn an_equal_server_goes_on_with_what_it_knows() {
    let (at, asked) = server(|q| vec![answer(q, |_| {})]).await;
    let mut written = written(&[at]);
    let first = Dns::new(Some(&written), &Lists::default(), None).unwrap();
    assert_eq!(ask(&first, "a.test").await, Ok(good()));
    let second = Dns::new(Some(&written), &Lists::default(), Some(&first)).unwrap();
    assert_eq!(ask(&second, "a.test").await, Ok(good()));
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    written.servers[0].spec.client_ip = Some([198, 51, 100, 1].into());
    let third = Dns::new(Some(&written), &Lists::default(), Some(&second)).unwrap();
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
