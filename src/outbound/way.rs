//! The way to a proxy server: dialed by ourselves, or through another outbound.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::BytesMut;
use tokio::io::AsyncWriteExt;

use super::local::local;
use super::loopback::{MAX_HOPS, Ring};
use super::rotation::{Rotation, no_server};
use crate::addr::{DomainName, Network, OutboundId, Target};
use crate::flow::{Blame, BoxFuture, BoxPackets, BoxStream, DialError, Flow, Services, Stage, Via};
use crate::model::outbound::SendThrough;
use crate::net::boxed;
use crate::net::udp::Direct;
use crate::transport::{Dialer, Lines, hysteria, quic};

/// How a server is reached.
#[derive(Debug, Clone)]
pub struct Way {
    dialer: Dialer,
    through: Option<OutboundId>,
    /// The same for the server that what comes down is asked of, where that is another.
    down: Option<OutboundId>,
    /// The local address where we dial ourselves.
    from: SendThrough,
}

impl From<Dialer> for Way {
    fn from(dialer: Dialer) -> Self {
        Self { dialer, through: None, down: None, from: SendThrough::Any }
    }
}

impl Way {
    /// By another outbound; security and carrier are put around its stream.
    #[must_use]
    pub fn through(dialer: Dialer, outbound: OutboundId) -> Self {
        Self { through: Some(outbound), down: Some(outbound), ..dialer.into() }
    }

    /// By ourselves from this local address. A connection that flows share leaves from that of the flow that opens it.
    #[must_use]
    pub fn from_local(dialer: Dialer, from: SendThrough) -> Self {
        Self { from, ..dialer.into() }
    }

    /// The same, but what comes down is dialed by ourselves, where it has a server of its own.
    #[must_use]
    pub fn with_direct_download(self) -> Self {
        Self { down: None, ..self }
    }

    /// A ready stream to a server, for this flow.
    pub(super) async fn open(&self, cx: &dyn Services, flow: &Flow, server: &Target) -> Result<BoxStream, DialError> {
        let Some(outbound) = self.through else {
            return self.dialer.connect(cx, local(self.from, flow), server, Blame::Server).await;
        };
        // Boxed, because the direct way should not carry its size along.
        Box::pin(self.open_through(cx, outbound, flow, server)).await
    }

    async fn open_through(
        &self,
        cx: &dyn Services,
        outbound: OutboundId,
        flow: &Flow,
        server: &Target,
    ) -> Result<BoxStream, DialError> {
        let to = told(cx, &self.dialer, server).await?;
        let bare = Through { cx, outbound, hop: hop(flow, Network::Tcp, &to)? };
        let down: Option<Box<dyn Lines>> = match (self.dialer.download(), self.down) {
            (None, _) => None,
            (Some((dialer, server)), None) => Some(Box::new(dialer.own(cx, None, server, Blame::Server))),
            (Some((dialer, server)), Some(outbound)) => {
                let to = told(cx, dialer, server).await?;
                Some(Box::new(Through { cx, outbound, hop: hop(flow, Network::Tcp, &to)? }))
            }
        };
        self.dialer.over(&bare, down.as_deref(), server, Blame::Server).await
    }

    /// Whether it leads to servers by Hysteria's connections.
    #[must_use]
    pub fn is_hysteria(&self) -> bool {
        self.dialer.is_hysteria()
    }

    /// Hysteria's connection to a server, which flows share.
    pub(super) async fn line(
        &self,
        cx: &dyn Services,
        flow: &Flow,
        server: &Target,
    ) -> Result<Arc<hysteria::Line>, DialError> {
        let Some(outbound) = self.through else {
            let own = self.dialer.own(cx, local(self.from, flow), server, Blame::Server);
            return self.dialer.line(&own, server, Blame::Server).await;
        };
        let to = told(cx, &self.dialer, server).await?;
        let bare = Through { cx, outbound, hop: hop(flow, Network::Udp, &to)? };
        self.dialer.line(&bare, server, Blame::Server).await
    }

    /// A port by which messages of a protocol of its own go to a server.
    pub(super) async fn port(&self, cx: &dyn Services, flow: &Flow, server: &Target) -> Result<quic::Port, DialError> {
        let Some(outbound) = self.through else {
            return self.dialer.own(cx, local(self.from, flow), server, Blame::Server).port().await;
        };
        let to = told(cx, &self.dialer, server).await?;
        Through { cx, outbound, hop: hop(flow, Network::Udp, &to)? }.port().await
    }

    /// Where the datagrams of a server go: to its first address. Another outbound finds that itself, unless the
    /// configuration has names resolved here.
    pub(super) async fn endpoint(&self, cx: &dyn Services, flow: &Flow, server: &Target) -> Result<Target, DialError> {
        if self.through.is_some() {
            return told(cx, &self.dialer, server).await;
        }
        match server.host.domain() {
            Some(name) => self.first(cx, flow, name, server.port).await,
            None => Ok(server.clone()),
        }
    }

    /// The first address of a server's name, of the families that the settings ask for and a local address allows.
    pub(super) async fn first(
        &self,
        cx: &dyn Services,
        flow: &Flow,
        name: &DomainName,
        port: u16,
    ) -> Result<Target, DialError> {
        let found = self.dialer.look_up(cx, name, port).await.map_err(behind)?;
        let from = if self.through.is_none() { local(self.from, flow) } else { None };
        let usable = |at: &SocketAddr| from.is_none_or(|ip| ip.is_ipv4() == at.is_ipv4());
        let first = found.into_iter().find(usable);
        first.map(Target::from).ok_or_else(|| DialError::server(Stage::Resolve, io::ErrorKind::AddrNotAvailable))
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
                Err(error) => failed = servers.pass_over(error)?,
            }
        }
        Err(failed)
    }

    /// An association by which the datagrams of a server go.
    pub(super) async fn datagrams(&self, cx: &dyn Services, flow: &Flow, to: &Target) -> Result<BoxPackets, DialError> {
        let Some(outbound) = self.through else {
            return Ok(Box::new(Direct::new(self.dialer.socket().bound_to(local(self.from, flow)))));
        };
        cx.associate(Via::Outbound(outbound), &hop(flow, Network::Udp, to)?).await.map_err(behind)
    }
}

/// The server as another outbound is told of it: by address where the configuration has names resolved here.
async fn told(cx: &dyn Services, dialer: &Dialer, server: &Target) -> Result<Target, DialError> {
    let Some(name) = server.host.domain().filter(|_| dialer.resolves()) else { return Ok(server.clone()) };
    let none = || DialError::server(Stage::Resolve, io::ErrorKind::AddrNotAvailable);
    let found = cx.resolve(name).await.map_err(behind).and_then(|found| {
        // A name without the family that is asked for stays a name.
        dialer.families().pick(&found, server.port).first().copied().ok_or_else(none)
    });
    match found {
        Ok(address) => Ok(address.into()),
        Err(error) if dialer.forces() => Err(error),
        Err(_) => Ok(server.clone()),
    }
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

    fn port(&self) -> BoxFuture<'_, Result<quic::Port, DialError>> {
        Box::pin(async {
            let hop = Flow { network: Network::Udp, ..self.hop.clone() };
            let packets = self.cx.associate(Via::Outbound(self.outbound), &hop).await.map_err(behind)?;
            Ok(quic::Port::Detour { packets, to: hop.target })
        })
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
    use std::net::IpAddr;
    use std::time::Duration;

    use tokio::net::{TcpListener, UdpSocket};

    use super::*;
    use crate::addr::Host;
    use crate::flow::send;
    use crate::model::fields::DomainStrategy;
    use crate::model::sockopt::SockOpt;
    use crate::model::stream::{Carrier, Download, Stream};
    use crate::outbound::testing::{House, flow};
    use crate::tls::{Crypto, Inner};

    /// Where a server of ours sees flows come from that leave by this way, by TCP and by UDP.
    async fn seen(through: SendThrough, flow: &Flow) -> [IpAddr; 2] {
        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let way = Way::from_local(Dialer::raw(Default::default(), Default::default()), through);
        let house = House::knowing("a.example", &["::1", "127.0.0.1"]);
        let asked = async {
            let server = format!("a.example:{}", tcp.local_addr().unwrap().port()).parse().unwrap();
            let _io = way.open(&house, flow, &server).await.unwrap();
            let from = tcp.accept().await.unwrap().1.ip();
            let server = format!("a.example:{}", udp.local_addr().unwrap().port()).parse().unwrap();
            let to = way.endpoint(&house, flow, &server).await.unwrap();
            let mut packets = way.datagrams(&house, flow, &to).await.unwrap();
            send(&mut packets, b"x", &to).await.unwrap();
            [from, udp.recv_from(&mut [0; 4]).await.unwrap().1.ip()]
        };
        tokio::time::timeout(Duration::from_secs(5), asked).await.unwrap()
    }

    #[tokio::test]
    async fn the_local_address_is_that_of_each_flow() {
        let mut flow = flow("b.example:443");
        (flow.local, flow.source) = (([127, 5, 0, 1], 1080).into(), ([127, 6, 0, 1], 5000).into());
        for (through, first) in [
            (SendThrough::Ip([127, 4, 0, 1].into()), [127, 4]),
            (SendThrough::Origin, [127, 5]),
            (SendThrough::Source, [127, 6]),
            (SendThrough::Net("127.7.0.0/16".parse().unwrap()), [127, 7]),
        ] {
            for ip in seen(through, &flow).await {
                let IpAddr::V4(ip) = ip else { panic!("{ip}") };
                assert_eq!(ip.octets()[..2], first, "{through:?}");
            }
        }
    }

    #[tokio::test]
    async fn another_outbound_is_told_of_names_as_the_strategy_says() {
        use DomainStrategy::{AsIs, ForceIpv4, UseIp, UseIpv4};
        let cases = [
            (AsIs, "a.example", Some("a.example:9")),
            (UseIp, "a.example", Some("[2001:db8::1]:9")),
            (UseIpv4, "a.example", Some("a.example:9")),
            (UseIp, "b.example", Some("b.example:9")),
            (ForceIpv4, "a.example", None),
        ];
        for (domain_strategy, name, told) in cases {
            let sockopt = SockOpt { domain_strategy, ..SockOpt::default() };
            let stream = Stream { sockopt, ..Stream::default() };
            let dialer = Dialer::new(&stream, Inner::Opaque, &Crypto::default()).unwrap();
            let (way, house) = (Way::through(dialer, OutboundId(3)), House::knowing("a.example", &["2001:db8::1"]));
            let server = format!("{name}:9").parse().unwrap();
            assert!(way.open(&house, &flow("c.example:443"), &server).await.is_err());
            let dialed = house.dialed().first().map(|hop| hop.destination().to_string());
            assert_eq!(dialed.as_deref(), told, "{domain_strategy:?} {name}");
        }
    }

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
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
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
