//! All that a tunnel is, but for its sockets: messages in, messages out.

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use rand::RngExt;
use smoltcp::time::Instant;
use tokio::sync::mpsc;

use super::ask::{Arrived, Ask};
use super::association::{Association, Near};
use super::conn::{Conn, Waiting};
use super::ends::{Datagrams, Ends};
use super::error::ConnectError;
use super::outbox::{Outbox, Place};
use super::packet::{Packet, read, write_datagram};
use super::peers::{Heard, Peers, places};
use super::settings::Settings;
use super::stream::TunnelStream;
use super::wire::Wire;

/// Connections at a time. Each peer of a listener is known, so that this bounds memory and no stranger.
const CONNECTIONS: usize = 16 * 1024;

/// Associations at a time.
const ASSOCIATIONS: usize = 16 * 1024;

/// The first port that connections and associations of our own leave from, and how many there are.
const PORTS: (u16, u16) = (16_384, u16::MAX - 16_384);

pub(super) struct Core {
    peers: Peers,
    own: (Option<IpAddr>, Option<IpAddr>),
    mtu: usize,
    arrivals: Option<mpsc::Sender<Arrived>>,
    looks: mpsc::WeakUnboundedSender<Ends>,
    datagrams: Datagrams,
    conns: HashMap<Ends, Conn>,
    due: BTreeSet<(Instant, Ends)>,
    associations: HashMap<SocketAddr, mpsc::Sender<(SocketAddr, Bytes)>>,
    port: u16,
    pub(super) out: Outbox,
    scratch: Vec<u8>,
    opened: Vec<u8>,
    pieces: BytesMut,
    payloads: BytesMut,
}

/// Payloads of datagrams are cut from pieces of this size: small, since one that waits keeps its whole piece.
const CHUNK: usize = 16 * 1024;

impl Core {
    pub(super) fn new(
        settings: &Settings,
        endpoints: &[Option<SocketAddr>],
        arrivals: Option<mpsc::Sender<Arrived>>,
        looks: mpsc::WeakUnboundedSender<Ends>,
        datagrams: Datagrams,
    ) -> Self {
        let first = |v4| settings.addresses.iter().find(|ip| ip.is_ipv4() == v4).copied();
        Self {
            peers: Peers::new(settings, &places(endpoints)),
            own: (first(true), first(false)),
            mtu: settings.mtu,
            arrivals,
            looks,
            datagrams,
            conns: HashMap::new(),
            due: BTreeSet::new(),
            associations: HashMap::new(),
            port: rand::rng().random_range(0..PORTS.1),
            out: Outbox::default(),
            scratch: Vec::new(),
            opened: Vec::new(),
            pieces: BytesMut::new(),
            payloads: BytesMut::new(),
        }
    }

    pub(super) fn heard(&self) -> &Arc<Heard> {
        self.peers.heard()
    }

    pub(super) fn greet(&mut self) {
        self.peers.greet(&mut self.out);
    }

    /// A message came.
    pub(super) fn take(&mut self, from: Place, message: &mut [u8], now: Instant) {
        let mut opened = std::mem::take(&mut self.opened);
        if let Some((peer, packet)) = self.peers.open(from, message, &mut opened, &mut self.out) {
            match read(packet) {
                Some(Packet::Tcp { ends, opens }) => self.tcp(peer, ends.turned(), opens, packet, now),
                Some(Packet::Udp { ends, payload }) => self.udp(peer, ends, payload),
                None => tracing::trace!("a packet of another protocol, or a piece of one, was dropped"),
            }
        }
        self.opened = opened;
    }

    /// A piece of a connection; `ends` are as we see them.
    fn tcp(&mut self, peer: usize, ends: Ends, opens: bool, packet: &[u8], now: Instant) {
        if opens && !self.conns.contains_key(&ends) {
            self.called(peer, ends, now);
        }
        // Whose packets belong to no connection any more is not told so: an answer could be asked for by anybody inside.
        self.advance(ends, Some(packet), now);
    }

    fn called(&mut self, peer: usize, ends: Ends, now: Instant) {
        let (Some(arrivals), Some(looks)) = (&self.arrivals, self.looks.upgrade()) else { return };
        let Ok(place) = arrivals.try_reserve() else { return };
        if self.conns.len() >= CONNECTIONS {
            return;
        }
        let (io, inner) = TunnelStream::new(ends, looks);
        let mut wire = Wire { mtu: self.mtu, packet: None, scratch: &mut self.scratch, send: &mut |_| {} };
        let conn = Conn::called(ends, &mut wire, rand::random(), peer, inner, now);
        self.conns.insert(ends, conn);
        place.send(Arrived::Stream { peer, client: ends.to, target: ends.from, io });
    }

    fn udp(&mut self, peer: usize, ends: Ends, payload: &[u8]) {
        let (key, other) = if self.arrivals.is_some() { (ends.from, ends.to) } else { (ends.to, ends.from) };
        if self.payloads.capacity() < payload.len() {
            self.payloads.reserve(CHUNK.max(payload.len()));
        }
        self.payloads.extend_from_slice(payload);
        let payload = self.payloads.split().freeze();
        match self.associations.get(&key) {
            // A full queue drops the datagram, as a router would.
            Some(heard) if !heard.is_closed() => drop(heard.try_send((other, payload))),
            _ => {
                let Some(place) = self.arrivals.as_ref().and_then(|arrivals| arrivals.try_reserve().ok()) else {
                    return;
                };
                if self.associations.len() >= ASSOCIATIONS {
                    return;
                }
                let Some(looks) = self.looks.upgrade() else { return };
                let (io, heard) = Association::new(Near::Client(key), self.datagrams.clone(), looks);
                let _ = heard.try_send((other, payload));
                self.associations.insert(key, heard);
                place.send(Arrived::Packets { peer, client: key, target: other, io });
            }
        }
    }

    /// A datagram leaves.
    pub(super) fn datagram(&mut self, ends: Ends, payload: &[u8]) {
        let Some(peer) = self.peers.behind(ends.to.ip()) else { return };
        if write_datagram(ends, payload, self.mtu, &mut self.scratch) {
            self.peers.send(peer, &self.scratch, &mut self.out);
        } else {
            tracing::debug!(
                bytes = payload.len(),
                mtu = self.mtu,
                "a datagram that does not fit into the tunnel was dropped"
            );
        }
    }

    pub(super) fn ask(&mut self, ask: Ask, now: Instant) {
        match ask {
            Ask::Connect(to, reply) => self.connect(to, reply, now),
            Ask::Bind(reply) => self.bind(reply),
        }
    }

    /// The outer end of a connection did something.
    pub(super) fn look(&mut self, ends: Ends, now: Instant) {
        self.advance(ends, None, now);
    }

    fn connect(&mut self, to: SocketAddr, reply: Waiting, now: Instant) {
        let own = if to.is_ipv4() { self.own.0 } else { self.own.1 };
        let found = own.zip(self.peers.behind(to.ip())).zip(self.looks.upgrade());
        let Some(((own, peer), looks)) = found.filter(|_| self.conns.len() < CONNECTIONS) else {
            drop(reply.send(Err(ConnectError::NoRoute)));
            return;
        };
        let free = self.free(|port, core| {
            let ends = Ends { from: SocketAddr::new(own, port), to };
            (!core.conns.contains_key(&ends)).then_some(ends)
        });
        let Some(ends) = free else {
            drop(reply.send(Err(ConnectError::Target(std::io::ErrorKind::AddrInUse.into()))));
            return;
        };
        let stream = TunnelStream::new(ends, looks);
        let mut wire = Wire { mtu: self.mtu, packet: None, scratch: &mut self.scratch, send: &mut |_| {} };
        let conn = Conn::calling(ends, &mut wire, rand::random(), peer, stream, reply, now);
        self.conns.insert(ends, conn);
        self.advance(ends, None, now);
    }

    fn bind(&mut self, reply: tokio::sync::oneshot::Sender<Association>) {
        let (v4, v6) = self.own;
        let free = self.free(|port, core| {
            let at = |ip: Option<IpAddr>| ip.map(|ip| SocketAddr::new(ip, port));
            let near = [at(v4), at(v6)];
            near.iter().flatten().all(|at| !core.associations.contains_key(at)).then_some(near)
        });
        // Whoever asked is told by the end of its question.
        let Some([v4, v6]) = free.filter(|_| self.associations.len() < ASSOCIATIONS) else { return };
        let Some(looks) = self.looks.upgrade() else { return };
        let (association, heard) = Association::new(Near::Own { v4, v6 }, self.datagrams.clone(), looks);
        for at in [v4, v6].into_iter().flatten() {
            self.associations.insert(at, heard.clone());
        }
        drop(reply.send(association));
    }

    /// The next port of ours for which there is something.
    fn free<T>(&mut self, take: impl Fn(u16, &Self) -> Option<T>) -> Option<T> {
        (0..PORTS.1).find_map(|_| {
            self.port = (self.port + 1) % PORTS.1;
            take(PORTS.0 + self.port, self)
        })
    }

    /// Lets a connection do what it can.
    fn advance(&mut self, ends: Ends, packet: Option<&[u8]>, now: Instant) {
        let Some(conn) = self.conns.get_mut(&ends) else { return };
        let (peers, out, peer, before) = (&mut self.peers, &mut self.out, conn.peer, conn.next);
        let silent = peers.heard().nobody();
        let mut send = |packet: &[u8]| peers.send(peer, packet, out);
        let mut wire = Wire { mtu: self.mtu, packet, scratch: &mut self.scratch, send: &mut send };
        let goes_on = conn.go_on(&mut wire, &mut self.pieces, silent, now);
        let next = conn.next.filter(|_| goes_on);
        if before != next {
            if let Some(before) = before {
                self.due.remove(&(before, ends));
            }
            if let Some(next) = next {
                self.due.insert((next, ends));
            }
        }
        if !goes_on {
            self.conns.remove(&ends);
        }
    }

    /// When a connection wants to be looked at.
    pub(super) fn next(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Connections whose time has come.
    pub(super) fn pass(&mut self, now: Instant) {
        // One that wants to be looked at again at once has to wait for the next turn.
        let due: Vec<Ends> = self.due.iter().take_while(|(at, _)| *at <= now).map(|(_, ends)| *ends).collect();
        due.into_iter().for_each(|ends| self.advance(ends, None, now));
    }

    /// What is done a few times a second.
    pub(super) fn tick(&mut self) {
        self.peers.tick(&mut self.out);
        self.peers.another_second();
        self.associations.retain(|_, heard| !heard.is_closed());
        let given_up: Vec<Ends> =
            self.conns.iter().filter(|(_, conn)| conn.is_given_up()).map(|(ends, _)| *ends).collect();
        let now = Instant::now();
        given_up.into_iter().for_each(|ends| self.advance(ends, None, now));
    }

    /// Ends all connections, since nothing can leave any more.
    pub(super) fn over(&mut self) {
        self.conns.values_mut().for_each(Conn::abort);
        self.conns.clear();
        self.associations.clear();
    }
}
