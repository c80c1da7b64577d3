//! A socket at which mKCP is spoken.

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::line::Line;
use super::road::Road;
use super::server::Server;
use super::shared::{Room, Shared};
use super::speaker::drive;
use crate::net::Hours;
use crate::net::tcp::canonical;
use crate::proto::mask::Masks;
use crate::proto::mkcp::{Body, Command, Connection, Segment, Segments, write_command};

/// Whoever calls.
#[derive(Debug)]
pub struct Call {
    /// What it says, and hears.
    pub line: Line,
    /// Where it says it is.
    pub source: SocketAddr,
}

/// A conversation, by who holds it with us.
type Id = (SocketAddr, u16);

struct Seat {
    shared: Shared,
    /// What its packets look like.
    server: Arc<Server>,
    /// The peer has shown that it hears us.
    answered: bool,
}

/// Conversations at a time, and those among them whose peer has not shown yet that it hears us. Beyond this nobody new is taken:
/// sources can be forged, and each costs two tasks.
const CONVERSATIONS: usize = 16 * 1024;
const UNANSWERED: usize = 1024;

/// How long it is known that a conversation is over, and of how many: what comes late must not begin it anew.
const REMEMBERED: Duration = Duration::from_secs(60);
const MEMORY: usize = 8192;

/// Servers that an earlier configuration left, while conversations are held by their settings.
const EARLIER: usize = 4;

/// Room for a packet, and packets that are taken before anything else is looked at.
const PACKET: usize = 9 * 1024;
const TURN: usize = 64;

/// Receives until its hours are over, or all who stayed after closing have gone. `server` says how conversations are held from
/// now on; `take` is given whoever calls, and may not block.
///
/// # Errors
/// Whatever the kernel says of the socket.
pub async fn listen(
    socket: std::net::UdpSocket,
    hours: &Hours,
    server: impl Fn() -> Option<Arc<Server>>,
    mut take: impl FnMut(Call),
) -> io::Result<()> {
    let socket = Arc::new(UdpSocket::from_std(socket)?);
    let (over, mut ended) = mpsc::unbounded_channel();
    let mut hall = Hall {
        socket: Arc::clone(&socket),
        seats: HashMap::new(),
        unanswered: 0,
        room: Room::default(),
        gone: Gone::default(),
        over,
    };
    let mut servers: VecDeque<Arc<Server>> = VecDeque::new();
    let mut open = true;
    let mut buf = BytesMut::with_capacity(PACKET);
    loop {
        if !open && hall.seats.is_empty() {
            return Ok(());
        }
        tokio::select! {
            biased;
            () = hours.over.cancelled() => {
                hall.seats.values().for_each(|seat| seat.shared.part());
                return Ok(());
            }
            () = hours.closing.cancelled(), if open => {
                open = false;
                continue;
            }
            Some(id) = ended.recv() => {
                hall.leave(id);
                continue;
            }
            ready = poll_fn(|cx| socket.poll_recv_ready(cx)) => ready?,
        }
        if let Some(now) = server().filter(|now| servers.front().is_none_or(|front| !Arc::ptr_eq(front, now))) {
            // Those that no conversation needs are held here alone.
            servers.retain(|server| Arc::strong_count(server) > 1);
            servers.truncate(EARLIER);
            servers.push_front(now);
        }
        for _ in 0..TURN {
            buf.clear();
            buf.reserve(PACKET);
            let from = match socket.try_recv_buf_from(&mut buf) {
                Ok((_, from)) => from,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // What a packet of ours met on its way.
                Err(_) => continue,
            };
            if let Some(call) = hall.hear(&mut buf, from, &servers, open) {
                take(call);
            }
        }
    }
}

/// All conversations of a socket.
struct Hall {
    socket: Arc<UdpSocket>,
    seats: HashMap<Id, Seat>,
    unanswered: usize,
    room: Room,
    gone: Gone,
    over: mpsc::UnboundedSender<Id>,
}

impl Hall {
    /// Gives a packet to its conversation, which may begin with it.
    fn hear(
        &mut self,
        packet: &mut [u8],
        from: SocketAddr,
        servers: &VecDeque<Arc<Server>>,
        open: bool,
    ) -> Option<Call> {
        let last = servers.len().saturating_sub(1);
        let mut copy = Vec::new();
        for (at, server) in servers.iter().enumerate() {
            let tried = if at == last {
                &mut *packet
            } else {
                copy.clear();
                copy.extend_from_slice(packet);
                &mut copy
            };
            let Some(segments) = server.masks.open(tried).map(|packet| Segments::new(packet)) else { continue };
            let Some(first) = segments.clone().next() else { continue };
            let id = (from, first.conversation);
            if let Some(seat) = self.seats.get_mut(&id) {
                if !Arc::ptr_eq(&seat.server, server) {
                    continue;
                }
                let answered = seat.shared.take(segments, self.room.is_free());
                if answered && !seat.answered {
                    seat.answered = true;
                    self.unanswered = self.unanswered.saturating_sub(1);
                }
                return None;
            }
            // Nobody calls by the settings of an earlier configuration.
            return if at == 0 && open { self.begin(id, server, &first, segments) } else { None };
        }
        None
    }

    fn begin<'a>(&mut self, id: Id, server: &Arc<Server>, first: &Segment<'a>, segments: Segments<'a>) -> Option<Call> {
        let begins = match &first.body {
            Body::Data { sending_next, .. } => *sending_next == 0,
            Body::Command { command: Command::Ping, sending_next, receiving_next, .. } => {
                (*sending_next, *receiving_next) == (0, 0)
            }
            Body::Command { command: Command::Terminate, .. } | Body::Ack { .. } => return None,
        };
        if !begins || self.gone.knows(id) {
            self.deny(id, &server.masks);
            return None;
        }
        if self.seats.len() >= CONVERSATIONS || self.unanswered >= UNANSWERED {
            tracing::debug!(from = %id.0, "too many conversations on one socket");
            return None;
        }
        let shared = Shared::new(Connection::new(id.1, server.settings.clone()), self.room.clone());
        shared.take(segments, self.room.is_free());
        let seat = Seat { shared: shared.clone(), server: Arc::clone(server), answered: false };
        self.seats.insert(id, seat);
        self.unanswered += 1;
        let road = Road::Shared { socket: Arc::clone(&self.socket), to: id.0 };
        let (line, server, over) = (Line::new(shared.clone()), Arc::clone(server), self.over.clone());
        tokio::spawn(async move {
            drive(shared, Worn(server), road).await;
            // Nobody listens once the socket is closed.
            let _ = over.send(id);
        });
        Some(Call { line, source: canonical(id.0) })
    }

    /// Says that nothing is known of a conversation, as after a restart: who holds it would wait for long.
    fn deny(&self, (to, conversation): Id, masks: &Masks) {
        let (mut word, mut packet) = (vec![], vec![]);
        write_command(conversation, false, Command::Terminate, [0; 3], &mut word);
        masks.seal(&word, &mut packet, &mut rand::rng());
        // It is said again with the next packet that comes.
        let _ = self.socket.try_send_to(&packet, to);
    }

    fn leave(&mut self, id: Id) {
        let Some(seat) = self.seats.remove(&id) else { return };
        if seat.answered {
            self.gone.remember(id);
        } else {
            self.unanswered = self.unanswered.saturating_sub(1);
        }
    }
}

/// The masks of a server, for as long as a conversation needs them.
struct Worn(Arc<Server>);

impl AsRef<Masks> for Worn {
    fn as_ref(&self) -> &Masks {
        &self.0.masks
    }
}

/// Conversations that are over.
#[derive(Default)]
struct Gone {
    known: HashMap<Id, Instant>,
    order: VecDeque<Id>,
}

impl Gone {
    fn knows(&self, id: Id) -> bool {
        self.known.get(&id).is_some_and(|since| since.elapsed() < REMEMBERED)
    }

    fn remember(&mut self, id: Id) {
        while let Some(first) = self.order.front().copied() {
            if self.order.len() < MEMORY && self.knows(first) {
                break;
            }
            self.order.pop_front();
            self.known.remove(&first);
        }
        if self.known.insert(id, Instant::now()).is_none() {
            self.order.push_back(id);
        }
    }
}
