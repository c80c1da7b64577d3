//! Through a WireGuard tunnel.
//!
//! The tunnel is opened by the first flow and stays; when its socket breaks, the next flow opens another. Names of targets are
//! looked up through the tunnel, since only there their addresses mean something.

mod inside;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use bytes::BytesMut;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use self::inside::{Inside, Names};
use super::lookup::{Lookup, Source};
use super::names::Named;
use super::way::{Way, begun};
use crate::addr::Target;
use crate::flow::{BoxPackets, BoxStream, DialError, Flow, Services, Stage};
use crate::net::Families;
use crate::proto::mask::Masks;
use crate::tunnel::{ConnectError, Line, Settings, Tunnel, open};

/// A WireGuard client.
#[derive(Debug)]
pub struct Wireguard {
    way: Way,
    settings: Settings,
    /// Where the peers are, in their order.
    endpoints: Vec<Target>,
    masks: Option<Arc<Masks>>,
    lookup: Lookup,
    names: Arc<Names>,
    tunnel: ArcSwapOption<Tunnel>,
    /// Held by whoever opens it.
    opening: tokio::sync::Mutex<()>,
}

/// Time to be connected to a target.
const LIMIT: Duration = Duration::from_secs(16);

impl Wireguard {
    /// With where each peer is. Of a target's addresses those of these families are taken that this end has an address for.
    #[must_use]
    pub fn new(
        way: impl Into<Way>,
        settings: Settings,
        endpoints: Vec<Target>,
        masks: Option<Arc<Masks>>,
        families: Families,
    ) -> Self {
        let has = |v4| settings.addresses.iter().any(|ip| ip.is_ipv4() == v4);
        let families = match (has(true), has(false)) {
            (true, false) => Families::V4Only,
            (false, true) => Families::V6Only,
            _ => families,
        };
        Self {
            way: way.into(),
            settings,
            endpoints,
            masks,
            lookup: Lookup { source: Source::Dns, families },
            names: Arc::default(),
            tunnel: ArcSwapOption::empty(),
            opening: tokio::sync::Mutex::default(),
        }
    }

    pub(super) async fn connect(&self, cx: &dyn Services, flow: &Flow, first: &[u8]) -> Result<BoxStream, DialError> {
        let tunnel = self.tunnel(cx, flow).await?;
        let until = Instant::now() + LIMIT;
        let looking = async {
            let inside = self.inside(&tunnel);
            self.lookup.addresses(&inside, flow.destination()).await
        };
        let late = || DialError::server(Stage::Handshake, io::ErrorKind::TimedOut);
        let addresses = timeout_at(until, looking).await.map_err(|_| late())?;
        let addresses = addresses.map_err(|error| if tunnel.is_silent() { late() } else { error })?;
        let mut failed = DialError::target(Stage::Resolve, io::ErrorKind::AddrNotAvailable);
        for at in addresses {
            failed = match timeout_at(until, tunnel.connect(at)).await {
                Ok(Ok(io)) => return begun(Box::new(io), BytesMut::new(), flow, first).await,
                Ok(Err(error)) => blamed(error),
                Err(_) if tunnel.is_silent() => return Err(late()),
                Err(_) => return Err(DialError::target(Stage::Dial, io::ErrorKind::TimedOut)),
            };
        }
        Err(failed)
    }

    pub(super) async fn associate(&self, cx: &dyn Services, flow: &Flow) -> Result<BoxPackets, DialError> {
        let tunnel = self.tunnel(cx, flow).await?;
        let association = tunnel.associate().await.map_err(blamed)?;
        Ok(Box::new(Named::new(association, Arc::new(self.inside(&tunnel)), self.lookup)))
    }

    fn inside(&self, tunnel: &Arc<Tunnel>) -> Inside {
        let own = &self.settings.addresses;
        let (v4, v6) = (own.iter().any(|ip| ip.is_ipv4()), own.iter().any(|ip| ip.is_ipv6()));
        Inside { tunnel: Arc::clone(tunnel), names: Arc::clone(&self.names), v4, v6, families: self.lookup.families }
    }

    /// The tunnel that runs, or another one where none does.
    async fn tunnel(&self, cx: &dyn Services, flow: &Flow) -> Result<Arc<Tunnel>, DialError> {
        let running = || self.tunnel.load_full().filter(|tunnel| !tunnel.is_over());
        if let Some(tunnel) = running() {
            return Ok(tunnel);
        }
        let _opening = self.opening.lock().await;
        if let Some(tunnel) = running() {
            return Ok(tunnel);
        }
        let mut line = Line { sockets: vec![], endpoints: vec![], over: CancellationToken::new() };
        for endpoint in &self.endpoints {
            let port = self.way.port(cx, flow, endpoint).await?;
            let bare = port.bare(self.masks.as_ref(), None).map_err(|error| DialError::us(Stage::Dial, error))?;
            line.sockets.push(bare.socket);
            line.endpoints.push(Some(bare.to));
            if let Some(driver) = bare.driver {
                let over = line.over.clone();
                tokio::spawn(async move {
                    // However it ended, it leads nowhere any more.
                    let _ = driver.await;
                    over.cancel();
                });
            }
        }
        let tunnel = Arc::new(open(&self.settings, line, None));
        self.tunnel.store(Some(Arc::clone(&tunnel)));
        Ok(tunnel)
    }
}

fn blamed(error: ConnectError) -> DialError {
    match error {
        ConnectError::Target(error) => DialError::target(Stage::Dial, error),
        ConnectError::Silent => DialError::server(Stage::Handshake, io::Error::new(io::ErrorKind::TimedOut, error)),
        ConnectError::Over => DialError::server(Stage::Dial, io::Error::new(io::ErrorKind::BrokenPipe, error)),
        ConnectError::NoRoute => DialError::us(Stage::Policy, io::Error::new(io::ErrorKind::HostUnreachable, error)),
    }
}
