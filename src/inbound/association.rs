//! A UDP association of a SOCKS5 client: its own socket, alive as long as the TCP connection that asked for it.
//!
//! A socket each, and not one for all: what arrives needs no table to find its client, and when the client goes, all it
//! had goes with it.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::task::{Context, Poll, ready};

use bytes::{Buf, BytesMut};

use crate::addr::Target;
use crate::flow::{BoxStream, Packets};
use crate::net::udp::Datagrams;
use crate::net::{SocketOptions, poll_end};
use crate::proto::socks::{read_datagram, write_header};

/// Whether associations are served, and from where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relay {
    /// They are refused.
    Off,
    /// From the address at which the client reached us.
    Here,
    /// From this address, or announcing it where it is not ours (a port forwarded to us).
    At(IpAddr),
}

/// Where the socket of an association is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RelayAddress {
    bind: IpAddr,
    announce: IpAddr,
    /// Where the client reached us, which is surely ours.
    here: IpAddr,
}

/// Where to bind and what to announce; nothing if associations are not served.
pub(super) fn relay_address(relay: Relay, here: IpAddr) -> Option<RelayAddress> {
    // A Unix socket has no address; its clients are on this machine.
    let here = if here.is_unspecified() { Ipv4Addr::LOCALHOST.into() } else { here };
    let at = match relay {
        Relay::Off => return None,
        Relay::Here => here,
        Relay::At(ip) => ip,
    };
    // Clients send to what is announced, so it must never be the wildcard.
    let announce = if at.is_unspecified() { here } else { at };
    Some(RelayAddress { bind: at, announce, here })
}

impl RelayAddress {
    /// Opens the socket, and says what to tell the client. An address that this machine does not have is announced all the
    /// same: whoever configures one has it forwarded here.
    pub(super) fn open(self) -> io::Result<(Datagrams, SocketAddr)> {
        let open = |ip| Datagrams::bind(SocketAddr::new(ip, 0), &SocketOptions::default());
        let socket = match open(self.bind) {
            Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => open(self.here)?,
            other => other?,
        };
        let port = socket.local()?.port();
        Ok((socket, SocketAddr::new(self.announce, port)))
    }
}

/// The client's datagrams.
pub(super) struct Association {
    socket: Datagrams,
    control: BoxStream,
    /// Who may send: the peer of the TCP connection, and the address that the request named, if it named one.
    peers: [Option<IpAddr>; 2],
    /// The port that the request named.
    port: Option<u16>,
    /// Who does send. The first right datagram decides, so that nobody on the client's machine can step in later.
    client: Option<SocketAddr>,
    out: Vec<u8>,
}

impl Association {
    pub(super) fn new(socket: Datagrams, control: BoxStream, peer: IpAddr, named: &Target) -> Self {
        let peer = if peer.is_unspecified() { Ipv4Addr::LOCALHOST.into() } else { peer.to_canonical() };
        // The port counts only beside an address: many clients name 0.0.0.0 and a port they do not use.
        let (named, port) = match named.host.ip() {
            Some(ip) if !ip.is_unspecified() => (Some(ip), Some(named.port).filter(|&port| port != 0)),
            _ => (None, None),
        };
        Self { socket, control, peers: [Some(peer), named], port, client: None, out: Vec::new() }
    }

    fn admits(&self, from: SocketAddr) -> bool {
        match self.client {
            Some(client) => client == from,
            None => {
                // A client behind address translation names an address and port that never arrive; its peer address
                // then counts with any port.
                let named = self.peers[1] == Some(from.ip()) && self.port.is_none_or(|port| port == from.port());
                let translated = self.peers[0] == Some(from.ip()) && self.peers[1] != self.peers[0];
                named || translated
            }
        }
    }
}

impl Packets for Association {
    fn poll_recv(&mut self, cx: &mut Context<'_>, buf: &mut BytesMut) -> Poll<io::Result<Target>> {
        // Whatever the client says on its TCP connection means nothing; its end is the association's.
        if let Poll::Ready(end) = poll_end(&mut self.control, cx) {
            return Poll::Ready(Err(end));
        }
        loop {
            buf.clear();
            let from = ready!(self.socket.poll_recv(cx, buf))?;
            if !self.admits(from) {
                continue;
            }
            let Ok((target, payload)) = read_datagram(buf) else { continue };
            let header = buf.len() - payload.len();
            self.client = Some(from);
            buf.advance(header);
            return Poll::Ready(Ok(target));
        }
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, payload: &[u8], peer: &Target) -> Poll<io::Result<()>> {
        let Some(client) = self.client else { return Poll::Ready(Ok(())) };
        self.out.clear();
        write_header(peer, &mut self.out);
        self.out.extend_from_slice(payload);
        self.socket.poll_send(cx, &self.out, client)
    }

    fn client(&self) -> Option<SocketAddr> {
        self.client
    }
}

#[cfg(test)]
mod tests;
