//! The other ends: whose a message is, what it holds, and what goes to whom.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use boringtun::noise::handshake::parse_handshake_anon;
use boringtun::noise::rate_limiter::RateLimiter;
use boringtun::noise::{Packet, Tunn, TunnResult};
use boringtun::x25519::{PublicKey, StaticSecret};
use ipnet::IpNet;

use super::outbox::{Outbox, Place};
use super::settings::Settings;

/// What a message is longer than the packet in it.
const OVERHEAD: usize = 32;

/// The longest message that holds no packet.
const HANDSHAKE: usize = 148;

/// Handshakes a second that are looked at without asking for a proof of where they come from. Each is counted twice.
const HANDSHAKES: u64 = 2 * 100;

struct Peer {
    tunn: Tunn,
    place: Option<Place>,
}

/// All peers of a tunnel.
pub(super) struct Peers {
    secret: StaticSecret,
    public: PublicKey,
    limiter: Arc<RateLimiter>,
    peers: Vec<Peer>,
    by_key: HashMap<[u8; 32], usize>,
    networks: Networks,
    reserved: [u8; 3],
    heard: Arc<Heard>,
}

/// When somebody was heard last, in milliseconds of a clock that began with the tunnel.
#[derive(Debug)]
pub(super) struct Heard {
    began: Instant,
    last: AtomicU64,
}

/// No session is older (REJECT_AFTER_TIME of the paper): what goes out later waits for a handshake.
const SESSION: u64 = 180_000;

impl Heard {
    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn note(&self) {
        // 0 is never.
        self.last.store(self.now().max(1), Ordering::Relaxed);
    }

    /// Whether no peer can have a session with us: nobody was heard for longer than one lasts, or ever.
    pub(super) fn nobody(&self) -> bool {
        let last = self.last.load(Ordering::Relaxed);
        last == 0 || self.now().saturating_sub(last) > SESSION
    }
}

/// What became of a message: the packet in it and the peer whose it is.
pub(super) type Opened<'a> = Option<(usize, &'a mut [u8])>;

impl Peers {
    /// With the places of the peers where they are known.
    pub(super) fn new(settings: &Settings, places: &[Option<Place>]) -> Self {
        let secret = StaticSecret::from(*settings.secret);
        let public = PublicKey::from(&secret);
        let limiter = Arc::new(RateLimiter::new(&public, HANDSHAKES));
        let mut networks = Networks::default();
        let mut by_key = HashMap::new();
        let peers = settings.peers.iter().enumerate().map(|(number, set)| {
            by_key.insert(set.public, number);
            set.allowed.iter().for_each(|net| networks.insert(*net, number));
            let preshared = set.preshared.as_ref().map(|key| **key);
            // Indices have 24 bits for the peer; no configuration lists more.
            let index = u32::try_from(number).unwrap_or(u32::MAX) & 0x00ff_ffff;
            let limiter = Some(Arc::clone(&limiter));
            let tunn = Tunn::new(secret.clone(), set.public.into(), preshared, set.keep_alive, index, limiter);
            Peer { tunn, place: places.get(number).copied().flatten() }
        });
        let peers = peers.collect();
        let heard = Arc::new(Heard { began: Instant::now(), last: AtomicU64::new(0) });
        Self { secret, public, limiter, peers, by_key, networks, reserved: settings.reserved, heard }
    }

    /// When somebody was heard.
    pub(super) fn heard(&self) -> &Arc<Heard> {
        &self.heard
    }

    /// The peer behind which an address is.
    pub(super) fn behind(&self, ip: IpAddr) -> Option<usize> {
        self.networks.find(ip)
    }

    /// Opens a message that came. What is to be answered goes to the outbox.
    pub(super) fn open<'a>(
        &mut self,
        from: Place,
        message: &mut [u8],
        room: &'a mut Vec<u8>,
        out: &mut Outbox,
    ) -> Opened<'a> {
        message.get_mut(1..4)?.fill(0);
        let number = self.owner(from, message, out)?;
        room.resize(message.len().max(HANDSHAKE) + OVERHEAD, 0);
        let peer = self.peers.get_mut(number)?;
        let (packet, source) = match peer.tunn.decapsulate(Some(from.at.ip()), message, room) {
            TunnResult::WriteToTunnelV4(packet, ip) => (packet.len(), Some(IpAddr::from(ip))),
            TunnResult::WriteToTunnelV6(packet, ip) => (packet.len(), Some(IpAddr::from(ip))),
            TunnResult::WriteToNetwork(answer) => {
                let cookie = answer.first() == Some(&COOKIE);
                answered(answer, self.reserved, from, out);
                // Whoever is sent a cookie has proved nothing yet.
                if cookie {
                    return None;
                }
                (0, None)
            }
            // What opens and holds nothing is a sign of life.
            TunnResult::Done => (0, None),
            TunnResult::Err(error) => {
                tracing::trace!(?error, "a message was dropped");
                return None;
            }
        };
        peer.place = Some(from);
        self.heard.note();
        let Some(source) = source else {
            self.flush(number, room, out);
            return None;
        };
        if self.networks.find(source) != Some(number) {
            tracing::debug!(%source, "a packet from an address that is not among its peer's allowedIPs was dropped");
            return None;
        }
        Some((number, room.get_mut(..packet)?))
    }

    /// Whose a message is. A first message is looked at for its key only once it proved to be no mere noise.
    fn owner(&self, from: Place, message: &[u8], out: &mut Outbox) -> Option<usize> {
        let by_index = |index: u32| usize::try_from(index >> 8).ok();
        match Tunn::parse_incoming_packet(message).ok()? {
            Packet::HandshakeResponse(answer) => by_index(answer.receiver_idx),
            Packet::PacketCookieReply(cookie) => by_index(cookie.receiver_idx),
            Packet::PacketData(data) => by_index(data.receiver_idx),
            Packet::HandshakeInit(_) => {
                let mut cookie = [0; HANDSHAKE];
                match self.limiter.verify_packet(Some(from.at.ip()), message, &mut cookie) {
                    Ok(Packet::HandshakeInit(init)) => {
                        let shown = parse_handshake_anon(&self.secret, &self.public, &init).ok()?;
                        self.by_key.get(&shown.peer_static_public).copied()
                    }
                    Err(TunnResult::WriteToNetwork(cookie)) => {
                        answered(cookie, self.reserved, from, out);
                        None
                    }
                    _ => None,
                }
            }
        }
    }

    /// What waited for the handshake.
    fn flush(&mut self, number: usize, room: &mut [u8], out: &mut Outbox) {
        let Some(peer) = self.peers.get_mut(number) else { return };
        let Some(place) = peer.place else { return };
        while let TunnResult::WriteToNetwork(message) = peer.tunn.decapsulate(None, &[], room) {
            answered(message, self.reserved, place, out);
        }
    }

    /// Sends a packet to a peer; it waits where there is no session yet.
    pub(super) fn send(&mut self, number: usize, packet: &[u8], out: &mut Outbox) {
        let Some(peer) = self.peers.get_mut(number) else { return };
        // A peer that never called is nowhere.
        let Some(place) = peer.place else { return };
        let reserved = self.reserved;
        out.put(place, packet.len().max(HANDSHAKE) + OVERHEAD, |room| match peer.tunn.encapsulate(packet, room) {
            TunnResult::WriteToNetwork(message) => marked(message, reserved).len(),
            _ => 0,
        });
    }

    /// Lets time pass; to be called a few times a second.
    pub(super) fn tick(&mut self, out: &mut Outbox) {
        let reserved = self.reserved;
        for peer in &mut self.peers {
            let Some(place) = peer.place else { continue };
            out.put(place, HANDSHAKE + OVERHEAD, |room| match peer.tunn.update_timers(room) {
                TunnResult::WriteToNetwork(message) => marked(message, reserved).len(),
                _ => 0,
            });
        }
    }

    /// Lets another second's handshakes come.
    pub(super) fn another_second(&self) {
        self.limiter.reset_count();
    }

    /// Calls those who are to be kept awake, before anybody asks for them.
    pub(super) fn greet(&mut self, out: &mut Outbox) {
        let reserved = self.reserved;
        for peer in &mut self.peers {
            let Some(place) = peer.place.filter(|_| peer.tunn.persistent_keepalive().is_some()) else { continue };
            out.put(place, HANDSHAKE + OVERHEAD, |room| match peer.tunn.format_handshake_initiation(room, false) {
                TunnResult::WriteToNetwork(message) => marked(message, reserved).len(),
                _ => 0,
            });
        }
    }
}

/// The first byte of a cookie.
const COOKIE: u8 = 3;

fn answered(message: &mut [u8], reserved: [u8; 3], to: Place, out: &mut Outbox) {
    let message = marked(message, reserved);
    out.put(to, message.len(), |room| {
        room.copy_from_slice(message);
        message.len()
    });
}

/// With the reserved bytes in place.
fn marked(message: &mut [u8], reserved: [u8; 3]) -> &mut [u8] {
    if let Some(place) = message.get_mut(1..4) {
        place.copy_from_slice(&reserved);
    }
    message
}

/// Networks with what is behind them; the longest that holds an address counts.
#[derive(Default)]
struct Networks {
    /// By length, the longest first, then by address.
    lengths: Vec<(u8, HashMap<IpAddr, usize>)>,
}

impl Networks {
    fn insert(&mut self, net: IpNet, number: usize) {
        let (len, net) = (net.prefix_len(), net.trunc());
        let at = self.lengths.partition_point(|(other, _)| *other > len);
        if self.lengths.get(at).is_none_or(|(other, _)| *other != len) {
            self.lengths.insert(at, (len, HashMap::new()));
        }
        if let Some((_, nets)) = self.lengths.get_mut(at) {
            nets.insert(net.addr(), number);
        }
    }

    fn find(&self, ip: IpAddr) -> Option<usize> {
        self.lengths.iter().find_map(|(len, nets)| {
            let net = IpNet::new(ip, *len).ok()?;
            nets.get(&net.trunc().addr()).copied()
        })
    }
}

/// Where a peer sits, for those that are called by a socket of their own.
pub(super) fn places(endpoints: &[Option<SocketAddr>]) -> Vec<Option<Place>> {
    endpoints.iter().enumerate().map(|(socket, at)| at.map(|at| Place { socket, at })).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_network_counts() {
        let mut networks = Networks::default();
        for (net, number) in [("0.0.0.0/0", 0), ("10.0.0.0/8", 1), ("10.1.0.0/16", 2), ("10.1.2.3/32", 3), ("::/0", 4)]
        {
            networks.insert(net.parse().unwrap(), number);
        }
        for (ip, number) in [("10.1.2.3", 3), ("10.1.2.4", 2), ("10.2.0.1", 1), ("1.1.1.1", 0), ("2001:db8::1", 4)] {
            assert_eq!(networks.find(ip.parse().unwrap()), Some(number), "{ip}");
        }
        assert_eq!(Networks::default().find("1.1.1.1".parse().unwrap()), None);
    }
}
