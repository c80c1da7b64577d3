//! The way to a proxy server: dialed by ourselves, or through another outbound.

use std::io;

use bytes::BytesMut;
use tokio::io::AsyncWriteExt;

use super::loopback::{MAX_HOPS, Ring};
use super::rotation::{Rotation, no_server, pass_over};
use crate::addr::{DomainName, Network, OutboundId, Target};
use crate::flow::{Blame, BoxFuture, BoxPackets, BoxStream, DialError, Flow, Services, Stage, Via};
use crate::net::boxed;
use crate::net::udp::Direct;
use crate::transport::{Dialer, Lines};

/// How a server is reached.
#[derive(Debug, Clone)]
pub struct Way {
    dialer: Dialer,
    through: Option<OutboundId>,
    /// The same for the server that what comes down is asked of, where that is another.
    down: Option<OutboundId>,
}

impl From<Dialer> for Way {
    fn from(dialer: Dialer) -> Self {
        Self { dialer, through: None, down: None }
    }
}

impl Way {
    /// By another outbound; security and carrier are put around its stream.
    #[must_use]
    pub fn through(dialer: Dialer, outbound: OutboundId) -> Self {
        Self { dialer, through: Some(outbound), down: Some(outbound) }
    }

    /// The same, but what comes down is dialed by ourselves, where it has a server of its own.
    #[must_use]
    pub fn with_direct_download(self) -> Self {
        Self { down: None, ..self }
    }

    /// The dialer.
    pub(super) fn dialer(&self) -> &Dialer {
        &self.dialer
    }

    /// A ready stream to a server, for this flow.
    pub(super) async fn open(&self, cx: &dyn Services, flow: &Flow, server: &Target) -> Result<BoxStream, DialError> {
        let Some(outbound) = self.through else { return self.dialer.connect(cx, server, Blame::Server).await };
        let bare = Through { cx, outbound, hop: hop(flow, Network::Tcp, server)? };
        let down: Option<Box<dyn Lines>> = match (self.dialer.download(), self.down) {
            (None, _) => None,
            (Some((dialer, server)), None) => Some(Box::new(dialer.own(cx, server, Blame::Server))),
            (Some((_, server)), Some(outbound)) => {
                Some(Box::new(Through { cx, outbound, hop: hop(flow, Network::Tcp, server)? }))
            }
        };
        self.dialer.over(&bare, down.as_deref(), server, Blame::Server).await
    }

    /// Where the datagrams of a server go: to its first address. Another outbound finds that itself.
    pub(super) async fn endpoint(&self, cx: &dyn Services, server: &Target) -> Result<Target, DialError> {
        let Some(name) = server.host.domain().filter(|_| self.through.is_none()) else { return Ok(server.clone()) };
        first(cx, &self.dialer, name, server.port).await
    }

    /// A ready stream to the first of several servers that can be reached.
    pub(super) async fn open_any<'a, T>(
        &self,
        cx: &dyn Services,
        flow: &Flow,
        servers: &'a Rotation<T>,
        address: impl Fn(&T) -> &Target,
    ) -> Result<(BoxStream, &'a T), DialError> {
        let mut failed = no_server();
        for server in servers.turn() {
            match self.open(cx, flow, address(server)).await {
                Ok(io) => return Ok((io, server)),
                Err(error) => failed = pass_over(error)?,
            }
        }
        Err(failed)
    }

    /// An association by which the datagrams of a server go.
    pub(super) async fn datagrams(&self, cx: &dyn Services, flow: &Flow, to: &Target) -> Result<BoxPackets, DialError> {
        let Some(outbound) = self.through else { return Ok(Box::new(Direct::new(self.dialer.socket().clone()))) };
        cx.associate(Via::Outbound(outbound), &hop(flow, Network::Udp, to)?).await.map_err(behind)
    }
}

/// The first address of a server's name, of the family that the settings ask for.
pub(super) async fn first(
    cx: &dyn Services,
    dialer: &Dialer,
    name: &DomainName,
    port: u16,
) -> Result<Target, DialError> {
    let found = cx.resolve(name).await.map_err(behind)?;
    let found = dialer.families().pick(&found, port);
    let first = found.first().ok_or_else(|| DialError::server(Stage::Resolve, io::ErrorKind::AddrNotAvailable))?;
    Ok((*first).into())
}

/// Connections through another outbound.
struct Through<'a> {
    cx: &'a dyn Services,
    outbound: OutboundId,
    hop: Flow,
}

impl Lines for Through<'_> {
    fn line(&self) -> BoxFuture<'_, Result<BoxStream, DialError>> {
        Box::pin(async { self.cx.dial(Via::Outbound(self.outbound), &self.hop, &[]).await.map_err(behind) })
    }
}

/// The flow as the other outbound sees it: to the server, and with nothing of its own payload.
pub(super) fn hop(flow: &Flow, network: Network, server: &Target) -> Result<Flow, DialError> {
    if flow.hops >= MAX_HOPS {
        return Err(DialError::us(Stage::Policy, io::Error::other(Ring { inbound: flow.inbound.clone() })));
    }
    let mut hop = flow.clone();
    hop.network = network;
    hop.target = server.clone();
    (hop.route_target, hop.sniffed, hop.attributes, hop.protocol, hop.pin) = (None, None, None, None, None);
    // Whom the configuration names may be dialed wherever it is.
    hop.remote = false;
    hop.hops += 1;
    Ok(hop)
}

/// What is a target for the outbound in front is the server for the one behind.
fn behind(error: DialError) -> DialError {
    error.instead_of_target(Blame::Server)
}

/// The tunnel, once the flow's first bytes went into it.
pub(super) async fn begun(
    mut io: BoxStream,
    held: BytesMut,
    flow: &Flow,
    first: &[u8],
) -> Result<BoxStream, DialError> {
    if !first.is_empty() {
        flow.meter.give();
        let sent = async {
            io.write_all(first).await?;
            io.flush().await
        };
        sent.await.map_err(|error| DialError::server(Stage::Answer, error))?;
    }
    Ok(boxed(io, held))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::addr::Host;
    use crate::model::stream::{Carrier, Download, Stream};
    use crate::outbound::testing::{House, flow};
    use crate::tls::{Crypto, Inner};

    #[tokio::test]
    async fn another_outbound_is_asked_for_the_server() {
        let dialer = Dialer::raw(Default::default(), Default::default());
        let way = Way::through(dialer, OutboundId(3));
        let (house, flow, server) = (House::default(), flow("a.example:443"), "10.0.0.1:1080".parse().unwrap());
        assert!(way.open(&house, &flow, &server).await.is_err());
        assert!(way.datagrams(&house, &flow, &server).await.is_err());
        let dialed = house.dialed();
        assert!(dialed.iter().all(|hop| *hop.destination() == server && hop.hops == 1));
        assert_eq!((dialed[0].network, dialed[1].network), (Network::Tcp, Network::Udp));
        let mut ring = flow;
        ring.hops = MAX_HOPS;
        assert_eq!(way.open(&house, &ring, &server).await.err().map(|error| error.stage), Some(Stage::Policy));
    }

    /// Counts what is dialed through the outbound, and connections that come without it.
    #[tokio::test]
    async fn what_comes_down_goes_along_or_directly() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let download = listener.local_addr().unwrap();
        let xhttp = || Stream { carrier: Carrier::Xhttp(Default::default()), ..Stream::default() };
        let beside = Download { address: Host::Ip(download.ip()), port: download.port(), stream: xhttp() };
        let stream = Stream { download: Some(Box::new(beside)), ..xhttp() };
        let dialer = Dialer::new(&stream, Inner::Opaque, &Crypto::default()).unwrap();
        let (house, flow, server) = (House::default(), flow("a.example:443"), "10.0.0.1:1080".parse().unwrap());
        let along = Way::through(dialer, OutboundId(3));
        assert!(along.open(&house, &flow, &server).await.is_err());
        assert_eq!(*house.dialed()[0].destination(), download.into());
        let (house, directly) = (House::default(), along.with_direct_download());
        assert!(directly.open(&house, &flow, &server).await.is_err());
        assert!(house.dialed().iter().all(|hop| *hop.destination() == server));
        listener.accept().await.unwrap();
    }
}
