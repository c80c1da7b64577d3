//! Client against server in every mode and version, and what strangers get.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::sync::mpsc;

use super::*;
use crate::addr::{Host, Target};
use crate::flow::{Blame, BoxFuture, BoxStream, DialError, Stage};
use crate::model::carrier::{Placement, Xhttp, XhttpMode};
use crate::model::reality::{Reality, RealityClient};
use crate::model::stream::{Download, Security, Stream};
use crate::shape::Ranged;
use crate::transport::arrival::{Arrival, Arrivals};
use crate::transport::lines::Lines;
use crate::transport::quic::Port;

const LONG: Duration = Duration::from_secs(60);

/// Connections into a server; what arrives there comes through the channel.
struct Into {
    server: Arc<Server>,
    arrivals: mpsc::Sender<Arrival>,
    opened: Mutex<usize>,
    /// Those that ended.
    ended: Arc<AtomicUsize>,
}

impl Lines for Into {
    fn line(&self) -> BoxFuture<'_, Result<BoxStream, DialError>> {
        Box::pin(async {
            let (near, far) = duplex(64 * 1024);
            *self.opened.lock().unwrap_or_else(PoisonError::into_inner) += 1;
            let (server, arrivals) = (Arc::clone(&self.server), self.arrivals.clone());
            let ended = Arc::clone(&self.ended);
            tokio::spawn(async move {
                let Ok(Arrivals::Many(mut many)) = server.accept(Arrival::from(Box::new(far) as BoxStream), LONG).await
                else {
                    return;
                };
                while let Some(arrival) = many.recv().await {
                    arrivals.send(arrival).await.unwrap();
                }
                ended.fetch_add(1, Ordering::Relaxed);
            });
            Ok(Box::new(near) as BoxStream)
        })
    }

    fn port(&self) -> BoxFuture<'_, Result<Port, DialError>> {
        Box::pin(async { Err(DialError::us(Stage::Dial, std::io::ErrorKind::Unsupported)) })
    }
}

struct House {
    client: Arc<Client>,
    lines: Into,
    arrivals: mpsc::Receiver<Arrival>,
}

/// With TLS settings a client speaks HTTP/2; nothing here encrypts.
fn stream(http2: bool) -> Stream {
    let security = if http2 { Security::Tls(Box::default()) } else { Security::None };
    Stream { security, ..Stream::default() }
}

fn house(http2: bool, set: &Xhttp) -> House {
    let server = Arc::new(Server::new(&stream(http2), set).unwrap());
    house_of(server, http2, set)
}

/// Another way to a server.
fn house_of(server: Arc<Server>, http2: bool, set: &Xhttp) -> House {
    let (sender, arrivals) = mpsc::channel(16);
    let client = Arc::new(Client::new(&stream(http2), set, None).unwrap());
    House { client, lines: Into { server, arrivals: sender, opened: Mutex::new(0), ended: Arc::default() }, arrivals }
}

impl House {
    fn leg<'a>(&'a self, to: &'a Target) -> Leg<'a> {
        Leg { client: &self.client, lines: &self.lines, to }
    }

    async fn pair(&mut self) -> (BoxStream, BoxStream) {
        let to = Target::new(Host::parse("a.example").unwrap(), 443);
        let near = self.leg(&to).open(None, Blame::Server).await.unwrap();
        (near, self.arrivals.recv().await.unwrap().io)
    }

    fn opened(&self) -> usize {
        *self.lines.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const MODES: [XhttpMode; 4] = [XhttpMode::Auto, XhttpMode::PacketUp, XhttpMode::StreamUp, XhttpMode::StreamOne];

async fn hear(io: &mut BoxStream, expected: &[u8]) {
    let mut heard = vec![0; expected.len()];
    io.read_exact(&mut heard).await.unwrap();
    assert!(heard == expected);
}

#[tokio::test]
async fn bytes_pass_in_every_mode_and_version() {
    let bulk: Vec<u8> = (0..300_000_u32).map(|n| n.to_le_bytes()[1]).collect();
    for http2 in [false, true] {
        for mode in MODES {
            let few = Ranged::new(100_000, 100_000);
            let set = Xhttp { mode, sc_max_each_post_bytes: few, path: "/up".into(), ..Xhttp::default() };
            let mut house = house(http2, &set);
            let (mut near, mut far) = house.pair().await;
            near.write_all(b"first").await.unwrap();
            hear(&mut far, b"first").await;
            far.write_all(b"answer").await.unwrap();
            hear(&mut near, b"answer").await;
            let (up, down) = (bulk.clone(), bulk.clone());
            let (mut near, mut far) = (tokio::io::split(near), tokio::io::split(far));
            let sending = tokio::spawn(async move { near.1.write_all(&up).await.map(|()| near) });
            let answering = tokio::spawn(async move { far.1.write_all(&down).await.map(|()| far.1) });
            let mut heard = vec![0; bulk.len()];
            far.0.read_exact(&mut heard).await.unwrap();
            assert!(heard == bulk, "up, {mode:?}, {http2}");
            let mut near = sending.await.unwrap().unwrap();
            near.0.read_exact(&mut heard).await.unwrap();
            assert!(heard == bulk, "down, {mode:?}, {http2}");
            // The end of what comes down is an end, not a fault.
            answering.await.unwrap().unwrap().shutdown().await.unwrap();
            assert_eq!(near.0.read(&mut heard).await.unwrap(), 0, "{mode:?}, {http2}");
        }
    }
}

#[tokio::test]
async fn a_client_that_goes_away_is_missed() {
    for http2 in [false, true] {
        for mode in MODES {
            let mut house = house(http2, &Xhttp { mode, ..Xhttp::default() });
            let (near, mut far) = house.pair().await;
            drop(near);
            let mut rest = Vec::new();
            let gone = far.read_to_end(&mut rest);
            let _ = tokio::time::timeout(LONG, gone).await.unwrap_or_else(|_| panic!("{mode:?}, {http2}"));
        }
    }
}

/// Whoever types slowly sends a packet now and then, over the same connection.
#[tokio::test(start_paused = true)]
async fn a_connection_waits_for_the_next_packet_but_not_for_its_first_request() {
    let set = Xhttp { mode: XhttpMode::PacketUp, ..Xhttp::default() };
    let mut house = house(false, &set);
    let (mut near, mut far) = house.pair().await;
    for _ in 0..3 {
        near.write_all(b"word").await.unwrap();
        tokio::time::timeout(LONG, hear(&mut far, b"word")).await.expect("the word is lost");
        tokio::time::sleep(Duration::from_secs(120)).await;
    }
    let (mut slow, served) = duplex(64 * 1024);
    slow.write_all(b"GET / HTTP/1.1\r\nHost: a.example\r\n").await.unwrap();
    let served = Arrival::from(Box::new(served) as BoxStream);
    let _arrivals = house.lines.server.accept(served, LONG).await.ok().unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(5), slow.read(&mut [0; 8])).await;
    assert_eq!(ended.expect("it is waited for").unwrap(), 0);
}

#[tokio::test]
async fn pieces_stand_where_the_settings_say() {
    for placement in [Placement::Path, Placement::Cookie, Placement::Header, Placement::Query] {
        let set = Xhttp {
            session_id_placement: placement,
            seq_placement: placement,
            x_padding_obfs_mode: true,
            x_padding_placement: Placement::Cookie,
            path: "/a?b=c".into(),
            ..Xhttp::default()
        };
        let mut house = house(true, &set);
        let (mut near, mut far) = house.pair().await;
        near.write_all(b"hello").await.unwrap();
        hear(&mut far, b"hello").await;
    }
}

#[tokio::test]
async fn streams_share_connections_as_xmux_says() {
    let mut set = Xhttp { mode: XhttpMode::StreamOne, ..Xhttp::default() };
    set.xmux.max_connections = Ranged::new(2, 2);
    let mut shared = house(true, &set);
    let mut all = Vec::new();
    for _ in 0..6 {
        all.push(shared.pair().await);
    }
    assert_eq!(shared.opened(), 2);
    set.xmux.max_connections = Ranged::default();
    set.xmux.c_max_reuse_times = Ranged::new(2, 2);
    let mut used_up = house(true, &set);
    for _ in 0..6 {
        all.push(used_up.pair().await);
    }
    assert_eq!(used_up.opened(), 3);
}

#[tokio::test]
async fn a_burst_opens_no_more_connections_than_it_may() {
    let mut set = Xhttp { mode: XhttpMode::StreamOne, ..Xhttp::default() };
    set.xmux.max_connections = Ranged::new(2, 2);
    let house = house(true, &set);
    let to: Target = "a.example:443".parse().unwrap();
    let all = join_all((0..8).map(|_| house.leg(&to).open(None, Blame::Server))).await;
    assert!(all.iter().all(Result::is_ok));
    assert_eq!(house.opened(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_streams_is_closed_in_time() {
    let mut house = house(true, &Xhttp { mode: XhttpMode::StreamOne, ..Xhttp::default() });
    let ended = Arc::clone(&house.lines.ended);
    let (near, far) = house.pair().await;
    tokio::time::sleep(Duration::from_secs(1000)).await;
    assert_eq!(ended.load(Ordering::Relaxed), 0);
    drop((near, far));
    tokio::time::sleep(Duration::from_secs(1000)).await;
    assert_eq!(ended.load(Ordering::Relaxed), 1);
    let _pair = house.pair().await;
    assert_eq!(house.opened(), 2);
}

/// A packet takes all that came while the one before had its time.
#[tokio::test(start_paused = true)]
async fn an_upload_in_packets_is_as_fast_as_they_are_large() {
    const ALL: usize = 8 << 20;
    let mut house = house(true, &Xhttp { mode: XhttpMode::PacketUp, ..Xhttp::default() });
    let (mut near, mut far) = house.pair().await;
    let begun = tokio::time::Instant::now();
    let sent = vec![7; ALL];
    let mut heard = vec![0; ALL];
    tokio::try_join!(near.write_all(&sent), far.read_exact(&mut heard)).unwrap();
    let took = begun.elapsed();
    // Nine packets, thirty milliseconds each.
    assert!(took < Duration::from_millis(400), "{took:?}");
}

#[tokio::test]
async fn what_comes_down_takes_a_way_of_its_own() {
    let (up_to, down_to) = ("a.example:443".parse().unwrap(), "b.example:80".parse().unwrap());
    for (up_http2, down_http2) in [(true, false), (false, true), (true, true), (false, false)] {
        for mode in [XhttpMode::PacketUp, XhttpMode::StreamUp] {
            let set = Xhttp { mode, path: "/way".into(), ..Xhttp::default() };
            let mut up = house(up_http2, &set);
            // A place of its own for the session's id would be missed by the server, so only the looks differ.
            let set = Xhttp { path: "/way?down".into(), mode: XhttpMode::Auto, ..set };
            let mut down = house_of(Arc::clone(&up.lines.server), down_http2, &set);
            let leg = up.leg(&up_to);
            let mut near = leg.open(Some(down.leg(&down_to)), Blame::Server).await.unwrap();
            near.write_all(b"up").await.unwrap();
            let mut far = tokio::select! {
                Some(arrival) = up.arrivals.recv() => arrival.io,
                Some(arrival) = down.arrivals.recv() => arrival.io,
            };
            hear(&mut far, b"up").await;
            far.write_all(b"down").await.unwrap();
            hear(&mut near, b"down").await;
            assert_eq!((up.opened(), down.opened()), (1, 1), "{mode:?}, {up_http2}, {down_http2}");
        }
    }
}

#[tokio::test]
async fn a_way_down_that_fails_ends_the_stream() {
    let (up_to, down_to) = ("a.example:443".parse().unwrap(), "b.example:80".parse().unwrap());
    let up = house(true, &Xhttp { path: "/way".into(), ..Xhttp::default() });
    let down = house_of(Arc::clone(&up.lines.server), false, &Xhttp { path: "/none".into(), ..Xhttp::default() });
    let mut near = up.leg(&up_to).open(Some(down.leg(&down_to)), Blame::Server).await.unwrap();
    let error = near.read(&mut [0; 8]).await.unwrap_err();
    assert!(error.to_string().contains("404"), "{error}");
}

#[test]
fn without_a_mode_the_ways_decide() {
    let reality = || Security::Reality(Box::new(Reality::Client(RealityClient::default())));
    let download = |security| {
        let stream = Stream { security, ..Stream::default() };
        Some(Box::new(Download { address: Host::parse("b.example").unwrap(), port: 443, stream }))
    };
    let mode = |security, download| {
        let stream = Stream { security, download, ..Stream::default() };
        Client::new(&stream, &Xhttp::default(), None).unwrap().mode
    };
    assert_eq!(mode(Security::None, download(reality())), XhttpMode::PacketUp);
    assert_eq!(mode(reality(), None), XhttpMode::StreamOne);
    assert_eq!(mode(reality(), download(Security::None)), XhttpMode::StreamUp);
}

/// The status of an answer to a request that is written by hand.
async fn status(set: &Xhttp, request: &str) -> String {
    let server = Arc::new(Server::new(&Stream::default(), set).unwrap());
    let (mut near, far) = duplex(64 * 1024);
    near.write_all(request.as_bytes()).await.unwrap();
    let Ok(Arrivals::Many(_many)) = server.accept(Arrival::from(Box::new(far) as BoxStream), LONG).await else {
        panic!("many were expected")
    };
    let mut answer = vec![0; 12];
    near.read_exact(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer[9..]).into_owned()
}

#[tokio::test]
async fn what_is_wrong_is_refused_by_its_status() {
    let set = Xhttp { path: "/up".into(), host: "a.example".into(), ..Xhttp::default() };
    let padding = "X".repeat(200);
    let ask = |line: &str, more: &str| format!("{line} HTTP/1.1\r\nHost: a.example\r\n{more}\r\n");
    let referer = format!("Referer: http://a.example/up/?x_padding={padding}\r\n");
    for (request, expected) in [
        (ask("GET /down/1", &referer), "404"),
        (ask("GET /up/1", &referer).replace("Host: a", "Host: b"), "404"),
        (ask("GET /up/1", ""), "400"),
        (ask("GET /up/1?x_padding=XX", ""), "400"),
        (ask("OPTIONS /up/1", ""), "200"),
        (ask("POST /up/1/x", &referer), "500"),
        (ask("POST /up/1/0", &format!("{referer}Content-Length: 1000001\r\n")), "413"),
        (ask("POST /up/1/0", &format!("{referer}Content-Length: 0\r\n")), "200"),
    ] {
        let request = if request.contains("1000001") { request + &"x".repeat(32) } else { request };
        assert_eq!(status(&set, &request).await, expected, "{request}");
    }
    let named = Xhttp { mode: XhttpMode::PacketUp, ..set };
    assert_eq!(status(&named, &ask("POST /up/1", &referer)).await, "400");
    assert_eq!(status(&named, &ask("POST /up/", &referer)).await, "400");
}
