//! What strangers try.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use rustls::ClientConfig;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout};

use super::carried::{Ask, Io, call, connected, framed, upgrade, upgraded};
use super::flights::Flights;
use super::sight::Sight;
use crate::matrix::keys::{NAME, is_2022};
use crate::matrix::link::{Carrier, Link, Proto, Secure};
use crate::matrix::targets::BYTES;
use crate::support::PATIENCE;

/// The least that servers read which draw how much.
const DRAWN_FROM: usize = 50;

/// How long a call may take before its server counts as one that waits.
const SILENCE: Duration = Duration::from_secs(2);

/// What a client of HTTP/2 says first: its preface, and settings without any.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// A thing to try.
#[derive(Debug, Clone)]
pub enum Probe {
    /// These bytes where the protocol's should be; none are silence.
    Inside(Vec<u8>),
    /// The first bytes of a client.
    Flight(Vec<u8>),
    /// These bytes where the carrier should begin.
    Outside(Vec<u8>),
    /// The same without asking for a protocol of HTTP.
    Nameless(Vec<u8>),
    /// A call for something else.
    Call(Ask),
}

/// All that is worth a try.
pub fn probes(link: &Link, flights: &Flights) -> Vec<(String, Probe)> {
    let mut probes = vec![("silence".to_owned(), Probe::Inside(vec![]))];
    for len in [1, 16, 17, 50, 60, 1000] {
        probes.push((format!("{len} bytes of noise"), Probe::Inside(BYTES[1..=len].to_vec())));
    }
    for len in [1, 17, 60] {
        probes.push((format!("{len} zeros"), Probe::Inside(vec![0; len])));
    }
    let web = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: {NAME}\r\n\r\n").into_bytes();
    probes.extend([
        ("a request of the web".to_owned(), Probe::Inside(web("/"))),
        ("wrong secrets".to_owned(), Probe::Flight(flights.wrong.clone())),
        ("a client's first bytes again".to_owned(), Probe::Flight(flights.right.clone())),
    ]);
    if link.carrier == Carrier::Grpc {
        // There the end shows in what is said.
        probes.retain(|(_, probe)| !is_drawn(link, probe));
    }
    let outside = |name: &str, bytes: Vec<u8>| (name.to_owned(), Probe::Outside(bytes));
    match link.carrier {
        Carrier::Ws | Carrier::Upgrade => {
            let ws = link.carrier == Carrier::Ws;
            probes.extend([
                outside("no word below the carrier", vec![]),
                outside("noise below the carrier", BYTES[..60].to_vec()),
                outside("the page at the root", web("/")),
                outside("the page at the path", web("/matrix")),
                outside("an upgrade at another path", upgrade("/other", NAME, ws)),
                outside("an upgrade at the other carrier", upgrade("/matrix", NAME, !ws)),
                outside("an upgrade of another host", upgrade("/matrix", "other.test", ws)),
            ]);
        }
        Carrier::Grpc => {
            let ask = |method, path, content_type| Probe::Call(Ask { method, path, content_type, dimly: false });
            let grpc = Some("application/grpc");
            probes.extend([
                outside("no word below the carrier", vec![]),
                outside("noise below the carrier", BYTES[..60].to_vec()),
                outside("an old request below the carrier", web("/")),
                ("HTTP/2 that was not agreed upon".to_owned(), Probe::Nameless(PREFACE.to_vec())),
                ("another service".to_owned(), ask(Method::POST, "/other/Tun", grpc)),
                ("another method".to_owned(), ask(Method::POST, "/matrix/Other", grpc)),
                ("a page".to_owned(), ask(Method::GET, "/", None)),
                ("the service by GET".to_owned(), ask(Method::GET, "/matrix/Tun", grpc)),
                ("the service without its type".to_owned(), ask(Method::POST, "/matrix/Tun", None)),
            ]);
        }
        _ => {}
    }
    probes
}

impl Probe {
    pub async fn look(&self, link: Link, port: u16, tls: &Arc<ClientConfig>) -> Sight {
        match self {
            Self::Inside(bytes) => inside(link, port, tls, bytes, false).await,
            Self::Flight(bytes) => inside(link, port, tls, bytes, true).await.dimly(),
            Self::Outside(bytes) => match connected(link, port, tls).await {
                Some(mut io) => say(&mut *io, bytes).await,
                None => Sight::refused(),
            },
            Self::Nameless(bytes) => match connected(Link::new(link.proto, Carrier::Raw, link.secure), port, tls).await
            {
                Some(mut io) => say(&mut *io, bytes).await,
                None => Sight::refused(),
            },
            Self::Call(ask) => match connected(link, port, tls).await {
                Some(io) => call(io, ask, &[], SILENCE).await,
                None => Sight::refused(),
            },
        }
    }
}

/// Whether the server draws how much it reads of such a stranger.
pub fn is_drawn(link: &Link, probe: &Probe) -> bool {
    let draws = match link.proto {
        Proto::Vmess(..) => link.carrier == Carrier::Raw && link.secure == Secure::None,
        Proto::Shadowsocks(method, _) => !is_2022(method),
        _ => false,
    };
    draws && matches!(probe, Probe::Inside(bytes) | Probe::Flight(bytes) if bytes.len() > DRAWN_FROM)
}

/// Whether a client is served whose first bytes were recorded. A server that listens may need a moment until it is ready.
pub async fn served(link: Link, port: u16, tls: &Arc<ClientConfig>, flight: &[u8]) -> bool {
    let limit = Instant::now() + PATIENCE;
    loop {
        let served = match link.carrier {
            Carrier::Grpc => {
                let sight = inside(link, port, tls, flight, true).await;
                String::from_utf8_lossy(&sight.said).contains("data")
            }
            _ => answered(link, port, tls, flight).await,
        };
        if served || Instant::now() > limit {
            return served;
        }
    }
}

/// Whether anything is said to a client, however late: many first bytes are good only once.
async fn answered(link: Link, port: u16, tls: &Arc<ClientConfig>, flight: &[u8]) -> bool {
    let Some(mut io) = entered(link, port, tls).await else { return false };
    let _ = io.write_all(&carried(link, flight)).await;
    let _ = io.flush().await;
    matches!(timeout(PATIENCE, io.read_u8()).await, Ok(Ok(_)))
}

/// A connection up to where the carrier takes bytes.
async fn entered(link: Link, port: u16, tls: &Arc<ClientConfig>) -> Option<Box<dyn Io>> {
    let mut io = connected(link, port, tls).await?;
    if matches!(link.carrier, Carrier::Ws | Carrier::Upgrade) {
        timeout(SILENCE, upgraded(&mut *io, link.carrier == Carrier::Ws)).await.ok().flatten()?;
    }
    Some(io)
}

/// Bytes as the carrier takes them.
fn carried(link: Link, bytes: &[u8]) -> Vec<u8> {
    if link.carrier == Carrier::Ws && !bytes.is_empty() { framed(bytes) } else { bytes.to_vec() }
}

/// Bytes inside of the carrier.
async fn inside(link: Link, port: u16, tls: &Arc<ClientConfig>, bytes: &[u8], dimly: bool) -> Sight {
    if link.carrier == Carrier::Grpc {
        let Some(io) = connected(link, port, tls).await else { return Sight::refused() };
        let content_type = Some("application/grpc");
        let ask = Ask { method: Method::POST, path: "/matrix/Tun", content_type, dimly };
        return call(io, &ask, bytes, SILENCE).await;
    }
    let Some(mut io) = entered(link, port, tls).await else { return Sight::refused() };
    say(&mut *io, &carried(link, bytes)).await
}

async fn say(io: &mut dyn Io, bytes: &[u8]) -> Sight {
    // A server that ends it at once may be faster than the probe.
    let _ = io.write_all(bytes).await;
    let _ = io.flush().await;
    Sight::of(&mut { io }).await
}
