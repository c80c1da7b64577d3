//! What is known of a visitor before its protocol was read, and what comes of the visit.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use super::users::Member;
use crate::addr::{Network, Tag, Target};
use crate::flow::{BoxPackets, BoxStream, Flow};
use crate::net::DriveError;
use crate::transport::AcceptError;
use crate::wire::WireError;

/// What all kinds of inbound have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Common {
    /// Tag of the inbound.
    pub tag: Tag,
    /// Policy level of its users.
    pub level: u32,
    /// Whether visitors are other machines' (`Flow::remote`).
    pub remote: bool,
    /// Time for a handshake.
    pub handshake: Duration,
    /// How long a kept connection may be quiet.
    pub idle: Duration,
    /// The same of the way up, once the server has ended its half.
    pub uplink_only: Duration,
    /// The same of the way down, once the client has ended its half.
    pub downlink_only: Duration,
}

/// One connection that was accepted.
#[derive(Debug, Clone, Copy)]
pub struct Visitor {
    /// Whose it is.
    pub source: SocketAddr,
    /// Where it reached us.
    pub local: SocketAddr,
    /// Where it was headed before a firewall rule sent it here.
    pub original: Option<SocketAddr>,
}

/// What came of a visit.
pub enum Accepted {
    /// A stream for the sink.
    Stream(Flow, BoxStream),
    /// An association for the sink.
    Packets(Flow, BoxPackets),
    /// A stream that carries sessions of mux.cool or XUDP, each of them a flow.
    Mux {
        /// What the sessions have in common; its target says nothing.
        flow: Flow,
        /// The stream.
        io: BoxStream,
        /// A stream among them breaks the connection, as where Vision wraps it.
        datagrams_only: bool,
    },
    /// Everything is done already.
    Served,
}

/// Why a visit came to nothing. Always the visitor's doing, so it is logged at debug alone.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// TLS or the carrier around its bytes failed.
    #[error(transparent)]
    Transport(#[from] AcceptError),
    /// Its handshake failed.
    #[error(transparent)]
    Handshake(#[from] DriveError),
    /// Its connection broke, or it stopped reading.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Its later bytes are not what the protocol says.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// It must log in.
    #[error("wrong or missing user and password")]
    Login,
    /// It asked for what is not served here.
    #[error("{0}")]
    NotServed(&'static str),
}

impl Visitor {
    /// The flow this visitor begins.
    #[must_use]
    pub fn flow(&self, common: &Common, network: Network, target: Target, user: Option<Arc<str>>) -> Flow {
        let mut flow = Flow::new(common.tag.clone(), network, self.source, self.local, target);
        flow.level = common.level;
        flow.remote = common.remote;
        flow.user = user;
        flow
    }

    /// The same, begun by a user whose label and level are known.
    #[must_use]
    pub fn flow_of(&self, common: &Common, network: Network, target: Target, member: &Member) -> Flow {
        let mut flow = self.flow(common, network, target, member.email.clone());
        flow.level = member.level;
        flow.member = member.place;
        flow
    }
}

/// Ends a connection whose visitor was not let in: TLS says so first, as Go's does, and for as long.
pub(super) async fn part<S: AsyncWrite + Unpin>(io: &mut S) {
    let _ = timeout(PARTING, io.shutdown()).await;
}

/// How long Xray waits with closing for what TLS has to say (`transport/internet/tls`).
const PARTING: Duration = Duration::from_millis(250);

/// Writes all of `bytes`, but does not wait for ever for a visitor that reads nothing.
pub(super) async fn write<W>(io: &mut W, bytes: &[u8], limit: Duration) -> io::Result<()>
where
    W: AsyncWrite + Unpin + ?Sized,
{
    let written = async {
        io.write_all(bytes).await?;
        io.flush().await
    };
    timeout(limit, written).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}
