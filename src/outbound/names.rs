//! Datagrams to names: each name is looked up once an association, and what is sent meanwhile waits, within bounds.
//!
//! A lookup must not hold up datagrams to other targets, so sending never waits for one: lookups run while the association
//! is polled for other reasons, and what waited is sent when the answer is there.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};

use super::lookup::{Lookup, Source};
use crate::addr::{DomainName, Host, Target};
use crate::flow::{BoxFuture, BoxPackets, Flow, Packets, Services};
use crate::model::fields::DomainStrategy;
use crate::net::Families;

/// The association with addresses in place of names, where the outbound's `targetStrategy` wants that. Where it prefers
/// neither family, that of the address counts which the name was found for (Xray's way).
#[must_use]
pub fn by_address(packets: BoxPackets, house: &Arc<dyn Services>, strategy: DomainStrategy, flow: &Flow) -> BoxPackets {
    if strategy.families().is_none() {
        return packets;
    }
    let families = match (Families::from(strategy), flow.target.host.ip()) {
        (Families::Any, Some(IpAddr::V4(_))) => Families::V4First,
        (Families::Any, Some(IpAddr::V6(_))) => Families::V6First,
        (families, _) => families,
    };
    let lookup = Lookup { source: Source::Dns, families };
    Box::new(Named::before(packets, Arc::clone(house), lookup, !strategy.forces()))
}

/// An association that takes names as well as addresses.
pub(super) struct Named<P> {
    inner: P,
    house: Arc<dyn Services>,
    lookup: Lookup,
    /// Whether the association below gets the names that have no address.
    keeps: bool,
    /// Which names were asked for, by the addresses that stand for them; only where answers come as from the name.
    back: Option<HashMap<IpAddr, DomainName>>,
    names: HashMap<DomainName, State>,
    /// What waited and can leave now; a socket that was opened a moment ago does not take it at once.
    ready: VecDeque<(Bytes, Target)>,
}

enum State {
    Known(IpAddr),
    Unknown,
    Asked { answer: BoxFuture<'static, Option<IpAddr>>, waiting: Vec<(Bytes, u16)> },
}

/// Names of one association; beyond this it forgets all that are answered.
const NAMES: usize = 256;
/// Lookups at a time.
const ASKED: usize = 32;
/// Datagrams that wait for one name. A resolver answers within a few retransmissions of whoever sends them.
const WAITING: usize = 8;

impl<P: Packets> Named<P> {
    pub(super) fn new(inner: P, house: Arc<dyn Services>, lookup: Lookup) -> Self {
        Self { inner, house, lookup, keeps: false, back: None, names: HashMap::new(), ready: VecDeque::new() }
    }

    /// One whose association below takes names too, and gets those that have no address here.
    pub(super) fn keeping(inner: P, house: Arc<dyn Services>, lookup: Lookup) -> Self {
        Self { keeps: true, ..Self::new(inner, house, lookup) }
    }

    /// One that stands before another outbound, as its `targetStrategy` wants: names without an address go on as names or,
    /// where it forces, nowhere, and answers come as from the name that was asked for.
    pub(super) fn before(inner: P, house: Arc<dyn Services>, lookup: Lookup, keeps: bool) -> Self {
        Self { keeps, back: Some(HashMap::new()), ..Self::new(inner, house, lookup) }
    }

    fn asked(&self) -> usize {
        self.names.values().filter(|state| matches!(state, State::Asked { .. })).count()
    }

    fn ask(&mut self, name: &DomainName, payload: &[u8], port: u16) {
        if self.names.len() >= NAMES {
            self.names.retain(|_, state| matches!(state, State::Asked { .. }));
        }
        if self.asked() >= ASKED {
            return;
        }
        let answer = self.lookup.first(Arc::clone(&self.house), name.clone());
        let waiting = vec![(Bytes::copy_from_slice(payload), port)];
        self.names.insert(name.clone(), State::Asked { answer: Box::pin(answer), waiting });
    }

    /// Takes the answers that came, and sends what waited for them.
    fn poll_answers(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        for (name, state) in &mut self.names {
            let State::Asked { answer, waiting } = state else { continue };
            let Poll::Ready(found) = answer.as_mut().poll(cx) else { continue };
            let host = found.map(Host::from).or_else(|| self.keeps.then(|| Host::Domain(name.clone())));
            match host {
                None => tracing::debug!(%name, "datagrams to a name without addresses are dropped"),
                Some(host) => {
                    let there = |(payload, port)| (payload, Target::new(host.clone(), port));
                    self.ready.extend(waiting.drain(..).map(there));
                }
            }
            *state = found.map_or(State::Unknown, State::Known);
            if let (Some(back), Some(ip)) = (&mut self.back, found) {
                if back.len() >= NAMES {
                    back.clear();
                }
                back.insert(ip, name.clone());
            }
        }
        while let Some((payload, peer)) = self.ready.front() {
            if self.inner.poll_send(cx, payload, peer)?.is_pending() {
                break;
            }
            self.ready.pop_front();
        }
        Ok(())
    }
}

impl<P: Packets> Packets for Named<P> {
    fn poll_recv(&mut self, cx: &mut Context<'_>, buf: &mut BytesMut) -> Poll<io::Result<Target>> {
        self.poll_answers(cx)?;
        let from = ready!(self.inner.poll_recv(cx, buf))?;
        let asked = from.host.ip().and_then(|ip| self.back.as_ref()?.get(&ip));
        Poll::Ready(Ok(match asked {
            Some(name) => Target::new(Host::Domain(name.clone()), from.port),
            None => from,
        }))
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, payload: &[u8], peer: &Target) -> Poll<io::Result<()>> {
        let Host::Domain(name) = &peer.host else { return self.inner.poll_send(cx, payload, peer) };
        match self.names.get_mut(name) {
            Some(State::Known(ip)) => {
                let at = SocketAddr::new(*ip, peer.port);
                return self.inner.poll_send(cx, payload, &at.into());
            }
            Some(State::Unknown) if self.keeps => return self.inner.poll_send(cx, payload, peer),
            Some(State::Unknown) => {}
            Some(State::Asked { waiting, .. }) if waiting.len() < WAITING => {
                waiting.push((Bytes::copy_from_slice(payload), peer.port));
            }
            Some(State::Asked { .. }) => {}
            None => self.ask(name, payload, peer.port),
        }
        // A lookup that has its answer at once sends at once; all others are polled with the reading half.
        Poll::Ready(self.poll_answers(cx))
    }

    fn address_of(&self, name: &DomainName) -> Option<IpAddr> {
        match self.names.get(name)? {
            State::Known(ip) => Some(*ip),
            State::Unknown | State::Asked { .. } => None,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Mutex;

    use tokio::net::UdpSocket;

    use super::*;
    use crate::flow::{recv, send};
    use crate::net::udp::Direct;
    use crate::net::{Families, SocketOptions};
    use crate::outbound::lookup::Source;
    use crate::outbound::testing::House;

    fn named(house: House) -> Named<Direct> {
        let lookup = Lookup { source: Source::Dns, families: Families::Any };
        Named::new(Direct::new(SocketOptions::default()), Arc::new(house), lookup)
    }

    #[tokio::test]
    async fn datagrams_to_a_name_arrive_and_answers_come_from_its_address() {
        let far = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let at = far.local_addr().unwrap();
        let mut packets = named(House::knowing("a.example", &["127.0.0.1"]));
        let target = format!("a.example:{}", at.port()).parse().unwrap();
        for _ in 0..2 {
            send(&mut packets, b"ask", &target).await.unwrap();
            let answering = async {
                let (len, from) = far.recv_from(&mut [0; 8]).await.unwrap();
                assert_eq!(len, 3);
                far.send_to(b"tell", from).await.unwrap();
            };
            let mut buf = BytesMut::new();
            let (from, ()) = tokio::join!(recv(&mut packets, &mut buf), answering);
            assert_eq!((from.unwrap(), &buf[..]), (at.into(), &b"tell"[..]));
        }
    }

    #[tokio::test]
    async fn a_slow_lookup_holds_up_nobody_and_keeps_a_bounded_queue() {
        let far = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let port = far.local_addr().unwrap().port();
        let (house, answer) = House::slow("a.example", &["127.0.0.1"]);
        let mut packets = named(house);
        let slow: Target = format!("a.example:{port}").parse().unwrap();
        for n in 0..2 * WAITING {
            send(&mut packets, &[u8::try_from(n).unwrap()], &slow).await.unwrap();
        }
        send(&mut packets, b"other", &far.local_addr().unwrap().into()).await.unwrap();
        let mut room = [0; 8];
        assert_eq!(far.recv(&mut room).await.unwrap(), 5);
        answer.send(()).unwrap();
        let mut buf = BytesMut::new();
        let heard = async {
            let mut from = None;
            for n in 0..WAITING {
                let (len, at) = far.recv_from(&mut room).await.unwrap();
                assert_eq!((len, room[0]), (1, u8::try_from(n).unwrap()));
                from = Some(at);
            }
            far.send_to(b"end", from.unwrap()).await.unwrap();
        };
        let (_, received) = tokio::join!(heard, recv(&mut packets, &mut buf));
        assert!(received.is_ok() && &buf[..] == b"end");
    }

    /// Notes where datagrams go.
    struct Ears(Arc<Mutex<Vec<String>>>);

    impl Packets for Ears {
        fn poll_recv(&mut self, _: &mut Context<'_>, _: &mut BytesMut) -> Poll<io::Result<Target>> {
            Poll::Pending
        }

        fn poll_send(&mut self, _: &mut Context<'_>, _: &[u8], peer: &Target) -> Poll<io::Result<()>> {
            self.0.lock().unwrap().push(peer.to_string());
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn whoever_takes_names_gets_those_without_an_address_here() {
        let sent = Arc::<Mutex<Vec<String>>>::default();
        let lookup = Lookup { source: Source::Dns, families: Families::Any };
        let house = Arc::new(House::knowing("a.example", &["127.0.0.1"]));
        let mut packets = Named::keeping(Ears(Arc::clone(&sent)), house, lookup);
        for name in ["a.example:1", "b.example:2", "b.example:3"] {
            send(&mut packets, b"x", &name.parse().unwrap()).await.unwrap();
        }
        assert_eq!(*sent.lock().unwrap(), ["127.0.0.1:1", "b.example:2", "b.example:3"]);
    }

    /// What arrives where datagrams to these names go, as the outbound's strategy says; the house knows three names.
    async fn went(strategy: DomainStrategy, target: &str) -> Vec<String> {
        let sent = Arc::<Mutex<Vec<String>>>::default();
        let known = [
            ("four.example", &["10.0.0.1"][..]),
            ("six.example", &["2001:db8::1"]),
            ("both.example", &["2001:db8::2", "10.0.0.2"]),
        ];
        let mut house = House::default();
        for (name, ips) in known {
            house.learns(name, ips);
        }
        let house: Arc<dyn Services> = Arc::new(house);
        let any = ([0; 4], 0).into();
        let flow = Flow::new("in".into(), crate::addr::Network::Udp, any, any, target.parse().unwrap());
        let mut packets = by_address(Box::new(Ears(Arc::clone(&sent))), &house, strategy, &flow);
        for name in ["four.example:1", "six.example:1", "both.example:1", "none.example:1", "10.9.9.9:1"] {
            send(&mut packets, b"x", &name.parse().unwrap()).await.unwrap();
        }
        sent.lock().unwrap().iter().map(|at| at.trim_end_matches(":1").to_owned()).collect()
    }

    #[tokio::test]
    async fn a_target_strategy_counts_for_datagrams_too() {
        use DomainStrategy as S;
        for (strategy, target, want) in [
            (
                S::AsIs,
                "four.example:1",
                ["four.example", "six.example", "both.example", "none.example", "10.9.9.9"].as_slice(),
            ),
            (S::UseIp, "four.example:1", &["10.0.0.1", "[2001:db8::1]", "[2001:db8::2]", "none.example", "10.9.9.9"]),
            // The name was found in what went to an IPv4 address.
            (S::UseIp, "192.0.2.1:1", &["10.0.0.1", "[2001:db8::1]", "10.0.0.2", "none.example", "10.9.9.9"]),
            (S::UseIpv4, "four.example:1", &["10.0.0.1", "six.example", "10.0.0.2", "none.example", "10.9.9.9"]),
            (S::UseIpv4v6, "four.example:1", &["10.0.0.1", "[2001:db8::1]", "10.0.0.2", "none.example", "10.9.9.9"]),
            (
                S::UseIpv6v4,
                "four.example:1",
                &["10.0.0.1", "[2001:db8::1]", "[2001:db8::2]", "none.example", "10.9.9.9"],
            ),
            (S::ForceIpv6, "four.example:1", &["[2001:db8::1]", "[2001:db8::2]", "10.9.9.9"]),
            (S::ForceIpv6v4, "four.example:1", &["10.0.0.1", "[2001:db8::1]", "[2001:db8::2]", "10.9.9.9"]),
        ] {
            assert_eq!(went(strategy, target).await, want, "{strategy:?}");
        }
    }

    #[tokio::test]
    async fn answers_come_as_from_the_name_that_was_asked_for() {
        let far = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let target: Target = format!("a.example:{}", far.local_addr().unwrap().port()).parse().unwrap();
        let house: Arc<dyn Services> = Arc::new(House::knowing("a.example", &["127.0.0.1"]));
        let any = ([0; 4], 0).into();
        let flow = Flow::new("in".into(), crate::addr::Network::Udp, any, any, target.clone());
        let direct = Box::new(Direct::new(SocketOptions::default()));
        let mut packets = by_address(direct, &house, DomainStrategy::ForceIp, &flow);
        send(&mut packets, b"ask", &target).await.unwrap();
        let answering = async {
            let (_, from) = far.recv_from(&mut [0; 8]).await.unwrap();
            far.send_to(b"tell", from).await.unwrap();
        };
        let mut buf = BytesMut::new();
        let (from, ()) = tokio::join!(recv(&mut packets, &mut buf), answering);
        assert_eq!(from.unwrap(), target);
    }

    #[tokio::test]
    async fn a_name_without_addresses_swallows_and_names_are_bounded() {
        let mut packets = named(House::default());
        for n in 0..2 * NAMES {
            send(&mut packets, b"x", &format!("n{n}.example:1").parse().unwrap()).await.unwrap();
        }
        assert!(packets.names.len() <= NAMES);
    }
}
