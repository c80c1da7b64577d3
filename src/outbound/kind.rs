//! The kinds of outbound, and one match a question.

use std::sync::Arc;

use super::blackhole::Blackhole;
use super::freedom::Freedom;
use super::hijack::Hijack;
use super::http::Http;
use super::hysteria::Hysteria;
use super::loopback::Loopback;
use super::mux::Mux;
use super::pool::Beneath;
use super::responder::Responder;
use super::shadowsocks::Shadowsocks;
use super::socks::Socks;
use super::trojan::Trojan;
use super::vless::Vless;
use super::vmess::Vmess;
use super::wireguard::Wireguard;
use crate::addr::Network;
use crate::flow::{BoxFuture, BoxPackets, BoxStream, DialError, Flow, Services, Stage};

/// A way out.
#[derive(Debug)]
pub enum Outbound {
    /// Nowhere.
    Blackhole(Blackhole),
    /// DNS questions are answered here.
    Dns(Hijack),
    /// Straight to the target.
    Freedom(Freedom),
    /// Through an HTTP proxy.
    Http(Http),
    /// Through a Hysteria server.
    Hysteria(Hysteria),
    /// Back to the rules.
    Loopback(Loopback),
    /// Over connections that many flows share.
    Mux(Mux),
    /// Speed tests are answered here.
    Responder(Responder),
    /// Through a Shadowsocks server.
    Shadowsocks(Shadowsocks),
    /// Through a SOCKS server.
    Socks(Socks),
    /// Through a Trojan server.
    Trojan(Trojan),
    /// Through a VLESS server.
    Vless(Vless),
    /// Through a VMess server.
    Vmess(Vmess),
    /// Through a tunnel of packets.
    Wireguard(Wireguard),
}

impl Outbound {
    /// A stream to the flow's destination; `first` leaves with the protocol's opening where that is allowed, else right
    /// behind it.
    ///
    /// # Errors
    /// [`DialError`] says where it failed, and through whose fault.
    pub async fn connect(&self, cx: &dyn Services, flow: &Flow, first: &[u8]) -> Result<BoxStream, DialError> {
        match self {
            Self::Blackhole(kind) => kind.connect(),
            Self::Dns(kind) => kind.connect(cx, flow, first),
            Self::Freedom(kind) => kind.connect(cx, flow, first).await,
            // Boxed where a handshake makes the future large: the direct way should not carry that along.
            Self::Http(kind) => Box::pin(kind.connect(cx, flow, first)).await,
            Self::Hysteria(kind) => Box::pin(kind.connect(cx, flow, first)).await,
            Self::Loopback(kind) => kind.connect(cx, flow, first).await,
            Self::Mux(kind) => Box::pin(kind.connect(cx, flow, first)).await,
            Self::Responder(kind) => kind.connect(flow, first).await,
            Self::Shadowsocks(kind) => Box::pin(kind.connect(cx, flow, first)).await,
            Self::Socks(kind) => Box::pin(kind.connect(cx, flow, first)).await,
            Self::Trojan(kind) => Box::pin(kind.connect(cx, flow, first)).await,
            Self::Vless(kind) => Box::pin(kind.connect(cx, flow, first)).await,
            Self::Vmess(kind) => Box::pin(kind.connect(cx, flow, first)).await,
            Self::Wireguard(kind) => Box::pin(kind.connect(cx, flow, first)).await,
        }
    }

    /// An association for the flow. The house is shared with it, since it meets new names for as long as it lives.
    ///
    /// # Errors
    /// As [`Outbound::connect`].
    pub async fn associate(&self, cx: &Arc<dyn Services>, flow: &Flow) -> Result<BoxPackets, DialError> {
        match self {
            Self::Blackhole(kind) => Ok(kind.associate()),
            Self::Dns(kind) => kind.associate(cx, flow),
            Self::Freedom(kind) => kind.associate(cx, flow).await,
            Self::Http(_) | Self::Responder(_) => Err(DialError::us(Stage::Policy, std::io::ErrorKind::Unsupported)),
            Self::Hysteria(kind) => Box::pin(kind.associate(&**cx, flow)).await,
            Self::Loopback(kind) => kind.associate(&**cx, flow).await,
            Self::Mux(kind) => Box::pin(kind.associate(cx, flow)).await,
            Self::Shadowsocks(kind) => Box::pin(kind.associate(&**cx, flow)).await,
            Self::Socks(kind) => Box::pin(kind.associate(&**cx, flow)).await,
            Self::Trojan(kind) => Box::pin(kind.associate(&**cx, flow)).await,
            Self::Vless(kind) => Box::pin(kind.associate(cx, flow)).await,
            Self::Vmess(kind) => Box::pin(kind.associate(cx, flow)).await,
            Self::Wireguard(kind) => Box::pin(kind.associate(&**cx, flow)).await,
        }
    }

    /// Whether a stream is ready only once its target answered too: then the time of a dial is the target's as well, and
    /// says less of the way there.
    #[must_use]
    pub fn waits_for_target(&self) -> bool {
        match self {
            Self::Freedom(_) | Self::Http(_) | Self::Loopback(_) | Self::Socks(_) | Self::Wireguard(_) => true,
            Self::Mux(kind) => kind.waits_for_target(),
            Self::Blackhole(_)
            | Self::Dns(_)
            | Self::Hysteria(_)
            | Self::Responder(_)
            | Self::Shadowsocks(_)
            | Self::Trojan(_)
            | Self::Vless(_)
            | Self::Vmess(_) => false,
        }
    }

    /// Whether flows of this kind can leave here at all.
    #[must_use]
    pub fn carries(&self, network: Network) -> bool {
        match self {
            Self::Blackhole(_)
            | Self::Dns(_)
            | Self::Freedom(_)
            | Self::Hysteria(_)
            | Self::Loopback(_)
            | Self::Shadowsocks(_)
            | Self::Trojan(_)
            | Self::Vless(_)
            | Self::Vmess(_)
            | Self::Wireguard(_) => true,
            Self::Mux(kind) => kind.carries(network),
            Self::Http(_) | Self::Responder(_) => network != Network::Udp,
            Self::Socks(kind) => network != Network::Udp || kind.carries_datagrams(),
        }
    }
}

/// Sessions may run over any of them.
impl Beneath for Outbound {
    fn stream<'a>(
        &'a self,
        cx: &'a dyn Services,
        flow: &'a Flow,
        first: &'a [u8],
    ) -> BoxFuture<'a, Result<BoxStream, DialError>> {
        Box::pin(self.connect(cx, flow, first))
    }

    fn packets<'a>(
        &'a self,
        cx: &'a Arc<dyn Services>,
        flow: &'a Flow,
    ) -> BoxFuture<'a, Result<BoxPackets, DialError>> {
        Box::pin(self.associate(cx, flow))
    }

    fn takes(&self, network: Network) -> bool {
        self.carries(network)
    }

    fn waits(&self) -> bool {
        self.waits_for_target()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outbound::blackhole::Answer;
    use crate::outbound::testing::{House, flow};

    /// Flows are tasks, so what they wait for must be able to move between threads.
    #[tokio::test]
    async fn the_futures_are_send_and_the_direct_one_is_small() {
        fn send<T: Send>(future: T) -> T {
            future
        }
        let outbound = Outbound::Freedom(Freedom::default());
        let (house, flow): (Arc<dyn Services>, _) = (Arc::new(House::default()), flow("10.0.0.1:1"));
        let size = size_of_val(&send(outbound.connect(&*house, &flow, b"")));
        assert!(size <= 2048, "{size} bytes");
        let hole = Outbound::Blackhole(Blackhole::new(Answer::None));
        assert!(send(hole.associate(&house, &flow)).await.is_ok());
    }

    #[test]
    fn datagrams_do_not_leave_by_http() {
        let dialer = crate::transport::Dialer::raw(Default::default(), Default::default());
        let http = Outbound::Http(Http::new(dialer, Vec::new(), Vec::new()));
        assert!(!http.carries(Network::Udp) && http.carries(Network::Tcp));
    }
}
