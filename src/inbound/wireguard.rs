//! The WireGuard server: whose the flows are that come out of a tunnel.

use std::net::SocketAddr;
use std::sync::Arc;

use super::users::Member;
use super::visit::{Accepted, Common, Visitor};
use crate::addr::Network;
use crate::proto::mask::Masks;
use crate::tunnel::{Arrived, Settings};

/// A WireGuard server.
#[derive(Debug)]
pub struct Wireguard {
    settings: Settings,
    /// Whose flows those of each peer are.
    members: Box<[Member]>,
    masks: Option<Arc<Masks>>,
}

impl Wireguard {
    /// With whose flows those of each peer are, in their order.
    #[must_use]
    pub fn new(settings: Settings, members: impl IntoIterator<Item = Member>, masks: Option<Arc<Masks>>) -> Self {
        Self { settings, members: members.into_iter().collect(), masks }
    }

    /// What the tunnel is made of.
    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The masks of its messages.
    pub(super) fn masks(&self) -> Option<Arc<Masks>> {
        self.masks.clone()
    }

    /// The flow that came, and where it came from inside the tunnel, whose socket is bound here.
    pub(super) fn accept(&self, common: &Common, arrived: Arrived, local: SocketAddr) -> (Accepted, SocketAddr) {
        let nobody = Member::default();
        let member = |peer: usize| self.members.get(peer).unwrap_or(&nobody);
        let visitor = |source| Visitor { source, local, original: None };
        match arrived {
            Arrived::Stream { peer, client, target, io } => {
                let flow = visitor(client).flow_of(common, Network::Tcp, target.into(), member(peer));
                (Accepted::Stream(flow, Box::new(io)), client)
            }
            Arrived::Packets { peer, client, target, io } => {
                let flow = visitor(client).flow_of(common, Network::Udp, target.into(), member(peer));
                (Accepted::Packets(flow, Box::new(io)), client)
            }
        }
    }
}
