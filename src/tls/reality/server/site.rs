//! The way to the borrowed site.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::addr::{Host, Target};
use crate::flow::{BoxStream, Half, Stream};
use crate::net::{SocketOptions, tcp};
use crate::proto::haproxy::{Form, header};

/// Where the site is, and how it learns who visits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// Its place.
    pub place: SitePlace,
    /// The PROXY header in front.
    pub header: Option<Form>,
}

/// Its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SitePlace {
    /// A TCP service.
    Tcp(Target),
    /// A Unix socket by its path.
    Path(String),
    /// A Unix socket with a name of Linux' own, as the kernel takes it.
    Abstract(Vec<u8>),
}

/// Both ends of a visitor's connection, for the header. What is not known is no address.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    from: SocketAddr,
    to: SocketAddr,
}

impl Ends {
    /// As the visitor's socket has them.
    pub(super) fn of<S: Stream>(visitor: &S) -> Self {
        let socket = visitor.raw(Half::Read);
        let canonical = |at: SocketAddr| SocketAddr::new(at.ip().to_canonical(), at.port());
        let known = |at: Option<SocketAddr>| at.map_or(NOWHERE, canonical);
        Self {
            from: known(socket.and_then(|socket| socket.peer_addr().ok())),
            to: known(socket.and_then(|socket| socket.local_addr().ok())),
        }
    }

    /// Of nobody.
    pub(super) fn none() -> Self {
        Self { from: NOWHERE, to: NOWHERE }
    }
}

const NOWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

impl Site {
    /// Dials for a visitor.
    pub(super) async fn dial(&self, visitor: Ends, limit: Duration) -> io::Result<BoxStream> {
        let opened = async {
            let mut io = self.open(limit).await?;
            if let Some(form) = self.header {
                io.write_all(&header(form, visitor.from, visitor.to)).await?;
            }
            Ok(io)
        };
        timeout(limit, opened).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }

    async fn open(&self, limit: Duration) -> io::Result<BoxStream> {
        match &self.place {
            SitePlace::Tcp(target) => {
                let addresses: Vec<_> = match &target.host {
                    Host::Ip(ip) => vec![SocketAddr::new(*ip, target.port)],
                    Host::Domain(name) => tokio::net::lookup_host((name.as_str(), target.port)).await?.collect(),
                };
                Ok(Box::new(tcp::dial(&addresses, &SocketOptions::default(), limit).await?))
            }
            SitePlace::Path(path) => Ok(Box::new(UnixStream::connect(path).await?)),
            SitePlace::Abstract(name) => Ok(Box::new(named(name)?)),
        }
    }
}

#[cfg(target_os = "linux")]
fn named(name: &[u8]) -> io::Result<UnixStream> {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net;
    let stream = net::UnixStream::connect_addr(&net::SocketAddr::from_abstract_name(name)?)?;
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}

#[cfg(not(target_os = "linux"))]
fn named(_: &[u8]) -> io::Result<UnixStream> {
    Err(io::ErrorKind::Unsupported.into())
}
