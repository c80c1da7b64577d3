//! Where those go who do not speak the protocol: to a server that has something to show them.
//!
//! A server of VLESS or Trojan that closed on strangers would be known by just that. Here a stranger gets what any web
//! server would give, and that server gets all that was said so far.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use bytes::BytesMut;
use tokio::net::lookup_host;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

#[cfg(unix)]
use super::unix::{self, UnixPlace};
use super::visit::{Accepted, Common, Fault, Visitor};
use crate::addr::{Host, Target};
use crate::flow::{BoxStream, Meter};
use crate::net::{Limits, Prefixed, SocketOptions, boxed, relay, tcp};
use crate::proto::haproxy::{Form, header};
use crate::transport::Hello;

/// One way out for strangers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fallback {
    /// Part of the server name that they asked for, in small letters; empty for any.
    pub name: String,
    /// Protocol that TLS agreed on; empty for any.
    pub alpn: String,
    /// Path of their first HTTP/1 request; empty for any.
    pub path: String,
    /// Where they go.
    pub to: Refuge,
    /// The PROXY header by which that place learns who they are.
    pub header: Option<Form>,
}

/// A place for strangers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refuge {
    /// A TCP service.
    Tcp(Target),
    /// A Unix socket.
    #[cfg(unix)]
    Unix(UnixPlace),
}

type ByPath = HashMap<String, Fallback>;
type ByAlpn = HashMap<String, ByPath>;

/// All ways out of one inbound, by server name, protocol and path.
#[derive(Debug, Default)]
pub struct Fallbacks(HashMap<String, ByAlpn>);

impl Fallbacks {
    /// Puts them in order. A group gets whatever it has no entry of its own for from the one that leaves the protocol open,
    /// and then from the groups that leave the name open.
    #[must_use]
    pub fn new(entries: Vec<Fallback>) -> Self {
        let mut names: HashMap<String, ByAlpn> = HashMap::new();
        for entry in entries {
            let alpns = names.entry(entry.name.clone()).or_default();
            alpns.entry(entry.alpn.clone()).or_default().insert(entry.path.clone(), entry);
        }
        let open = names.get("").cloned().unwrap_or_default();
        for (_, alpns) in names.iter_mut().filter(|(name, _)| !name.is_empty()) {
            for alpn in open.keys() {
                alpns.entry(alpn.clone()).or_default();
            }
        }
        names.values_mut().for_each(spread);
        let open = names.get("").cloned().unwrap_or_default();
        for (_, alpns) in names.iter_mut().filter(|(name, _)| !name.is_empty()) {
            for (alpn, paths) in &open {
                fill(alpns.entry(alpn.clone()).or_default(), paths);
            }
        }
        Self(names)
    }

    /// The way out for a stranger, if there is one.
    fn choose(&self, hello: Option<&Hello>, first: &[u8]) -> Option<&Fallback> {
        let name = hello.and_then(|hello| hello.server_name.as_deref()).unwrap_or_default().to_ascii_lowercase();
        let alpn = hello.and_then(|hello| hello.alpn.as_deref()).unwrap_or_default();
        let alpn = String::from_utf8_lossy(alpn).to_ascii_lowercase();
        let parts = || self.0.iter().filter(|(part, _)| !part.is_empty() && name.contains(part.as_str()));
        let alpns = self.0.get(&name).or_else(|| parts().max_by_key(|(part, _)| part.len()).map(|(_, alpns)| alpns));
        let alpns = alpns.or_else(|| self.0.get(""))?;
        let paths = alpns.get(&alpn).or_else(|| alpns.get(""))?;
        path(first).and_then(|path| paths.get(path)).or_else(|| paths.get(""))
    }

    /// Gives a stranger to whoever is there for it, until one of them ends.
    pub(super) async fn serve(
        &self,
        common: &Common,
        visitor: &Visitor,
        hello: Option<&Hello>,
        io: BoxStream,
        held: BytesMut,
    ) -> Result<Accepted, Fault> {
        let Some(fallback) = self.choose(hello, &held) else { return Err(Fault::NotServed("no fallback fits")) };
        let server = fallback.to.dial().await?;
        let server = match fallback.header {
            Some(form) => Box::new(Prefixed::writing(server, header(form, visitor.source, visitor.local))),
            None => server,
        };
        // Closing the door does not end it: who is inside stays.
        let never = CancellationToken::new();
        relay(boxed(io, held), server, limits(common), &Meter::default(), &never).await;
        Ok(Accepted::Served)
    }
}

/// Fills the groups of one name from that which leaves the protocol open.
fn spread(alpns: &mut ByAlpn) {
    let Some(open) = alpns.get("").cloned() else { return };
    alpns.iter_mut().filter(|(alpn, _)| !alpn.is_empty()).for_each(|(_, paths)| fill(paths, &open));
}

fn fill(paths: &mut ByPath, from: &ByPath) {
    for (path, fallback) in from {
        paths.entry(path.clone()).or_insert_with(|| fallback.clone());
    }
}

/// The path of an HTTP/1 request, without its query, found where Xray looks for it: behind a method of three to seven
/// letters, and within the first 64 bytes.
fn path(first: &[u8]) -> Option<&str> {
    // HTTP/2 with prior knowledge begins with `PRI *`.
    if first.len() < 18 || first[4] == b'*' {
        return None;
    }
    let from = (4..=8).find(|&at| first[at] == b'/' && first[at - 1] == b' ')?;
    let line = &first[from..first.len().min(64)];
    let end = line.iter().position(|byte| matches!(byte, b'\r' | b'\n' | b'?' | b' '))?;
    if matches!(line[end], b'\r' | b'\n') {
        return None;
    }
    str::from_utf8(&line[..end]).ok()
}

fn limits(common: &Common) -> Limits {
    let idle = (common.idle != Duration::MAX).then_some(common.idle);
    Limits { idle, uplink_only: common.uplink_only, downlink_only: common.downlink_only }
}

/// Dials of one fallback, and how much longer each wait between them is (as Xray's).
const TRIES: u32 = 5;
const WAIT: Duration = Duration::from_millis(100);

/// Time for one dial.
const DIAL: Duration = Duration::from_secs(16);

impl Refuge {
    async fn dial(&self) -> io::Result<BoxStream> {
        let mut failed = self.dial_once().await;
        for wait in 0..TRIES - 1 {
            if failed.is_ok() {
                break;
            }
            sleep(WAIT * wait).await;
            failed = self.dial_once().await;
        }
        failed
    }

    async fn dial_once(&self) -> io::Result<BoxStream> {
        match self {
            Self::Tcp(target) => {
                let at: Vec<_> = match &target.host {
                    Host::Ip(ip) => vec![(*ip, target.port).into()],
                    Host::Domain(name) => lookup_host((name.as_str(), target.port)).await?.collect(),
                };
                Ok(Box::new(tcp::dial(&at, &SocketOptions::default(), DIAL).await?))
            }
            #[cfg(unix)]
            Self::Unix(place) => Ok(Box::new(unix::dial(place).await?)),
        }
    }
}

#[cfg(test)]
mod tests;
