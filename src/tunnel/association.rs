//! The outer end of an association: datagrams from and to anybody, by one port inside the tunnel.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use tokio::sync::mpsc;

use super::ends::{Datagrams, Ends, Looks};
use crate::addr::Target;
use crate::flow::Packets;

/// Datagrams that wait for a slow reader; more are dropped.
pub(super) const WAITING: usize = 256;

/// Datagrams through a tunnel.
pub struct Association {
    near: Near,
    heard: mpsc::Receiver<(SocketAddr, Bytes)>,
    out: Datagrams,
    _tunnel: Looks,
}

/// Who speaks on this side of the tunnel's packets.
#[derive(Debug, Clone, Copy)]
pub(super) enum Near {
    /// We do, by this port of our addresses.
    Own { v4: Option<SocketAddr>, v6: Option<SocketAddr> },
    /// Whoever the client asked; the client itself sits here.
    Client(SocketAddr),
}

impl Association {
    pub(super) fn new(near: Near, out: Datagrams, tunnel: Looks) -> (Self, mpsc::Sender<(SocketAddr, Bytes)>) {
        let (heard, receiver) = mpsc::channel(WAITING);
        (Self { near, heard: receiver, out, _tunnel: tunnel }, heard)
    }

    fn ends(&self, peer: SocketAddr) -> Option<Ends> {
        match (self.near, peer.ip()) {
            (Near::Own { v4, .. }, IpAddr::V4(_)) => Some(Ends { from: v4?, to: peer }),
            (Near::Own { v6, .. }, IpAddr::V6(_)) => Some(Ends { from: v6?, to: peer }),
            (Near::Client(client), _) => Some(Ends { from: peer, to: client }),
        }
    }
}

impl Packets for Association {
    fn poll_recv(&mut self, cx: &mut Context<'_>, buf: &mut BytesMut) -> Poll<io::Result<Target>> {
        match ready!(self.heard.poll_recv(cx)) {
            Some((peer, payload)) => {
                buf.extend_from_slice(&payload);
                Poll::Ready(Ok(peer.into()))
            }
            None => Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
        }
    }

    fn poll_send(&mut self, _: &mut Context<'_>, payload: &[u8], peer: &Target) -> Poll<io::Result<()>> {
        // Names were looked up above; a family that this end does not have leads nowhere.
        let ends = peer.host.ip().and_then(|ip| self.ends(SocketAddr::new(ip, peer.port)));
        if let Some(ends) = ends {
            // A full queue drops the datagram, as a router would.
            let _ = self.out.try_send((ends, Bytes::copy_from_slice(payload)));
        }
        Poll::Ready(Ok(()))
    }
}
