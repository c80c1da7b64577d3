//! An association that leaves by several ways, each chosen by where a datagram goes.
//!
//! Some protocols name the target of their datagrams once, when they begin; others want some ports apart. To the association
//! above it is one way all the same.

use std::collections::VecDeque;
use std::io;
use std::task::{Context, Poll};

use bytes::BytesMut;

use crate::addr::Target;
use crate::flow::{BoxFuture, BoxPackets, DialError, Packets};
use crate::net::{Waiting, WaitingRoom};

/// Says which way a datagram goes, and opens ways.
pub(super) trait Split: Send {
    /// What tells ways apart.
    type Key: Eq + Clone + Send;

    /// The way to a target; `None` drops what goes there.
    fn key(&mut self, target: &Target) -> Option<Self::Key>;

    /// Opens a way, whose first datagram goes to this target.
    fn open(&self, key: &Self::Key, target: &Target) -> BoxFuture<'static, Result<BoxPackets, DialError>>;
}

/// The association.
pub(super) struct Lanes<S: Split> {
    split: S,
    /// The one used last at the end.
    lanes: Vec<Lane<S::Key>>,
    /// Whose turn it is to be heard first.
    turn: usize,
    room: WaitingRoom,
}

struct Lane<K> {
    key: K,
    state: State,
}

enum State {
    Opening(BoxFuture<'static, Result<BoxPackets, DialError>>, VecDeque<(Waiting, Target)>),
    Open(BoxPackets, VecDeque<(Waiting, Target)>),
}

/// Ways at a time; the one that was not used for longest closes for another.
const LANES: usize = 32;

/// Datagrams that wait for a way; more are dropped.
const WAITING: usize = 32;

impl<S: Split> Lanes<S> {
    /// Begins with the way to a target.
    ///
    /// # Errors
    /// Whatever opening it gives, and a refusal where nothing may go there.
    pub(super) async fn begin(mut split: S, target: &Target) -> Result<Self, DialError> {
        let refused = || DialError::us(crate::flow::Stage::Policy, io::ErrorKind::PermissionDenied);
        let key = split.key(target).ok_or_else(refused)?;
        let first = split.open(&key, target).await?;
        Ok(Self {
            split,
            lanes: vec![Lane { key, state: State::Open(first, VecDeque::new()) }],
            turn: 0,
            room: WaitingRoom::default(),
        })
    }

    /// The place of a way, which is opened if need be.
    fn lane(&mut self, key: &S::Key, target: &Target) -> usize {
        match self.lanes.iter().position(|lane| lane.key == *key) {
            Some(at) => at,
            None => {
                if self.lanes.len() >= LANES {
                    self.lanes.remove(0);
                }
                let state = State::Opening(self.split.open(key, target), VecDeque::new());
                self.lanes.push(Lane { key: key.clone(), state });
                self.lanes.len() - 1
            }
        }
    }
}

impl<K> Lane<K> {
    /// Goes on opening, and sends what waits.
    fn poll_out(&mut self, cx: &mut Context<'_>) -> Result<(), io::Error> {
        if let State::Opening(opening, waiting) = &mut self.state {
            let Poll::Ready(opened) = opening.as_mut().poll(cx) else { return Ok(()) };
            let packets = opened.map_err(|error| error.source)?;
            self.state = State::Open(packets, std::mem::take(waiting));
        }
        let State::Open(packets, waiting) = &mut self.state else { return Ok(()) };
        while let Some((payload, target)) = waiting.front() {
            let Poll::Ready(sent) = packets.poll_send(cx, payload, target) else { break };
            sent?;
            waiting.pop_front();
        }
        Ok(())
    }

    fn push(&mut self, payload: &[u8], target: &Target, room: &WaitingRoom) {
        let (State::Opening(_, waiting) | State::Open(_, waiting)) = &mut self.state;
        if waiting.len() < WAITING
            && let Some(kept) = room.keep(payload)
        {
            waiting.push_back((kept, target.clone()));
        }
    }

    fn poll_in(&mut self, cx: &mut Context<'_>, buf: &mut BytesMut) -> Poll<io::Result<Target>> {
        self.poll_out(cx)?;
        match &mut self.state {
            State::Opening(..) => Poll::Pending,
            State::Open(packets, _) => packets.poll_recv(cx, buf),
        }
    }

    /// Sends at once where nothing waits before it.
    fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        payload: &[u8],
        target: &Target,
        room: &WaitingRoom,
    ) -> Poll<io::Result<()>> {
        self.poll_out(cx)?;
        match &mut self.state {
            State::Open(packets, waiting) if waiting.is_empty() => packets.poll_send(cx, payload, target),
            _ => {
                self.push(payload, target, room);
                Poll::Ready(Ok(()))
            }
        }
    }
}

impl<S: Split> Packets for Lanes<S> {
    fn poll_recv(&mut self, cx: &mut Context<'_>, buf: &mut BytesMut) -> Poll<io::Result<Target>> {
        let mut asked = 0;
        while asked < self.lanes.len() {
            let at = (self.turn + asked) % self.lanes.len();
            match self.lanes[at].poll_in(cx, buf) {
                Poll::Pending => asked += 1,
                Poll::Ready(Ok(target)) => {
                    self.turn = at + 1;
                    return Poll::Ready(Ok(target));
                }
                Poll::Ready(Err(error)) => {
                    tracing::debug!(%error, "a way of an association closed");
                    self.lanes.remove(at);
                    // Without any the association is over, and another begins with the next datagram.
                    if self.lanes.is_empty() {
                        return Poll::Ready(Err(error));
                    }
                    buf.clear();
                }
            }
        }
        Poll::Pending
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, payload: &[u8], peer: &Target) -> Poll<io::Result<()>> {
        let Some(key) = self.split.key(peer) else { return Poll::Ready(Ok(())) };
        let at = self.lane(&key, peer);
        let sent = self.lanes[at].poll_send(cx, payload, peer, &self.room);
        match sent {
            Poll::Ready(Err(error)) if self.lanes.len() > 1 => {
                tracing::debug!(%error, "a way of an association closed");
                self.lanes.remove(at);
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Ok(())) if at + 1 < self.lanes.len() => {
                let used = self.lanes.remove(at);
                self.lanes.push(used);
                Poll::Ready(Ok(()))
            }
            other => other,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::flow::{Stage, recv, send};

    /// Ways by port, of which 9 drops, 8 fails, and those from 1000 on never open; what they carry comes back as from where it went.
    #[derive(Clone, Default)]
    struct Ports(Arc<Mutex<Vec<u16>>>);

    struct Echo(Vec<(Vec<u8>, Target)>);

    impl Packets for Echo {
        fn poll_recv(&mut self, _: &mut Context<'_>, buf: &mut BytesMut) -> Poll<io::Result<Target>> {
            let Some((payload, peer)) = self.0.pop() else { return Poll::Pending };
            buf.extend_from_slice(&payload);
            Poll::Ready(if payload == b"break" { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(peer) })
        }

        fn poll_send(&mut self, _: &mut Context<'_>, payload: &[u8], peer: &Target) -> Poll<io::Result<()>> {
            self.0.insert(0, (payload.to_vec(), peer.clone()));
            Poll::Ready(Ok(()))
        }
    }

    impl Split for Ports {
        type Key = u16;

        fn key(&mut self, target: &Target) -> Option<u16> {
            (target.port != 9).then_some(target.port)
        }

        fn open(&self, key: &u16, _: &Target) -> BoxFuture<'static, Result<BoxPackets, DialError>> {
            self.0.lock().unwrap().push(*key);
            let (fails, hangs) = (*key == 8, *key >= 1000);
            Box::pin(async move {
                if hangs {
                    std::future::pending::<()>().await;
                }
                tokio::task::yield_now().await;
                if fails {
                    return Err(DialError::server(Stage::Dial, io::ErrorKind::ConnectionRefused));
                }
                Ok(Box::new(Echo(vec![])) as BoxPackets)
            })
        }
    }

    fn to(port: u16) -> Target {
        format!("10.0.0.1:{port}").parse().unwrap()
    }

    async fn answer(lanes: &mut Lanes<Ports>) -> (Vec<u8>, u16) {
        let mut buf = BytesMut::new();
        let from = recv(lanes, &mut buf).await.unwrap();
        (buf.to_vec(), from.port)
    }

    #[tokio::test]
    async fn each_way_is_opened_once_and_one_that_breaks_takes_no_other_along() {
        let ports = Ports::default();
        let mut lanes = Lanes::begin(ports.clone(), &to(1)).await.unwrap();
        for (text, port) in [(&b"a"[..], 1), (b"b", 2), (b"lost", 8), (b"lost", 9), (b"c", 2), (b"d", 1)] {
            send(&mut lanes, text, &to(port)).await.unwrap();
        }
        let mut heard = vec![];
        for _ in 0..4 {
            heard.push(answer(&mut lanes).await);
        }
        heard.sort();
        assert_eq!(heard, [(b"a".to_vec(), 1), (b"b".to_vec(), 2), (b"c".to_vec(), 2), (b"d".to_vec(), 1)]);
        assert_eq!(*ports.0.lock().unwrap(), [1, 2, 8]);
        send(&mut lanes, b"break", &to(2)).await.unwrap();
        send(&mut lanes, b"e", &to(1)).await.unwrap();
        assert_eq!(answer(&mut lanes).await, (b"e".to_vec(), 1));
        send(&mut lanes, b"f", &to(2)).await.unwrap();
        assert_eq!(answer(&mut lanes).await, (b"f".to_vec(), 2));
        assert_eq!(*ports.0.lock().unwrap(), [1, 2, 8, 2]);
        (20..100).for_each(|port| _ = lanes.lane(&port, &to(port)));
        assert_eq!(lanes.lanes.len(), LANES);
    }

    #[tokio::test]
    async fn what_waits_is_bounded_by_its_bytes() {
        let mut lanes = Lanes::begin(Ports::default(), &to(1)).await.unwrap();
        for port in 1000..1020 {
            for _ in 0..WAITING {
                send(&mut lanes, &[7; 60_000], &to(port)).await.unwrap();
            }
        }
        let held: usize = lanes
            .lanes
            .iter()
            .flat_map(|lane| {
                let (State::Opening(_, waiting) | State::Open(_, waiting)) = &lane.state;
                waiting.iter().map(|(kept, _)| kept.len())
            })
            .sum();
        assert!((900_000..=1 << 20).contains(&held), "{held}");
    }

    #[tokio::test]
    async fn the_first_way_decides_whether_the_association_begins() {
        for (port, stage) in [(8, Stage::Dial), (9, Stage::Policy)] {
            assert_eq!(Lanes::begin(Ports::default(), &to(port)).await.err().map(|error| error.stage), Some(stage));
        }
        let mut lanes = Lanes::begin(Ports::default(), &to(1)).await.unwrap();
        send(&mut lanes, b"break", &to(1)).await.unwrap();
        assert!(recv(&mut lanes, &mut BytesMut::new()).await.is_err());
    }
}
