//! Names of the world inside a tunnel, asked of the servers that Xray asks too.

use std::collections::HashMap;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::BytesMut;
use tokio::time::{Instant, timeout};

use crate::addr::{DomainName, Target};
use crate::dns::{BadReply, Family, query, reply};
use crate::flow::{BoxFuture, BoxPackets, BoxStream, DialError, Flow, Packets, Services, Stage, Via};
use crate::net::Families;
use crate::tunnel::Tunnel;

/// Whom a question goes to, in this order.
const SERVERS: [IpAddr; 4] = [
    IpAddr::V4(Ipv4Addr::new(1, 1, 1, 1)),
    IpAddr::V4(Ipv4Addr::new(1, 0, 0, 1)),
    IpAddr::V6(Ipv6Addr::new(0x2606, 0x4700, 0x4700, 0, 0, 0, 0, 0x1111)),
    IpAddr::V6(Ipv6Addr::new(0x2606, 0x4700, 0x4700, 0, 0, 0, 0, 0x1001)),
];

const PORT: u16 = 53;

/// Time for one server's answer.
const LIMIT: Duration = Duration::from_secs(3);

/// Names that are remembered; beyond this all are forgotten.
const NAMES: usize = 1024;

/// What was found, and until when that is good.
pub(super) type Names = Mutex<HashMap<DomainName, (Arc<[IpAddr]>, Instant)>>;

/// The house as it is inside a tunnel.
pub(super) struct Inside {
    pub(super) tunnel: Arc<Tunnel>,
    pub(super) names: Arc<Names>,
    /// Whether this end has an address of the family.
    pub(super) v4: bool,
    pub(super) v6: bool,
    /// Which addresses are of use.
    pub(super) families: Families,
}

impl Inside {
    async fn look_up(&self, name: &DomainName) -> Result<Arc<[IpAddr]>, DialError> {
        if let Some(known) = self.known(name) {
            return Ok(known);
        }
        let asked = |family, own, useless| async move {
            if own && self.families != useless { self.ask(name, family).await } else { Ok((vec![], u32::MAX)) }
        };
        let (v4, v6) =
            tokio::join!(asked(Family::V4, self.v4, Families::V6Only), asked(Family::V6, self.v6, Families::V4Only));
        let (ips, ttl) = match (v4, v6) {
            (Ok(v4), Ok(v6)) => ([v4.0, v6.0].concat(), v4.1.min(v6.1)),
            // One family that is not told of does not keep from the other.
            (Ok(one), Err(_)) | (Err(_), Ok(one)) if !one.0.is_empty() => one,
            (Err(error), _) | (_, Err(error)) => return Err(error),
        };
        if ips.is_empty() {
            return Err(DialError::target(Stage::Resolve, io::ErrorKind::NotFound));
        }
        let ips: Arc<[IpAddr]> = ips.into();
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if names.len() >= NAMES {
            names.clear();
        }
        names.insert(name.clone(), (Arc::clone(&ips), Instant::now() + Duration::from_secs(ttl.into())));
        Ok(ips)
    }

    fn known(&self, name: &DomainName) -> Option<Arc<[IpAddr]>> {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let (ips, good) = names.get(name)?;
        (*good > Instant::now()).then(|| Arc::clone(ips))
    }

    /// Asks one server after the other for one family, and gives what the first one says that knows.
    async fn ask(&self, name: &DomainName, family: Family) -> Result<(Vec<IpAddr>, u32), DialError> {
        let mut failed = DialError::target(Stage::Resolve, io::ErrorKind::TimedOut);
        let servers = SERVERS.into_iter().filter(|ip| if ip.is_ipv4() { self.v4 } else { self.v6 });
        for server in servers {
            match timeout(LIMIT, self.ask_one(server, name, family)).await {
                Ok(Ok(found)) => return Ok(found),
                Ok(Err(error)) => failed = DialError::target(Stage::Resolve, error),
                Err(_) => {}
            }
        }
        Err(failed)
    }

    async fn ask_one(&self, server: IpAddr, name: &DomainName, family: Family) -> io::Result<(Vec<IpAddr>, u32)> {
        let mut io = self.tunnel.associate().await.map_err(io::Error::other)?;
        let id = rand::random();
        let question = query(id, name, family, None).ok_or(io::ErrorKind::InvalidInput)?;
        let server = Target::from(SocketAddr::new(server, PORT));
        poll_fn(|cx| io.poll_send(cx, &question, &server)).await?;
        let mut answer = BytesMut::new();
        loop {
            answer.clear();
            if poll_fn(|cx| io.poll_recv(cx, &mut answer)).await? != server {
                continue;
            }
            match reply(&answer, id, name, family) {
                // What was cut holds enough: one address is all that is needed.
                Ok(reply) if reply.code == 0 || reply.code == NO_SUCH_NAME => return Ok((reply.ips, reply.ttl)),
                Ok(reply) => return Err(io::Error::other(format!("the server's answer has code {}", reply.code))),
                Err(BadReply::Malformed | BadReply::Other | BadReply::Question) => {}
            }
        }
    }
}

const NO_SUCH_NAME: u16 = 3;

impl Services for Inside {
    fn resolve<'a>(&'a self, name: &'a DomainName) -> BoxFuture<'a, Result<Arc<[IpAddr]>, DialError>> {
        Box::pin(self.look_up(name))
    }

    /// Nothing inside dials on.
    fn dial<'a>(&'a self, _: Via, _: &'a Flow, _: &'a [u8]) -> BoxFuture<'a, Result<BoxStream, DialError>> {
        Box::pin(async { Err(DialError::us(Stage::Policy, io::ErrorKind::Unsupported)) })
    }

    fn associate<'a>(&'a self, _: Via, _: &'a Flow) -> BoxFuture<'a, Result<BoxPackets, DialError>> {
        Box::pin(async { Err(DialError::us(Stage::Policy, io::ErrorKind::Unsupported)) })
    }
}
