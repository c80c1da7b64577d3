//! A client against our own server, over an in-memory pipe.
#![allow(clippy::unwrap_used)]

use std::net::Ipv4Addr;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

use super::super::options::{Common, Pem, ServerOptions};
use super::super::server::Server;
use super::super::testing::Authority;
use super::*;
use crate::addr::DomainName;
use crate::model::tls::TlsVersion;

fn named(name: &str) -> Host {
    Host::Domain(DomainName::new(name).unwrap())
}

/// Trusts that authority alone.
fn trusting(authority: &Authority) -> ClientOptions {
    ClientOptions { roots: vec![authority.root()], no_system_roots: true, ..ClientOptions::default() }
}

fn serving(certificates: Vec<(Pem, Pem)>) -> ServerOptions {
    ServerOptions { certificates, ..ServerOptions::default() }
}

type Ends = (TlsStream<DuplexStream>, TlsStream<DuplexStream>);

async fn meet(client: &ClientOptions, server: &ServerOptions, host: &Host) -> io::Result<Ends> {
    let crypto = Crypto::default();
    let (client, server) = (Client::new(&crypto, client).unwrap(), Server::new(&crypto, server).unwrap());
    let (near, far) = duplex(64 * 1024);
    let (near, far) = tokio::join!(client.connect(near, host), server.accept(far));
    Ok((near?, far?))
}

async fn works(client: &ClientOptions, server: &ServerOptions, host: &Host) -> bool {
    match meet(client, server, host).await {
        Ok((mut near, mut far)) => {
            near.write_all(b"ping").await.unwrap();
            near.shutdown().await.unwrap();
            let mut said = String::new();
            far.read_to_string(&mut said).await.unwrap();
            said == "ping"
        }
        Err(_) => false,
    }
}

#[tokio::test]
async fn a_chain_must_be_trusted_and_fit_the_name() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let server = serving(vec![authority.issue("a.example")]);
    let client = trusting(&authority);
    assert!(works(&client, &server, &named("a.example")).await);
    assert!(!works(&client, &server, &named("b.example")).await);
    assert!(!works(&trusting(&stranger), &server, &named("a.example")).await);
    let renamed = ClientOptions { server_name: Some("a.example".into()), ..client.clone() };
    assert!(works(&renamed, &server, &named("b.example")).await);
    let by_name = ClientOptions { verify_names: vec!["x.example".into(), "a.example".into()], ..client.clone() };
    assert!(works(&by_name, &server, &named("b.example")).await);
    let by_address = serving(vec![authority.issue("127.0.0.1")]);
    assert!(works(&client, &by_address, &Host::Ip(Ipv4Addr::LOCALHOST.into())).await);
}

#[tokio::test]
async fn pins_come_before_everything() {
    let authority = Authority::new();
    let (chain, key) = authority.issue("a.example");
    let ders = certificates(&chain).unwrap();
    let server = serving(vec![(chain, key)]);
    let pinned = |place: usize| ClientOptions {
        pins: vec![Crypto::sha256(&ders[place]).unwrap()],
        no_system_roots: true,
        ..ClientOptions::default()
    };
    // The leaf is enough by itself; its issuer becomes the root, so the name counts again.
    assert!(works(&pinned(0), &server, &named("b.example")).await);
    assert!(works(&pinned(1), &server, &named("a.example")).await);
    assert!(!works(&pinned(1), &server, &named("b.example")).await);
    let other = ClientOptions { pins: vec![[7; 32]], insecure: true, ..trusting(&authority) };
    assert!(!works(&other, &server, &named("a.example")).await);
}

#[tokio::test]
async fn a_certificate_may_be_trusted_by_itself() {
    let (chain, key) = Authority::alone("a.example");
    let client = ClientOptions { roots: vec![chain.clone()], no_system_roots: true, ..ClientOptions::default() };
    let server = serving(vec![(chain, key)]);
    assert!(works(&client, &server, &named("a.example")).await);
    assert!(!works(&client, &server, &named("b.example")).await);
    let careless = ClientOptions { insecure: true, ..ClientOptions::default() };
    assert!(works(&careless, &server, &named("b.example")).await);
}

#[tokio::test]
async fn a_certificate_trusted_by_itself_has_its_time() {
    for is_ca in [IsCa::NoCa, IsCa::Ca(BasicConstraints::Unconstrained)] {
        for (years, fits) in [(2000..2001, false), (2000..4000, true), (3999..4000, false)] {
            let key = KeyPair::generate().unwrap();
            let mut params = CertificateParams::new(vec!["a.example".to_owned()]).unwrap();
            params.is_ca = is_ca;
            (params.not_before, params.not_after) = (date_time_ymd(years.start, 1, 1), date_time_ymd(years.end, 1, 1));
            let chain = Pem::Inline(params.self_signed(&key).unwrap().pem());
            let client =
                ClientOptions { roots: vec![chain.clone()], no_system_roots: true, ..ClientOptions::default() };
            let server = serving(vec![(chain, Pem::Inline(key.serialize_pem()))]);
            assert_eq!(works(&client, &server, &named("a.example")).await, fits, "{years:?}, {is_ca:?}");
        }
    }
}

#[tokio::test]
async fn protocols_and_names_are_agreed_on() {
    let authority = Authority::new();
    let offering =
        |names: &[&str]| Common { alpn: names.iter().map(|name| (*name).to_owned()).collect(), ..Common::default() };
    let client = ClientOptions { common: offering(&["h2", "http/1.1"]), ..trusting(&authority) };
    let mut server = serving(vec![authority.issue("a.example"), authority.issue("b.example")]);
    server.common = offering(&["http/1.1"]);
    let (near, far) = meet(&client, &server, &named("b.example")).await.unwrap();
    assert_eq!(near.alpn(), Some(&b"http/1.1"[..]));
    assert_eq!((far.server_name(), near.server_name()), (Some("b.example"), None));
}

#[tokio::test]
async fn versions_must_meet() {
    let authority = Authority::new();
    let mut server = serving(vec![authority.issue("a.example")]);
    server.common.min = TlsVersion::V13;
    let mut client = trusting(&authority);
    client.common.max = TlsVersion::V12;
    assert!(!works(&client, &server, &named("a.example")).await);
    server.common.min = TlsVersion::Any;
    assert!(works(&client, &server, &named("a.example")).await);
}

#[tokio::test(start_paused = true)]
async fn new_files_serve_new_connections_in_time() {
    let authority = Authority::new();
    let place = tempfile::tempdir().unwrap();
    let (chain_file, key_file) = (place.path().join("chain.pem"), place.path().join("key.pem"));
    let store = |name: &str| match authority.issue(name) {
        (Pem::Inline(chain), Pem::Inline(key)) => {
            std::fs::write(&chain_file, chain).unwrap();
            std::fs::write(&key_file, key).unwrap();
        }
        _ => unreachable!("issued inline"),
    };
    store("a.example");
    let (crypto, hour) = (Crypto::default(), Duration::from_secs(3600));
    let pair = (Pem::File(chain_file.clone()), Pem::File(key_file.clone()));
    let options = ServerOptions { refresh: Some(hour), ..serving(vec![pair]) };
    let server = Server::new(&crypto, &options).unwrap();
    let client = Client::new(&crypto, &trusting(&authority)).unwrap();
    let serves = async |name: &str| {
        let (near, far) = duplex(64 * 1024);
        let host = named(name);
        let (near, _) = tokio::join!(client.connect(near, &host), server.accept(far));
        near.is_ok()
    };
    store("b.example");
    assert!(serves("a.example").await && !serves("b.example").await);
    tokio::time::advance(hour).await;
    assert!(!serves("a.example").await && serves("b.example").await);
    std::fs::write(&chain_file, "not a certificate").unwrap();
    tokio::time::advance(hour).await;
    assert!(serves("b.example").await);
}

#[tokio::test]
async fn an_end_without_a_word_is_an_end() {
    let authority = Authority::new();
    let server = serving(vec![authority.issue("a.example")]);
    let (near, mut far) = meet(&trusting(&authority), &server, &named("a.example")).await.unwrap();
    drop(near);
    assert_eq!(far.read(&mut [0; 8]).await.unwrap(), 0);
}

#[test]
fn bad_settings_are_named() {
    let crypto = Crypto::default();
    let client = |options: &ClientOptions| Client::new(&crypto, options).unwrap_err().to_string();
    let none = ClientOptions { no_system_roots: true, ..ClientOptions::default() };
    assert!(client(&none).contains("roots"));
    let missing = ClientOptions { roots: vec![Pem::File("/nonexistent/ca.pem".into())], ..ClientOptions::default() };
    assert!(client(&missing).contains("/nonexistent/ca.pem"));
    let name = ClientOptions { server_name: Some("a b".into()), ..ClientOptions::default() };
    assert!(client(&name).contains("`a b`"));
    let (chain, _) = Authority::alone("a.example");
    let (_, key) = Authority::alone("a.example");
    assert!(Server::new(&crypto, &serving(vec![(chain, key)])).is_err());
    let empty = (Pem::Inline("no sections".into()), Pem::File("/nonexistent/key.pem".into()));
    assert!(Server::new(&crypto, &serving(vec![empty])).unwrap_err().to_string().contains("certificate"));
    assert!(matches!(Server::new(&crypto, &serving(Vec::new())), Err(TlsError::NoCertificate)));
}
