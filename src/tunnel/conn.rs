//! One connection: a stack of its own, and the queues to its outer end.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::{Buf, Bytes, BytesMut};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::socket::tcp::{Socket, SocketBuffer, State};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};
use tokio::sync::mpsc::{self, error::TryRecvError, error::TrySendError};
use tokio::sync::oneshot;

use super::ends::Ends;
use super::error::ConnectError;
use super::stream::{Inner, PIECE, TunnelStream};
use super::wire::Wire;

/// Bytes under way each way. Pages that nobody wrote to cost nothing.
const ROOM: usize = 1024 * 1024;

/// So long may bytes stay unanswered.
const PATIENCE: Duration = Duration::from_secs(60);

/// So long may a connection last that has no outer end any more.
const FAREWELL: Duration = Duration::from_secs(30);

/// Whoever waits for a connection to be there.
pub(super) type Waiting = oneshot::Sender<Result<TunnelStream, ConnectError>>;

pub(super) struct Conn {
    stack: Interface,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    /// The peer behind which the other end is.
    pub(super) peer: usize,
    up: Option<mpsc::Receiver<Bytes>>,
    /// What the socket did not take of a piece.
    piece: Bytes,
    down: Option<mpsc::Sender<io::Result<Bytes>>>,
    full: Arc<AtomicBool>,
    /// The outer end and whoever waits for it.
    waiting: Option<(TunnelStream, Waiting)>,
    /// When nobody wanted it any more.
    left: Option<Instant>,
    /// When it is to be looked at again.
    pub(super) next: Option<Instant>,
}

impl Conn {
    fn new(near: SocketAddr, wire: &mut Wire<'_>, seed: u64, peer: usize, inner: Inner, now: Instant) -> Self {
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = seed;
        let mut stack = Interface::new(config, wire, now);
        let (ip, len) = (IpAddress::from(near.ip()), if near.is_ipv4() { 32 } else { 128 });
        // Both have place: there is one of each.
        stack.update_ip_addrs(|addresses| {
            let _ = addresses.push(IpCidr::new(ip, len));
        });
        let routes = stack.routes_mut();
        match ip {
            IpAddress::Ipv4(ip) => drop(routes.add_default_ipv4_route(ip)),
            IpAddress::Ipv6(ip) => drop(routes.add_default_ipv6_route(ip)),
        }
        let room = || SocketBuffer::new(vec![0; ROOM]);
        let mut socket = Socket::new(room(), room());
        socket.set_nagle_enabled(false);
        socket.set_timeout(Some(PATIENCE));
        let mut sockets = SocketSet::new(vec![]);
        let socket = sockets.add(socket);
        let Inner { up, down, full } = inner;
        let (up, down) = (Some(up), Some(down));
        Self {
            stack,
            sockets,
            socket,
            peer,
            up,
            piece: Bytes::new(),
            down,
            full,
            waiting: None,
            left: None,
            next: None,
        }
    }

    /// One that calls.
    pub(super) fn calling(
        ends: Ends,
        wire: &mut Wire<'_>,
        seed: u64,
        peer: usize,
        (stream, inner): (TunnelStream, Inner),
        reply: Waiting,
        now: Instant,
    ) -> Self {
        let mut conn = Self::new(ends.from, wire, seed, peer, inner, now);
        let socket = conn.sockets.get_mut::<Socket<'_>>(conn.socket);
        // It cannot fail: both ends have ports, and the socket is new.
        let _ = socket.connect(conn.stack.context(), ends.to, ends.from.port());
        conn.waiting = Some((stream, reply));
        conn
    }

    /// One that is called.
    pub(super) fn called(ends: Ends, wire: &mut Wire<'_>, seed: u64, peer: usize, inner: Inner, now: Instant) -> Self {
        let mut conn = Self::new(ends.from, wire, seed, peer, inner, now);
        // Likewise.
        let _ = conn.sockets.get_mut::<Socket<'_>>(conn.socket).listen(ends.from);
        conn
    }

    /// Lets the stack take what came, and both ends do what they can. Whether the connection goes on; `silent` tells that
    /// the tunnel itself has no answer.
    pub(super) fn go_on(&mut self, wire: &mut Wire<'_>, room: &mut BytesMut, silent: bool, now: Instant) -> bool {
        self.stack.poll(now, wire, &mut self.sockets);
        let moved = self.settle(room, silent, now);
        if moved {
            self.stack.poll(now, wire, &mut self.sockets);
        }
        self.next = self.stack.poll_at(now, &self.sockets);
        self.next = match self.left {
            Some(left) => Some(self.next.map_or(left + FAREWELL, |next| next.min(left + FAREWELL))),
            None => self.next,
        };
        // What came before a bad end, and that it was bad, has to be told first.
        self.down.is_some() || self.sockets.get::<Socket<'_>>(self.socket).state() != State::Closed
    }

    /// Moves bytes between the socket and the queues. Whether the socket has something to say because of it.
    fn settle(&mut self, room: &mut BytesMut, silent: bool, now: Instant) -> bool {
        let socket = self.sockets.get_mut::<Socket<'_>>(self.socket);
        if let Some((stream, reply)) = self.waiting.take() {
            match socket.state() {
                State::SynSent | State::SynReceived if reply.is_closed() => socket.abort(),
                State::SynSent | State::SynReceived => self.waiting = Some((stream, reply)),
                State::Closed => {
                    let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
                    drop(reply.send(Err(if silent { ConnectError::Silent } else { ConnectError::Target(refused) })));
                }
                // Whoever does not wait any more drops the stream, which ends this.
                _ => drop(reply.send(Ok(stream))),
            }
        }
        if self.waiting.is_some() {
            return false;
        }
        let mut moved = send(socket, &mut self.up, &mut self.piece);
        moved |= receive(socket, &mut self.down, &self.full, room);
        if self.up.is_none() && self.down.as_ref().is_none_or(mpsc::Sender::is_closed) {
            let left = *self.left.get_or_insert(now);
            if now >= left + FAREWELL {
                socket.abort();
                moved = true;
            }
        }
        moved
    }

    /// Whether whoever waited for it does so no more.
    pub(super) fn is_given_up(&self) -> bool {
        self.waiting.as_ref().is_some_and(|(_, reply)| reply.is_closed())
    }

    /// Ends it at once.
    pub(super) fn abort(&mut self) {
        self.sockets.get_mut::<Socket<'_>>(self.socket).abort();
    }
}

fn send(socket: &mut Socket<'_>, up: &mut Option<mpsc::Receiver<Bytes>>, piece: &mut Bytes) -> bool {
    let mut moved = false;
    loop {
        if !piece.is_empty() {
            if matches!(socket.state(), State::Listen | State::SynReceived) {
                return moved;
            }
            if !socket.may_send() {
                piece.clear();
                *up = None;
                return moved;
            }
            match socket.send_slice(piece) {
                Ok(0) | Err(_) => return moved,
                Ok(len) => piece.advance(len),
            }
            moved = true;
            continue;
        }
        match up.as_mut().map(mpsc::Receiver::try_recv) {
            Some(Ok(next)) => *piece = next,
            Some(Err(TryRecvError::Disconnected)) => {
                *up = None;
                socket.close();
                return true;
            }
            Some(Err(TryRecvError::Empty)) | None => return moved,
        }
    }
}

fn receive(
    socket: &mut Socket<'_>,
    down: &mut Option<mpsc::Sender<io::Result<Bytes>>>,
    full: &AtomicBool,
    room: &mut BytesMut,
) -> bool {
    let mut moved = false;
    while socket.can_recv() {
        let Some(queue) = down.as_ref() else { break };
        if queue.is_closed() {
            // Nobody reads what came.
            socket.abort();
            *down = None;
            return true;
        }
        let Ok(place) = place(queue, full) else { return moved };
        let taken = socket.recv(|bytes| {
            let len = bytes.len().min(PIECE);
            if room.capacity() < len {
                room.reserve(4 * PIECE);
            }
            room.extend_from_slice(&bytes[..len]);
            (len, len)
        });
        if taken.is_ok_and(|len| len > 0) {
            place.send(Ok(room.split().freeze()));
            moved = true;
        }
    }
    if down.is_some() && !socket.can_recv() {
        match socket.state() {
            // The other end has said all; what it is told may go on.
            State::CloseWait | State::LastAck | State::Closing | State::TimeWait => *down = None,
            // It did not say so.
            State::Closed => {
                let told = down.as_ref().is_none_or(|queue| match place(queue, full) {
                    Ok(place) => {
                        place.send(Err(io::ErrorKind::ConnectionReset.into()));
                        true
                    }
                    Err(error) => matches!(error, TrySendError::Closed(())),
                });
                if told {
                    *down = None;
                }
            }
            _ => {}
        }
    }
    moved
}

/// A place in the queue. Without one the reader is asked to say when it took something.
fn place<'a, T>(queue: &'a mpsc::Sender<T>, full: &AtomicBool) -> Result<mpsc::Permit<'a, T>, TrySendError<()>> {
    match queue.try_reserve() {
        // Either the reader sees this, or it took something before and there is place now.
        Err(TrySendError::Full(())) if !full.swap(true, Ordering::AcqRel) => queue.try_reserve(),
        place => place,
    }
}
