//! The server over loopback, with a site of rustls behind it and a client that looks at everything.
#![allow(clippy::unwrap_used)]

mod visitor;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_lc_rs::agreement::{PrivateKey, X25519};
use bytes::BytesMut;
use rustls::ServerConfig;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use zeroize::Zeroizing;

use self::visitor::{Offer, Shaken, Visitor};
use super::super::super::material::certified;
use super::super::super::testing::Authority;
use super::super::super::tls13::{APPLICATION_DATA, HANDSHAKE, HEADER, TAG};
use super::super::token::Token;
use super::class::Class;
use super::site::{Site, SitePlace};
use super::*;
use crate::flow::Half;
use crate::wire::testing::feed;
use crate::wire::{Open, Opened, Seal};

const LIMIT: Duration = Duration::from_secs(20);
const SITE: &str = "site.example";
const GREETING: &[u8] = b"this is the site";

/// A site that greets whoever gets through its handshake.
async fn site() -> Site {
    site_that(true).await
}

/// The same, or one that is never done with greeting.
async fn site_that(ends: bool) -> Site {
    let crypto = Crypto::default();
    let (chain, key) = Authority::alone(SITE);
    let own = certified(&chain, &key, crypto.provider()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::clone(crypto.provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(rustls::sign::SingleCertAndKey::from(own)));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((io, _)) = listener.accept().await {
            let acceptor = TlsAcceptor::from(Arc::new(config.clone()));
            tokio::spawn(async move {
                let mut stream = acceptor.accept(io).await?;
                stream.write_all(GREETING).await?;
                if !ends {
                    loop {
                        tokio::time::sleep(Duration::from_millis(50)).await;
                        stream.write_all(b".").await?;
                        stream.flush().await?;
                    }
                }
                stream.shutdown().await
            });
        }
    });
    Site { place: SitePlace::Tcp(at.into()), header: None }
}

fn options(site: Site) -> RealityServerOptions {
    RealityServerOptions {
        site,
        server_names: vec![SITE.into()],
        private_key: Zeroizing::new([0x11; 32]),
        short_ids: vec![[1; 8], [2; 8]],
        oldest: [26, 3, 27],
        newest: None,
        max_diff: Duration::from_secs(60),
        mldsa65_seed: None,
        upload: Rate::default(),
        download: Rate::default(),
        key_log: None,
        show: false,
    }
}

fn now() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap()
}

fn offer() -> Offer<'static> {
    let own = PrivateKey::from_private_key(&X25519, &[0x11; 32]).unwrap();
    let server_key = own.compute_public_key().unwrap().as_ref().try_into().unwrap();
    let token = Token { version: [26, 7, 28], time: now().as_secs() as u32, short_id: [2; 8] };
    Offer { server_key, name: SITE, token, hybrid: false, version: 0x0304 }
}

/// Dials a server that echoes what it is told by those whom it lets in.
async fn dial(server: &RealityServer) -> TcpStream {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let io = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (visit, _) = listener.accept().await.unwrap();
    let server = server.clone();
    tokio::spawn(async move {
        let Ok((stream, name)) = server.accept(visit, LIMIT).await else { return };
        assert_eq!(&*name, SITE);
        let (mut read, mut write) = tokio::io::split(stream);
        let _ = tokio::io::copy(&mut read, &mut write).await;
        let _ = write.shutdown().await;
    });
    io
}

/// Says the hello and reads until the handshake stands.
async fn shake(io: &mut TcpStream, visitor: &Visitor) -> Shaken {
    io.write_all(&visitor.record()).await.unwrap();
    let mut said = BytesMut::new();
    loop {
        if let Some(shaken) = visitor.shake(&said) {
            return shaken;
        }
        assert_ne!(io.read_buf(&mut said).await.unwrap(), 0, "closed after {} bytes", said.len());
    }
}

/// The next payload, or nothing at the end.
async fn payload(io: &mut TcpStream, held: &mut BytesMut, opener: &mut Opener) -> Vec<u8> {
    loop {
        match opener.open(held).unwrap() {
            Opened::Plain { used, at } => {
                let plain = held[at].to_vec();
                let _ = held.split_to(used);
                if !plain.is_empty() {
                    return plain;
                }
            }
            Opened::End { .. } => return vec![],
            _ => assert_ne!(io.read_buf(held).await.unwrap(), 0),
        }
    }
}

#[tokio::test]
async fn whoever_knows_the_key_is_served() {
    for hybrid in [false, true] {
        let server = RealityServer::new(&Crypto::default(), &options(site().await)).unwrap();
        let visitor = Visitor::new(&Offer { hybrid, ..offer() });
        let mut io = dial(&server).await;
        let shaken = shake(&mut io, &visitor).await;
        talk(io, shaken).await;
    }
}

async fn talk(mut io: TcpStream, shaken: Shaken) {
    let Shaken { finished, mut sealer, mut opener, rest, .. } = shaken;
    let mut out = finished;
    let long = vec![7; 40_000];
    let mut taken = 0;
    while taken < long.len() {
        taken += sealer.seal(&long[taken..], &mut out);
    }
    io.write_all(&out).await.unwrap();
    let mut held = BytesMut::from(&rest[..]);
    let mut echoed = vec![];
    while echoed.len() < long.len() {
        echoed.extend(payload(&mut io, &mut held, &mut opener).await);
    }
    assert_eq!(echoed, long);
    let mut out = BytesMut::new();
    sealer.finish(&mut out);
    io.write_all(&out).await.unwrap();
    assert!(payload(&mut io, &mut held, &mut opener).await.is_empty(), "its end is answered with an end");
}

/// The second signature makes a certificate longer than many a site's.
#[test]
fn records_have_the_sites_lengths_or_the_site_is_seen() {
    let visitor = Visitor::new(&offer());
    let hello = ClientHello::read(&visitor.hello).unwrap();
    let flight = |seed: Option<&[u8]>, lengths: &[usize]| {
        let admitted = Rules::new(&options(nowhere()), Arc::default()).unwrap().judge(&hello, now()).unwrap();
        let site = Answer::read(&site_says(lengths)).unwrap();
        let identity = Identity::new(seed).unwrap();
        reply(&hello, &admitted, site, &identity, &[5; 32], 32, |_| {}).map(|(bytes, _)| bytes)
    };
    let long = [40, 4500, 300, 74, 255, 239];
    for seed in [None, Some(&[3; 32][..])] {
        let said = flight(seed, &long).unwrap();
        let shaken = visitor.shake(&said).unwrap();
        assert_eq!(shaken.records[2..], long[..4]);
        let (mut opener, mut rest) = (shaken.opener, BytesMut::from(&shaken.rest[..]));
        for len in &long[4..] {
            assert_eq!(opener.open(&mut rest), Ok(Opened::Plain { used: *len, at: 0..0 }));
            let _ = rest.split_to(*len);
        }
        assert!(rest.is_empty());
    }
    let said = flight(None, &[2000]).unwrap();
    assert_eq!(visitor.shake(&said).unwrap().records[2..], [2000]);
    assert_eq!(flight(Some(&[3; 32]), &[2000]).err(), Some(Refusal::ShortSite));
    assert_eq!(flight(None, &[40, 200, 300, 58]).err(), Some(Refusal::ShortSite));
}

/// However its records are cut up, and with useless ones in front; too many of those end it.
#[test]
fn a_finished_may_come_in_pieces() {
    let visitor = Visitor::new(&offer());
    let hello = ClientHello::read(&visitor.hello).unwrap();
    let useless = [20, 3, 3, 0, 1, 1];
    let outcome = |count: usize, piece: usize| {
        let admitted = Rules::new(&options(nowhere()), Arc::default()).unwrap().judge(&hello, now()).unwrap();
        let (site, identity) = (Answer::read(&site_says(&[2000])).unwrap(), Identity::new(None).unwrap());
        let (said, waiting) = reply(&hello, &admitted, site, &identity, &[5; 32], 3, |_| {}).unwrap();
        let finished = visitor.shake(&said).unwrap().finished;
        let input = [&useless.repeat(count)[..], &finished, b"and what follows"].concat();
        let outcome = feed(waiting, input.chunks(piece));
        (outcome.result.unwrap().err(), outcome.used, input.len() - 16, outcome.reply.len())
    };
    for piece in [1, 2, 3, 5, 7, 1000] {
        let (error, used, wanted, reply) = outcome(3, piece);
        assert_eq!((error, used, reply), (None, wanted, 0), "pieces of {piece}");
        let (error, _, _, reply) = outcome(4, piece);
        assert_eq!((error.is_some(), reply), (true, HEADER + 2 + 1 + TAG), "pieces of {piece}");
    }
}

fn nowhere() -> Site {
    Site { place: SitePlace::Path("/nowhere".into()), header: None }
}

/// A site's first answer, with records of these lengths behind its hello.
fn site_says(lengths: &[usize]) -> Vec<u8> {
    let share = [&[0, 51, 0, 36, 0, 29, 0, 32][..], &[1; 32], &[0, 43, 0, 2, 3, 4]].concat();
    let body = [&[3, 3][..], &[7; 32], &[32], &[9; 32], &[0x13, 0x02, 0, 0, share.len() as u8], &share].concat();
    let mut said = vec![HANDSHAKE, 3, 3, 0, body.len() as u8 + 4, 2, 0, 0, body.len() as u8];
    said.extend(body);
    said.extend([20, 3, 3, 0, 1, 1]);
    for len in lengths {
        let [high, low] = u16::try_from(len - HEADER).unwrap().to_be_bytes();
        said.extend([APPLICATION_DATA, 3, 3, high, low]);
        said.extend(vec![0; len - HEADER]);
    }
    said
}

#[test]
fn every_condition_counts() {
    let rules =
        Rules::new(&RealityServerOptions { newest: Some([26, 9, 0]), ..options(nowhere()) }, Arc::default()).unwrap();
    let judge = |offer: &Offer<'_>| {
        let visitor = Visitor::new(offer);
        rules.judge(&ClientHello::read(&visitor.hello).unwrap(), now()).map(|admitted| admitted.name).err()
    };
    let token = |change: fn(&mut Token)| {
        let mut offer = offer();
        change(&mut offer.token);
        offer
    };
    let stranger = PrivateKey::from_private_key(&X25519, &[0x22; 32]).unwrap().compute_public_key().unwrap();
    let cases = [
        (offer(), None),
        (Offer { hybrid: true, ..offer() }, None),
        (Offer { version: 0x0303, ..offer() }, Some(Refusal::OldHello)),
        (Offer { name: "Site.example", ..offer() }, Some(Refusal::Name)),
        (Offer { name: "", ..offer() }, Some(Refusal::Name)),
        (Offer { server_key: stranger.as_ref().try_into().unwrap(), ..offer() }, Some(Refusal::Token)),
        (token(|token| token.version = [26, 3, 26]), Some(Refusal::Version([26, 3, 26]))),
        (token(|token| token.version = [26, 3, 27]), None),
        (token(|token| token.version = [26, 9, 1]), Some(Refusal::Version([26, 9, 1]))),
        (token(|token| token.time -= 62), Some(Refusal::Time)),
        (token(|token| token.time += 62), Some(Refusal::Time)),
        (token(|token| token.short_id = [3; 8]), Some(Refusal::ShortId)),
    ];
    for (n, (offer, wanted)) in cases.iter().enumerate() {
        assert_eq!(judge(offer), *wanted, "case {n}");
    }
    let careless =
        Rules::new(&RealityServerOptions { max_diff: Duration::ZERO, ..options(nowhere()) }, Arc::default()).unwrap();
    let visitor = Visitor::new(&token(|token| token.time = 0));
    assert!(careless.judge(&ClientHello::read(&visitor.hello).unwrap(), now()).is_ok());
}

/// No change of a good hello is let in, and the hello itself only once.
#[test]
fn a_hello_is_good_as_it_is_and_once() {
    let rules = Rules::new(&options(nowhere()), Arc::default()).unwrap();
    let visitor = Visitor::new(&offer());
    let judge = |hello: &[u8]| ClientHello::read(hello).ok().map(|hello| rules.judge(&hello, now()).err());
    for at in 0..visitor.hello.len() {
        let mut other = visitor.hello.clone();
        other[at] ^= 0x40;
        assert_ne!(judge(&other), Some(None), "byte {at}");
        assert!(judge(&visitor.hello[..at]).is_none(), "cut at {at}");
    }
    assert_eq!(judge(&visitor.hello), Some(None));
    assert_eq!(judge(&visitor.hello), Some(Some(Refusal::Replay)));
}

/// A site that does not even speak TLS shows best that nothing is touched.
async fn echo() -> Site {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut io, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut read, mut write) = io.split();
                tokio::io::copy(&mut read, &mut write).await?;
                write.write_all(b", and the end").await
            });
        }
    });
    Site { place: SitePlace::Tcp(at.into()), header: None }
}

#[tokio::test]
async fn strangers_speak_with_the_site() {
    let server = RealityServer::new(&Crypto::default(), &options(echo().await)).unwrap();
    let known = Visitor::new(&offer()).record();
    let other = Visitor::new(&Offer { name: "other.example", ..offer() }).record();
    // The last is let in, but the site's answer is none.
    for said in [b"GET / HTTP/1.0\r\n\r\n".to_vec(), other[..50].to_vec(), other, known.clone(), known] {
        let mut io = dial(&server).await;
        for piece in said.chunks(30) {
            io.write_all(piece).await.unwrap();
        }
        io.shutdown().await.unwrap();
        let mut heard = vec![];
        io.read_to_end(&mut heard).await.unwrap();
        assert_eq!(heard, [&said[..], b", and the end"].concat());
    }
}

/// A new configuration, changed or not, makes a new server; what the old one let in stays used.
#[tokio::test]
async fn a_hello_stays_used_when_the_server_is_made_anew() {
    let crypto = Crypto::default();
    let (options, hello) = (options(echo().await), Visitor::new(&offer()));
    let judge = |crypto: &Crypto| {
        let server = RealityServer::new(crypto, &options).unwrap();
        server.0.rules.judge(&ClientHello::read(&hello.hello).unwrap(), now()).err()
    };
    assert_eq!(judge(&crypto), None);
    assert_eq!(judge(&crypto.renewed()), Some(Refusal::Replay));
    assert_eq!(judge(&crypto.renewed().renewed()), Some(Refusal::Replay));
    assert_eq!(judge(&Crypto::default()), None, "it is the memory that refuses it");
}

#[tokio::test]
async fn a_wrong_finished_ends_with_an_alert() {
    let server = RealityServer::new(&Crypto::default(), &options(site().await)).unwrap();
    let mut io = dial(&server).await;
    let mut shaken = shake(&mut io, &Visitor::new(&offer())).await;
    let last = shaken.finished.len() - 1;
    shaken.finished[last] ^= 1;
    io.write_all(&shaken.finished).await.unwrap();
    let mut held = BytesMut::from(&shaken.rest[..]);
    io.read_buf(&mut held).await.unwrap();
    assert_eq!(shaken.opener.open(&mut held), Err(WireError::Denied { what: "by a TLS alert" }));
    assert_eq!(io.read_buf(&mut held).await.unwrap(), 0);
}

/// Two streams of records over a socket, without the handshake in front.
async fn pair() -> (RealityStream<TcpStream>, TcpStream, Shaken) {
    let server = RealityServer::new(&Crypto::default(), &options(site().await)).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut io = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (visit, _) = listener.accept().await.unwrap();
    let accepting = tokio::spawn(async move { server.accept(visit, LIMIT).await });
    let shaken = shake(&mut io, &Visitor::new(&offer())).await;
    io.write_all(&shaken.finished).await.unwrap();
    (accepting.await.unwrap().unwrap().0, io, shaken)
}

#[tokio::test]
async fn keys_may_be_renewed() {
    let (mut stream, mut io, mut shaken) = pair().await;
    let mut out = BytesMut::new();
    shaken.sealer.ask_to_renew(&mut out);
    shaken.sealer.seal(b"with new keys", &mut out);
    io.write_all(&out).await.unwrap();
    let mut heard = [0; 13];
    stream.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"with new keys");
    stream.write_all(b"on both sides").await.unwrap();
    let mut held = BytesMut::from(&shaken.rest[..]);
    // Passes over the site's tail and our KeyUpdate; what stands behind that opens with the new key alone.
    assert_eq!(payload(&mut io, &mut held, &mut shaken.opener).await, b"on both sides");
    stream.write_all(b"once").await.unwrap();
    io.read_buf(&mut held).await.unwrap();
    assert_eq!(held.len(), HEADER + 4 + 1 + TAG, "nothing is renewed that was not asked for");
}

#[tokio::test]
async fn either_half_may_go_on_bare() {
    let (mut stream, mut io, mut shaken) = pair().await;
    assert!(stream.raw(Half::Read).is_none() && stream.raw(Half::Write).is_none());
    let mut out = BytesMut::new();
    shaken.sealer.seal(b"sealed, ", &mut out);
    // In one piece, so that the bare bytes are read along with the record.
    io.write_all(&[&out[..], b"then bare"].concat()).await.unwrap();
    stream.read_exact(&mut [0; 3]).await.unwrap();
    assert!(stream.go_plain(Half::Read));
    let mut heard = [0; 14];
    stream.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"led, then bare");
    assert!(stream.raw(Half::Read).is_some() && stream.raw(Half::Write).is_none());

    stream.write_all(b"sealed").await.unwrap();
    stream.flush().await.unwrap();
    assert!(stream.go_plain(Half::Write) && stream.raw(Half::Write).is_some());
    stream.write_all(b"bare").await.unwrap();
    stream.shutdown().await.unwrap();
    let mut held = BytesMut::from(&shaken.rest[..]);
    assert_eq!(payload(&mut io, &mut held, &mut shaken.opener).await, b"sealed");
    io.read_to_end(&mut shaken.rest).await.unwrap();
    assert!([&held[..], &shaken.rest[..]].concat().ends_with(b"bare"), "no alert behind it");
}

/// Until it is known what stands behind the site's handshake, nobody waits for it.
#[tokio::test]
async fn the_first_visitor_does_not_wait_for_what_the_site_may_send() {
    let server = RealityServer::new(&Crypto::default(), &options(site_that(false).await)).unwrap();
    let mut io = dial(&server).await;
    let mut shaken = shake(&mut io, &Visitor::new(&offer())).await;
    io.write_all(&shaken.finished).await.unwrap();
    let mut said = BytesMut::new();
    shaken.sealer.seal(b"echo", &mut said);
    io.write_all(&said).await.unwrap();
    let mut held = BytesMut::from(&shaken.rest[..]);
    let echoed = timeout(LIMIT / 4, payload(&mut io, &mut held, &mut shaken.opener)).await;
    assert_eq!(echoed.unwrap(), b"echo");
}

/// The site's tickets are imitated: rustls sends them, and their lengths are asked for.
#[tokio::test]
async fn what_the_site_sends_behind_the_handshake_is_imitated() {
    let server = RealityServer::new(&Crypto::default(), &options(site().await)).unwrap();
    let inner = &server.0;
    let tail = inner.tails.of(SITE, Class::Http1, &inner.site, &inner.provider).await;
    assert!(!tail.is_empty());
    assert!(inner.tails.of("unknown.example", Class::Bare, &inner.site, &inner.provider).await.is_empty());
    let mut io = dial(&server).await;
    let shaken = shake(&mut io, &Visitor::new(&offer())).await;
    let bare = inner.tails.of(SITE, Class::Bare, &inner.site, &inner.provider).await;
    io.write_all(&shaken.finished).await.unwrap();
    let (mut opener, mut held) = (shaken.opener, BytesMut::from(&shaken.rest[..]));
    for len in bare {
        while held.len() < len {
            assert_ne!(io.read_buf(&mut held).await.unwrap(), 0);
        }
        assert_eq!(opener.open(&mut held), Ok(Opened::Plain { used: len, at: 0..0 }));
        let _ = held.split_to(len);
    }
}
