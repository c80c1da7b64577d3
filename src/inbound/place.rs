//! Where an inbound listens.

use std::fmt;
use std::io;
use std::net::SocketAddr;

#[cfg(unix)]
use super::unix::UnixPlace;

/// A place to listen at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A TCP port.
    Tcp(SocketAddr),
    /// A UDP port.
    Udp(SocketAddr),
    /// A UDP port at which QUIC is spoken.
    Quic(SocketAddr),
    /// Several UDP ports at which QUIC is spoken as at one, by clients that go from port to port.
    Quics(Box<[SocketAddr]>),
    /// A UDP port at which a tunnel of packets ends.
    Tunnel(SocketAddr),
    /// A UDP port at which mKCP is spoken.
    Mkcp(SocketAddr),
    /// A Unix socket.
    #[cfg(unix)]
    Unix(UnixPlace),
}

/// A place could not be listened at.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {place}: {source}")]
pub struct ListenError {
    /// Where.
    pub place: Place,
    /// Why.
    pub source: io::Error,
}

impl Place {
    /// Whether the system chooses the port, so that it is another each time.
    #[must_use]
    pub fn is_any(&self) -> bool {
        match self {
            Self::Tcp(at) | Self::Udp(at) | Self::Quic(at) | Self::Tunnel(at) | Self::Mkcp(at) => at.port() == 0,
            Self::Quics(all) => all.iter().any(|at| at.port() == 0),
            #[cfg(unix)]
            Self::Unix(_) => false,
        }
    }

    /// Whether a socket there is a socket here: the permissions of a file can be changed without another.
    #[must_use]
    pub fn is_where(&self, other: &Self) -> bool {
        match (self, other) {
            #[cfg(unix)]
            (Self::Unix(one), Self::Unix(other)) => one.is_where(other),
            (one, other) => one == other,
        }
    }

    /// Makes the socket of a place that is where this is into what it would be had it been opened for this.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn settle(&self, was: &Self) -> io::Result<()> {
        match self {
            #[cfg(unix)]
            Self::Unix(place) if self != was => place.settle(),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(at) => write!(f, "tcp {at}"),
            Self::Udp(at) | Self::Tunnel(at) => write!(f, "udp {at}"),
            Self::Quic(at) => write!(f, "quic {at}"),
            Self::Quics(all) => {
                let Some((first, last)) = all.first().zip(all.last()) else { return f.write_str("quic nowhere") };
                write!(f, "quic {first} to {} ({} ports)", last.port(), all.len())
            }
            Self::Mkcp(at) => write!(f, "mkcp {at}"),
            #[cfg(unix)]
            Self::Unix(place) => write!(f, "unix {place}"),
        }
    }
}
