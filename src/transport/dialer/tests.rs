//! Dialer against acceptor over loopback.
#![allow(clippy::unwrap_used)]

use std::net::IpAddr;
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket};

use super::*;
use crate::addr::DomainName;
use crate::flow::{BoxFuture, BoxPackets, Flow, Half, Via};
use crate::tls::{ClientOptions, Crypto, Pem, ServerOptions};
use crate::transport::{AcceptError, Acceptor, Arrivals};

/// Knows one name and no other way.
pub(super) struct OneName(Vec<IpAddr>);

impl Services for OneName {
    fn resolve<'a>(&'a self, name: &'a DomainName) -> BoxFuture<'a, Result<Arc<[IpAddr]>, DialError>> {
        Box::pin(async move {
            match name.as_str() {
                "a.example" => Ok(self.0.as_slice().into()),
                _ => Err(DialError::target(Stage::Resolve, io::ErrorKind::NotFound)),
            }
        })
    }

    fn dial<'a>(&'a self, _: Via, _: &'a Flow, _: &'a [u8]) -> BoxFuture<'a, Result<BoxStream, DialError>> {
        Box::pin(async { Err(DialError::us(Stage::Policy, io::ErrorKind::Unsupported)) })
    }

    fn associate<'a>(&'a self, _: Via, _: &'a Flow) -> BoxFuture<'a, Result<BoxPackets, DialError>> {
        Box::pin(async { Err(DialError::us(Stage::Policy, io::ErrorKind::Unsupported)) })
    }
}

pub(super) fn house() -> OneName {
    OneName(vec!["::1".parse().unwrap(), "127.0.0.1".parse().unwrap()])
}

pub(super) fn at(name: &str, port: u16) -> Target {
    Target::new(Host::parse(name).unwrap(), port)
}

async fn meet(dialer: &Dialer, acceptor: &Acceptor) -> Result<(BoxStream, BoxStream), DialError> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let to = at("a.example", listener.local_addr().unwrap().port());
    let accepting = async {
        let (socket, _) = listener.accept().await.unwrap();
        match acceptor.accept(socket, LIMIT).await? {
            Arrivals::One(arrival) => Ok::<_, AcceptError>(arrival.io),
            Arrivals::Many(_) => panic!("one stream was expected"),
        }
    };
    let house = house();
    let (near, far) = tokio::join!(dialer.connect(&house, None, &to, Blame::Server), accepting);
    Ok((near?, far.unwrap()))
}

async fn exchange(near: &mut BoxStream, far: &mut BoxStream) {
    near.write_all(b"ping").await.unwrap();
    near.flush().await.unwrap();
    let mut said = [0; 4];
    far.read_exact(&mut said).await.unwrap();
    assert_eq!(&said, b"ping");
}

#[tokio::test]
async fn a_raw_way_is_the_socket() {
    let dialer = Dialer::raw(SocketOptions::default(), Families::Any);
    let (mut near, mut far) = meet(&dialer, &Acceptor::raw()).await.unwrap();
    exchange(&mut near, &mut far).await;
    assert!(near.raw(Half::Read).is_some() && far.raw(Half::Write).is_some());
}

#[tokio::test]
async fn tls_goes_around_both_ends() {
    let key = KeyPair::generate().unwrap();
    let own = CertificateParams::new(vec!["a.example".to_owned()]).unwrap().self_signed(&key).unwrap();
    let (chain, key) = (Pem::Inline(own.pem()), Pem::Inline(key.serialize_pem()));
    let crypto = Crypto::default();
    let client = ClientOptions { roots: vec![chain.clone()], no_system_roots: true, ..ClientOptions::default() };
    let server = ServerOptions { certificates: vec![(chain, key)], ..ServerOptions::default() };
    let dialer = Dialer::raw(SocketOptions::default(), Families::Any);
    let dialer = dialer.with_tls(tls::Client::new(&crypto, &client).unwrap());
    let acceptor = Acceptor::raw().with_tls(tls::Server::new(&crypto, &server).unwrap());
    let (mut near, mut far) = meet(&dialer, &acceptor).await.unwrap();
    exchange(&mut near, &mut far).await;
    assert!(near.raw(Half::Read).is_none());
}

#[tokio::test]
async fn failures_say_stage_and_blame() {
    let dialer = Dialer::raw(SocketOptions::default(), Families::Any);
    // Bound without listening: refused, and nobody else can take the port.
    let dead = TcpSocket::new_v4().unwrap();
    dead.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let port = dead.local_addr().unwrap().port();
    let fails = async |dialer: &Dialer, name: &str| {
        let Err(error) = dialer.connect(&house(), None, &at(name, port), Blame::Server).await else {
            panic!("connected")
        };
        (error.stage, error.blame)
    };
    assert_eq!(fails(&dialer, "127.0.0.1").await, (Stage::Dial, Blame::Server));
    assert_eq!(fails(&dialer, "b.example").await, (Stage::Resolve, Blame::Server));
    let v4 = SocketOptions { bind: Some([127, 0, 0, 1].into()), ..SocketOptions::default() };
    assert_eq!(fails(&Dialer::raw(v4, Families::V6Only), "a.example").await, (Stage::Dial, Blame::Us));
}

/// What ten thousand dials hold while they wait.
#[test]
fn a_raw_dial_is_a_small_future() {
    let dialer = Dialer::raw(SocketOptions::default(), Families::Any);
    let (house, to) = (house(), at("a.example", 1));
    let size = size_of_val(&dialer.connect(&house, None, &to, Blame::Server));
    assert!(size <= 1600, "{size} bytes");
}
