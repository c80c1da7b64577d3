//! Shapes against browsers, and shaped clients against servers.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;

use rand::SeedableRng as _;
use rand::rngs::StdRng;
use rustls::client::WebPkiServerVerifier;
use rustls::crypto::{CryptoProvider, SupportedKxGroup, aws_lc_rs};
use rustls::pki_types::ServerName;
use rustls::server::NoServerSessionStorage;
use rustls::version::{TLS12, TLS13};
use rustls::{NamedGroup, ServerConfig, SupportedProtocolVersion};
use serde_json::Value as Json;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio_rustls::TlsAcceptor;

use super::draft::Draft;
use super::hello::Hello;
use super::ja4::{is_grease, ja4};
use super::shape::Shape;
use super::shaped::Shaped;
use crate::addr::Host;
use crate::model::browser::Browser;
use crate::tls::client::Client;
use crate::tls::crypto::Crypto;
use crate::tls::material::{certificates, certified};
use crate::tls::options::{ClientOptions, Common};
use crate::tls::stream::TlsStream;
use crate::tls::testing::Authority;

const ALL: [Browser; 5] =
    [Browser::Chrome, Browser::Firefox, Browser::Safari, Browser::Random, Browser::Randomized { alpn: true }];

fn captured() -> Vec<Json> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/vectors/hello.json");
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

fn hex(text: &str) -> Vec<u8> {
    crate::model::keys::hex(text).unwrap()
}

fn browser(named: &Json) -> Browser {
    if named["browser"] == "chrome" { Browser::Chrome } else { Browser::Firefox }
}

fn drafted(browser: Browser, seed: u64, alpn: &[&str]) -> Draft {
    let mut rng = StdRng::seed_from_u64(seed);
    let shape = Shape::of(browser, &mut rng);
    let alpn: Vec<_> = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    Draft::new(&shape, &ServerName::try_from("www.example.com").unwrap(), &alpn, &mut rng).unwrap()
}

#[test]
fn ours_has_the_ja4_of_the_browser() {
    for sample in captured() {
        let seen = hex(sample["hello"].as_str().unwrap());
        assert_eq!(ja4(&seen), sample["ja4"].as_str().unwrap());
        assert_eq!(ja4(drafted(browser(&sample), 1, &["h2", "http/1.1"]).hello()), ja4(&seen));
    }
    let safari = drafted(Browser::Safari, 1, &["h2", "http/1.1"]);
    assert_eq!(ja4(safari.hello()), "t13d2014h2_a09f3c656075_e42f34c56612");
}

/// Everything but what is drawn: reserved numbers, keys, and what stands in for an encrypted hello.
fn settled(message: &[u8]) -> Vec<(u16, Vec<u16>)> {
    const KEY_SHARE: u16 = 51;
    const ECH: u16 = 0xfe0d;
    let plain = |number: u16| if is_grease(number) { 0x0a0a } else { number };
    let pairs = |content: &[u8]| {
        let odd = content.len() % 2;
        let odd_one = content[..odd].iter().map(|byte| u16::from(*byte));
        let even = content[odd..].chunks(2).map(|pair| plain(u16::from_be_bytes([pair[0], pair[1]])));
        odd_one.chain(even).collect::<Vec<_>>()
    };
    let hello = Hello::read(message).unwrap();
    let mut all = vec![(0xffff, pairs(hello.suites))];
    for (kind, content) in hello.extensions {
        let told = match kind {
            KEY_SHARE => {
                let (mut rest, mut groups) = (&content[2..], Vec::new());
                while let Some((head, behind)) = rest.split_first_chunk::<4>() {
                    let len = u16::from_be_bytes([head[2], head[3]]);
                    groups.extend([plain(u16::from_be_bytes([head[0], head[1]])), len]);
                    rest = &behind[len.into()..];
                }
                groups
            }
            ECH => pairs(&content[..5]).into_iter().chain(pairs(&content[6..8])).collect(),
            _ => pairs(content),
        };
        all.push((plain(kind), told));
    }
    all
}

#[test]
fn ours_says_the_same_in_the_same_order() {
    for sample in captured() {
        let seen = settled(&hex(sample["hello"].as_str().unwrap()));
        let ours = settled(drafted(browser(&sample), 1, &["h2", "http/1.1"]).hello());
        if browser(&sample) == Browser::Firefox {
            assert_eq!(ours, seen);
        } else {
            // What this browser shuffles lies between two reserved numbers.
            assert_eq!((&ours[..2], ours.last()), (&seen[..2], seen.last()));
            assert_eq!(BTreeSet::from_iter(&ours), BTreeSet::from_iter(&seen));
        }
    }
}

#[test]
fn chromes_extensions_change_places_and_lengths_as_chromes_do() {
    let orders: Vec<Vec<u16>> = (0..8)
        .map(|seed| settled(drafted(Browser::Chrome, seed, &["h2"]).hello()).iter().map(|e| e.0).collect())
        .collect();
    assert!(orders.iter().collect::<BTreeSet<_>>().len() > 4);
    let firefox: BTreeSet<Vec<u16>> = (0..8)
        .map(|seed| settled(drafted(Browser::Firefox, seed, &["h2"]).hello()).iter().map(|e| e.0).collect())
        .collect();
    assert_eq!(firefox.len(), 1);
}

#[test]
fn what_only_http2_has_goes_with_it() {
    const ALPS: u16 = 17613;
    let has = |alpn: &[&str]| Hello::read(drafted(Browser::Chrome, 1, alpn).hello()).unwrap().extension(ALPS).is_some();
    assert!(has(&["h2", "http/1.1"]) && !has(&["http/1.1"]));
    assert!(ja4(drafted(Browser::Randomized { alpn: false }, 1, &["h2"]).hello()).contains("00_"));
}

#[test]
fn what_a_server_wrongly_took_up_is_left_out_from_then_on() {
    const SCT: u16 = 18;
    let crypto = Crypto::default();
    let verifier = WebPkiServerVerifier::builder_with_provider(crypto.system_roots(), Arc::clone(crypto.provider()));
    let verifier = verifier.build().unwrap();
    let shaped = Shaped::new(Browser::Firefox, &["h2".into()], true, |builder| {
        Ok(builder.with_webpki_verifier(Arc::clone(&verifier)).with_no_client_auth())
    });
    let shaped = shaped.unwrap();
    let name = ServerName::try_from("www.example.com").unwrap();
    let daring = || Hello::read(shaped.draft(&name).unwrap().hello()).unwrap().extension(SCT).is_some();
    let failed = |error: rustls::Error| shaped.learn(&io::Error::new(io::ErrorKind::InvalidData, error));
    failed(rustls::Error::DecryptError);
    shaped.learn(&io::ErrorKind::UnexpectedEof.into());
    assert!(daring());
    failed(rustls::PeerMisbehaved::UnsolicitedEncryptedExtension.into());
    assert!(!daring());
}

/// A server of rustls' with those versions and groups.
struct Server(TlsAcceptor, ClientOptions);

impl Server {
    fn new(
        browser: Browser,
        versions: &[&'static SupportedProtocolVersion],
        groups: Vec<&'static dyn SupportedKxGroup>,
    ) -> Self {
        let authority = Authority::new();
        let (chain, key) = authority.issue("127.0.0.1");
        let provider = Arc::new(CryptoProvider { kx_groups: groups, ..aws_lc_rs::default_provider() });
        let own = certified(&chain, &key, &provider).unwrap();
        let chain = certificates(&chain).unwrap();
        let resolver = rustls::sign::SingleCertAndKey::from(rustls::sign::CertifiedKey { cert: chain, ..own });
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .unwrap()
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(resolver));
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.alpn_protocols = vec![b"h2".to_vec()];
        let common = Common { alpn: vec!["h2".into(), "http/1.1".into()], can_end: true, ..Common::default() };
        let roots = vec![authority.root()];
        let options = ClientOptions { common, browser, roots, no_system_roots: true, ..ClientOptions::default() };
        Self(TlsAcceptor::from(Arc::new(config)), options)
    }

    /// Shakes hands, exchanges a word, and tells what was agreed on.
    async fn meet(&self, can_end: bool) -> io::Result<(Option<NamedGroup>, TlsStream<tokio::io::DuplexStream>)> {
        let mut options = self.1.clone();
        options.common.can_end = can_end;
        let client = Client::new(&Crypto::default(), &options).unwrap();
        let (near, far) = duplex(64 * 1024);
        let host = Host::Ip(Ipv4Addr::LOCALHOST.into());
        let (near, far) = tokio::join!(client.connect(near, &host), self.0.accept(far));
        let (mut near, mut far) = (near?, far?);
        near.write_all(b"ping").await?;
        near.flush().await?;
        let mut word = [0; 4];
        far.read_exact(&mut word).await?;
        far.write_all(&word).await?;
        far.flush().await?;
        near.read_exact(&mut word).await?;
        assert_eq!(&word, b"ping");
        let group = far.get_ref().1.negotiated_key_exchange_group().map(|group| group.name());
        Ok((group, near))
    }
}

fn all_groups() -> Vec<&'static dyn SupportedKxGroup> {
    aws_lc_rs::default_provider().kx_groups
}

#[tokio::test]
async fn every_shape_shakes_hands() {
    for browser in ALL {
        for can_end in [false, true] {
            let server = Server::new(browser, &[&TLS13], all_groups());
            let (_, stream) = server.meet(can_end).await.unwrap();
            assert!(stream.is_tls13() && stream.alpn() == Some(b"h2"));
        }
        let (_, stream) = Server::new(browser, &[&TLS12], all_groups()).meet(false).await.unwrap();
        assert!(!stream.is_tls13() && stream.alpn() == Some(b"h2"));
    }
}

#[tokio::test]
async fn every_offered_share_can_be_taken_and_another_asked_for() {
    use aws_lc_rs::kx_group::{SECP256R1, SECP384R1, X25519, X25519MLKEM768};
    for browser in [Browser::Chrome, Browser::Firefox, Browser::Safari] {
        for group in [X25519MLKEM768, X25519, SECP256R1, SECP384R1] {
            if browser == Browser::Safari && group.name() == NamedGroup::X25519MLKEM768 {
                continue;
            }
            let server = Server::new(browser, &[&TLS13], vec![group]);
            assert_eq!(server.meet(true).await.unwrap().0, Some(group.name()), "{browser:?}");
        }
    }
}

#[tokio::test]
async fn vision_is_not_spoken_over_tls12() {
    let told = Server::new(Browser::Chrome, &[&TLS12], all_groups()).meet(true).await.unwrap_err();
    assert!(told.to_string().contains("Vision needs TLS 1.3"));
}

#[tokio::test]
async fn a_compressed_certificate_is_read() {
    for browser in [Browser::Chrome, Browser::Firefox] {
        let mut server = Server::new(browser, &[&TLS13], all_groups());
        let mut config = ServerConfig::clone(server.0.config());
        config.cert_compressors = vec![&super::brotli::tests::Stored];
        server.0 = TlsAcceptor::from(Arc::new(config));
        assert!(server.meet(false).await.is_ok());
    }
}

#[tokio::test]
async fn certificates_are_judged_as_ever() {
    let mut server = Server::new(Browser::Chrome, &[&TLS13], all_groups());
    server.1.roots = vec![Authority::new().root()];
    assert!(server.meet(false).await.is_err());
}
