//! XHTTP over HTTP/3 between dialer and acceptor, by QUIC over loopback.
#![allow(clippy::unwrap_used)]

use std::net::UdpSocket;
use std::path::Path;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::tests::{at, house};
use super::*;
use crate::model::carrier::{Xhttp, XhttpMode};
use crate::model::tls::{CertUsage, Certificate, Tls};
use crate::net::Hours;
use crate::net::udp::Direct;
use crate::shape::{Seconds, Secret, TextList};
use crate::tls::testing::Authority;
use crate::tls::{ClientOptions, Inner, Pem};
use crate::transport::{Acceptor, Arrivals};

const PATIENCE: Duration = Duration::from_secs(20);

/// A server on loopback, and what arrives there.
struct Served {
    port: u16,
    hours: Hours,
    arrivals: mpsc::Receiver<BoxStream>,
}

fn text(pem: &Pem) -> Vec<String> {
    let Pem::Inline(text) = pem else { panic!("the tests' certificates are inline") };
    text.lines().map(str::to_owned).collect()
}

fn stream(set: Xhttp, certificate: Certificate) -> model::Stream {
    let tls = Tls {
        server_name: "a.example".to_owned(),
        alpn: TextList(vec!["h3".to_owned()]),
        disable_system_root: true,
        certificates: vec![certificate],
        ..Tls::default()
    };
    let security = model::Security::Tls(Box::new(tls));
    model::Stream { carrier: model::Carrier::Xhttp(set), security, ..model::Stream::default() }
}

fn client(set: Xhttp, authority: &Authority) -> model::Stream {
    let root = Certificate { certificate: text(&authority.root()), usage: CertUsage::Verify, ..Certificate::default() };
    stream(set, root)
}

fn dialer(stream: &model::Stream) -> Dialer {
    Dialer::new(stream, Inner::Opaque, &tls::Crypto::default()).unwrap()
}

fn own(authority: &Authority) -> Certificate {
    let (chain, key) = authority.issue("a.example");
    Certificate { certificate: text(&chain), key: Secret::new(text(&key)), ..Certificate::default() }
}

fn way(mode: XhttpMode) -> Xhttp {
    Xhttp { mode, path: "/way".into(), ..Xhttp::default() }
}

impl Served {
    fn start(certificate: Certificate) -> Self {
        Self::at(0, &stream(way(XhttpMode::Auto), certificate))
    }

    fn at(port: u16, stream: &model::Stream) -> Self {
        let acceptor = Arc::new(Acceptor::new(stream, Inner::Opaque, &tls::Crypto::default()).unwrap());
        let socket = udp::bare(([127, 0, 0, 1], port).into(), &SocketOptions::default()).unwrap();
        let port = socket.local_addr().unwrap().port();
        let hours = Hours { closing: CancellationToken::new(), over: CancellationToken::new() };
        let (sender, arrivals) = mpsc::channel(64);
        let (closing, over) = (hours.closing.clone(), hours.over.clone());
        tokio::spawn(async move {
            let serving = Arc::clone(&acceptor);
            let take = move |caller| {
                let (acceptor, sender) = (Arc::clone(&serving), sender.clone());
                tokio::spawn(async move {
                    let Ok(Arrivals::Many(mut many)) = acceptor.accept_quic(caller, PATIENCE).await else { return };
                    while let Some(arrival) = many.recv().await {
                        let _ = sender.send(arrival.io).await;
                    }
                });
            };
            quic::listen(vec![socket], acceptor.quic().unwrap(), || None, &Hours { closing, over }, take)
                .await
                .unwrap();
        });
        Self { port, hours, arrivals }
    }

    fn target(&self) -> Target {
        at("127.0.0.1", self.port)
    }

    async fn pair(&mut self, dialer: &Dialer) -> (BoxStream, BoxStream) {
        let near = dialer.connect(&house(), None, &self.target(), Blame::Server).await.unwrap();
        (near, self.arrived().await)
    }

    async fn arrived(&mut self) -> BoxStream {
        timeout(PATIENCE, self.arrivals.recv()).await.unwrap().unwrap()
    }
}

/// Bytes of which no piece comes twice soon.
fn bulk() -> Vec<u8> {
    (0..500_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect()
}

async fn passes(from: BoxStream, to: BoxStream) -> (BoxStream, BoxStream) {
    let (mut from, mut to) = (from, to);
    let sent = bulk();
    let mut heard = vec![0; sent.len()];
    let both = async { tokio::try_join!(from.write_all(&sent), to.read_exact(&mut heard)).unwrap() };
    timeout(PATIENCE, both).await.unwrap();
    assert!(heard == sent, "other bytes arrive");
    (from, to)
}

#[tokio::test]
async fn bytes_pass_both_ways_in_every_mode() {
    let authority = Authority::new();
    let mut served = Served::start(own(&authority));
    for mode in [XhttpMode::PacketUp, XhttpMode::StreamUp, XhttpMode::StreamOne] {
        let (near, far) = served.pair(&dialer(&client(way(mode), &authority))).await;
        let (near, far) = passes(near, far).await;
        let (mut far, mut near) = passes(far, near).await;
        far.shutdown().await.unwrap();
        let end = timeout(PATIENCE, near.read(&mut [0; 8])).await.unwrap();
        assert_eq!(end.unwrap(), 0, "{mode:?}");
        drop(near);
        let mut rest = Vec::new();
        let gone = timeout(PATIENCE, far.read_to_end(&mut rest)).await;
        assert!(gone.is_ok(), "a client that goes away is not missed, {mode:?}");
    }
}

#[tokio::test]
async fn what_comes_down_is_asked_of_another_server() {
    let authority = Authority::new();
    let mut served = Served::start(own(&authority));
    let down = client(way(XhttpMode::Auto), &authority);
    let download = model::Download { address: served.target().host, port: served.port, stream: down };
    for mode in [XhttpMode::PacketUp, XhttpMode::StreamUp] {
        let up = model::Stream { download: Some(Box::new(download.clone())), ..client(way(mode), &authority) };
        let (near, far) = served.pair(&dialer(&up)).await;
        let (near, far) = passes(near, far).await;
        passes(far, near).await;
    }
}

/// Datagrams to a server that go another way.
struct Around(Target);

impl Lines for Around {
    fn line(&self) -> BoxFuture<'_, Result<BoxStream, DialError>> {
        Box::pin(async { Err(DialError::us(Stage::Dial, io::ErrorKind::Unsupported)) })
    }

    fn port(&self) -> BoxFuture<'_, Result<Port, DialError>> {
        let packets = Box::new(Direct::new(SocketOptions::default()));
        Box::pin(async { Ok(Port::Detour { packets, to: self.0.clone() }) })
    }
}

#[tokio::test]
async fn packets_of_quic_go_through_another_outbound() {
    let authority = Authority::new();
    let mut served = Served::start(own(&authority));
    let dialer = dialer(&client(way(XhttpMode::StreamUp), &authority));
    let around = Around(served.target());
    let near = dialer.over(&around, None, &at("a.example", 1), Blame::Server).await.unwrap();
    let far = served.arrived().await;
    let (near, far) = passes(near, far).await;
    passes(far, near).await;
}

#[tokio::test]
async fn a_certificate_that_is_renewed_is_served() {
    let write = |folder: &Path, authority: &Authority| {
        let own = own(authority);
        std::fs::write(folder.join("chain.pem"), own.certificate.join("\n")).unwrap();
        std::fs::write(folder.join("key.pem"), own.key.expose().join("\n")).unwrap();
    };
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (Authority::new(), Authority::new());
    write(folder.path(), &old);
    let path = |name| folder.path().join(name).display().to_string();
    let mut served = Served::start(Certificate {
        certificate_file: path("chain.pem"),
        key_file: path("key.pem"),
        ocsp_stapling: Seconds(Duration::from_secs(1)),
        ..Certificate::default()
    });
    let of_old = dialer(&client(way(XhttpMode::StreamOne), &old));
    let of_new = dialer(&client(way(XhttpMode::StreamOne), &new));
    let (near, far) = served.pair(&of_old).await;
    let error = of_new.connect(&house(), None, &served.target(), Blame::Server).await.err().unwrap();
    assert_eq!(error.stage, Stage::Secure);
    write(folder.path(), &new);
    let renewed = async {
        while of_new.connect(&house(), None, &served.target(), Blame::Server).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, renewed).await.expect("the new certificate is served");
    passes(near, far).await;
}

#[tokio::test]
async fn a_server_that_begins_anew_is_dialed_again() {
    let authority = Authority::new();
    let certificate = own(&authority);
    let mut served = Served::start(certificate.clone());
    let dialer = dialer(&client(way(XhttpMode::StreamUp), &authority));
    let (mut near, far) = served.pair(&dialer).await;
    let port = served.port;
    served.hours.over.cancel();
    let ended = timeout(PATIENCE, near.read(&mut [0; 8])).await.expect("a stream ends with its server");
    assert!(!matches!(ended, Ok(1..)));
    drop(far);
    let free = async {
        while UdpSocket::bind(("127.0.0.1", port)).is_err() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, free).await.expect("the old server's socket goes");
    let mut served = Served::at(port, &stream(way(XhttpMode::Auto), certificate));
    let (near, far) = served.pair(&dialer).await;
    passes(near, far).await;
}

#[tokio::test]
async fn strangers_disturb_nobody() {
    let authority = Authority::new();
    let mut served = Served::start(own(&authority));
    let good = dialer(&client(way(XhttpMode::PacketUp), &authority));
    let (near, far) = served.pair(&good).await;
    // Packets of no connection, among them some that look like a first one.
    let noise = UdpSocket::bind("127.0.0.1:0").unwrap();
    for n in 0..200_u8 {
        let mut packet: Vec<u8> = (0..1200_u16).map(|at| at.to_le_bytes()[0].wrapping_mul(n)).collect();
        packet[..6].copy_from_slice(&[0xc0 | n, 0, 0, 0, 1, 8]);
        noise.send_to(&packet[..usize::from(n) * 6], ("127.0.0.1", served.port)).unwrap();
    }
    // Another path.
    let elsewhere = dialer(&client(Xhttp { path: "/none".into(), ..way(XhttpMode::PacketUp) }, &authority));
    let mut refused = elsewhere.connect(&house(), None, &served.target(), Blame::Server).await.unwrap();
    let error = timeout(PATIENCE, refused.read(&mut [0; 8])).await.unwrap().unwrap_err();
    assert!(error.to_string().contains("404"), "{error}");
    // A head that says it is a gigabyte long.
    let options = ClientOptions {
        roots: vec![authority.root()],
        no_system_roots: true,
        server_name: Some("a.example".to_owned()),
        common: tls::Common { alpn: vec!["h3".to_owned()], ..tls::Common::default() },
        ..ClientOptions::default()
    };
    let tls = tls::Client::new(&tls::Crypto::default(), &options).unwrap();
    let hostile = quic::Client::new(&tls, &quic::Params::default()).unwrap();
    let to = ([127, 0, 0, 1], served.port).into();
    let port = udp::bare_to(&[to], &SocketOptions::default()).unwrap().0;
    let connection = hostile
        .connect(Port::Own { socket: port, to, options: Default::default() }, &served.target().host)
        .await
        .unwrap();
    let (mut sending, mut receiving) = connection.open_bi().await.unwrap();
    let begun = sending.write_all(&[0x01, 0xbf, 0xff, 0xff, 0xff]).await;
    let filled = async {
        begun?;
        loop {
            sending.write_all(&[0; 4096]).await?;
        }
    };
    let ended: Result<(), quinn::WriteError> = timeout(PATIENCE, filled).await.expect("it is taken for ever");
    assert!(ended.is_err());
    let answer = timeout(PATIENCE, receiving.read_to_end(1024)).await.unwrap();
    assert!(answer.is_ok_and(|answer| answer.is_empty()) || connection.close_reason().is_some());
    let (near, far) = passes(near, far).await;
    passes(far, near).await;
}
