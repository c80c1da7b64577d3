//! The kinds of inbound, and the one match over them.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::BytesMut;
use tokio_util::sync::CancellationToken;

use super::dokodemo::Dokodemo;
use super::http::Http;
use super::hysteria::Hysteria;
use super::mixed::Mixed;
use super::shadowsocks::Shadowsocks;
use super::socks::Socks;
use super::trojan::Trojan;
use super::visit::{Accepted, Common, Fault, Visitor};
use super::vless::Vless;
use super::vmess::Vmess;
use super::wireguard::Wireguard;
use crate::addr::Network;
use crate::flow::Sink;
use crate::net::{Client, Session};
use crate::transport::Arrival;

/// How visitors are served.
#[derive(Debug)]
pub enum Kind {
    /// A door to a fixed target.
    Dokodemo(Dokodemo),
    /// An HTTP proxy.
    Http(Http),
    /// Hysteria, whose visitors come by QUIC alone.
    Hysteria(Hysteria),
    /// SOCKS and HTTP on one port.
    Mixed(Mixed),
    /// Shadowsocks.
    Shadowsocks(Shadowsocks),
    /// SOCKS alone.
    Socks(Socks),
    /// Trojan.
    Trojan(Trojan),
    /// VLESS.
    Vless(Vless),
    /// VMess.
    Vmess(Vmess),
    /// WireGuard, whose visitors come through a tunnel.
    Wireguard(Wireguard),
}

impl Kind {
    /// Serves one connection: reads what the client wants, and gives the flow or serves it whole.
    ///
    /// # Errors
    /// [`Fault`], always the visitor's doing.
    pub async fn accept(
        &self,
        common: &Common,
        visitor: &Visitor,
        arrival: Arrival,
        sink: &Arc<dyn Sink>,
        token: &CancellationToken,
    ) -> Result<Accepted, Fault> {
        let held = BytesMut::new();
        match self {
            Self::Dokodemo(kind) => {
                let flow = visitor.flow(common, Network::Tcp, kind.target(visitor)?, None);
                Ok(Accepted::Stream(flow, arrival.io))
            }
            Self::Http(kind) => kind.accept(common, visitor, arrival.io, held, sink, token).await,
            Self::Hysteria(_) => Err(Fault::NotServed("streams without QUIC")),
            Self::Mixed(kind) => kind.accept(common, visitor, arrival.io, held, sink, token).await,
            Self::Shadowsocks(kind) => kind.accept(common, visitor, arrival.io).await,
            Self::Socks(kind) => kind.accept(common, visitor, arrival.io, held).await,
            Self::Trojan(kind) => kind.accept(common, visitor, arrival).await,
            Self::Vless(kind) => kind.accept(common, visitor, arrival).await,
            Self::Vmess(kind) => kind.accept(common, visitor, arrival).await,
            Self::Wireguard(_) => Err(Fault::NotServed("streams without a tunnel")),
        }
    }

    /// Takes over the users of another of the same kind; whether both ask for a login.
    #[must_use]
    pub fn take_users(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Http(own), Self::Http(other)) => own.take_users(other),
            (Self::Hysteria(own), Self::Hysteria(other)) => own.take_users(other),
            (Self::Mixed(own), Self::Mixed(other)) => own.take_users(other),
            (Self::Shadowsocks(own), Self::Shadowsocks(other)) => own.take_users(other),
            (Self::Socks(own), Self::Socks(other)) => own.take_users(other),
            (Self::Trojan(own), Self::Trojan(other)) => own.take_users(other),
            (Self::Vless(own), Self::Vless(other)) => own.take_users(other),
            (Self::Vmess(own), Self::Vmess(other)) => own.take_users(other),
            _ => false,
        }
    }

    /// Whose a datagram is: of most kinds whoever sits where it came from.
    pub(super) fn name(&self, datagram: &mut [u8], from: SocketAddr) -> Option<Client> {
        match self {
            Self::Shadowsocks(kind) => kind.name(datagram, from),
            _ => Some(Client::Address(from)),
        }
    }

    /// Serves one client of a shared UDP socket.
    ///
    /// # Errors
    /// [`Fault`]; kinds without UDP refuse all.
    pub fn accept_datagrams(&self, common: &Common, visitor: &Visitor, session: Session) -> Result<Accepted, Fault> {
        match self {
            Self::Dokodemo(kind) => {
                let (flow, door) = kind.packets(common, visitor, session)?;
                Ok(Accepted::Packets(flow, Box::new(door)))
            }
            Self::Shadowsocks(kind) => kind.packets(common, visitor, session),
            Self::Http(_)
            | Self::Hysteria(_)
            | Self::Mixed(_)
            | Self::Socks(_)
            | Self::Trojan(_)
            | Self::Vless(_)
            | Self::Vmess(_)
            | Self::Wireguard(_) => Err(Fault::NotServed("datagrams")),
        }
    }
}
