//! What is passed on: questions as they came, to the server they were meant for or to the one that is set.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::message::{Message, Room};
use crate::addr::{Network, Target};
use crate::dns::Question;
use crate::flow::{BoxFuture, BoxPackets, BoxStream, DialError, Flow, Packets, Services};
use crate::outbound::freedom::Freedom;

/// The ways beyond of one flow. They are opened when the first question takes them, and again when they have ended.
pub(super) struct Beyond {
    opener: Opener,
    over: Network,
    /// What the client takes.
    room: Room,
    /// For datagrams there is one way, for streams one to each server.
    ways: Vec<(Target, Way)>,
    /// Answers to questions that could not be passed on.
    failed: VecDeque<Message>,
}

struct Opener {
    house: Arc<dyn Services>,
    direct: Arc<Freedom>,
    flow: Flow,
}

/// Questions that wait until a way is open, or takes more; more are dropped.
const WAITING: usize = 32;

/// Questions whose answers are waited for; of more, the oldest will not be answered any more.
const DUE: usize = 64;

/// Servers that one flow may ask by streams.
const WAYS: usize = 8;

struct Way {
    state: State,
    /// Questions that have not left, and where they were meant to go.
    waiting: VecDeque<Message>,
    /// How many of the waiting question's bytes have left, and what of an answer has come, on a stream.
    left: usize,
    came: BytesMut,
    /// Questions that left and have no answer yet, the oldest first.
    due: VecDeque<Message>,
    /// Whether an answer came by this connection.
    served: bool,
}

enum State {
    Closed,
    OpeningStream(BoxFuture<'static, Result<BoxStream, DialError>>),
    OpeningPackets(BoxFuture<'static, Result<BoxPackets, DialError>>),
    Stream(BoxStream),
    Packets(BoxPackets),
}

impl Beyond {
    pub(super) fn new(house: Arc<dyn Services>, direct: Arc<Freedom>, mut flow: Flow, over: Network) -> Self {
        let room = if flow.network == Network::Udp { Room::Datagram } else { Room::Stream };
        // Whoever asks may ask any server: what is passed on is what the configuration lets through.
        flow.remote = false;
        flow.network = over;
        flow.meter = Arc::default();
        Self { opener: Opener { house, direct, flow }, over, room, ways: vec![], failed: VecDeque::new() }
    }

    /// Questions that have not left.
    pub(super) fn waiting(&self) -> usize {
        self.failed.len() + self.ways.iter().map(|(_, way)| way.waiting.len()).sum::<usize>()
    }

    /// Whether no answer is to be expected.
    pub(super) fn is_done(&self) -> bool {
        self.waiting() == 0 && self.ways.iter().all(|(_, way)| way.due.is_empty())
    }

    /// Takes a question.
    pub(super) fn pass(&mut self, bytes: &[u8], peer: &Target) {
        let one = self.over == Network::Udp;
        let at = match self.ways.iter().position(|(to, _)| one || to == peer) {
            Some(at) => at,
            None if self.ways.len() < WAYS => {
                self.ways.push((peer.clone(), Way::new()));
                self.ways.len() - 1
            }
            None => return,
        };
        let way = &mut self.ways[at].1;
        if way.waiting.len() < WAITING {
            way.waiting.push_back((bytes.to_vec(), peer.clone()));
        }
    }

    /// The next answer.
    pub(super) fn poll_answer(&mut self, cx: &mut Context<'_>) -> Poll<Message> {
        for (to, way) in &mut self.ways {
            match way.poll(cx, &self.opener, self.over, to) {
                Poll::Ready(Ok((bytes, from))) => return Poll::Ready((way.fitted(bytes, self.room), from)),
                Poll::Ready(Err(error)) => {
                    tracing::debug!(target: "dns", %error, "a question to {to} cannot be passed on");
                    let lost = std::mem::replace(way, Way::new());
                    let unanswered = lost.due.into_iter().chain(lost.waiting);
                    if lost.served {
                        // Servers close what served them long enough, and a question may just be on its way to one.
                        way.waiting.extend(unanswered);
                        cx.waker().wake_by_ref();
                    } else {
                        self.failed.extend(unanswered.filter_map(sorry));
                    }
                }
                Poll::Pending => {}
            }
        }
        self.failed.pop_front().map_or(Poll::Pending, Poll::Ready)
    }
}

/// What the client is told where its question could not be passed on.
fn sorry((bytes, peer): Message) -> Option<Message> {
    const FAILED: u16 = 2;
    Question::read(&bytes).ok().map(|question| (question.empty(FAILED), peer))
}

impl Way {
    fn new() -> Self {
        Self {
            state: State::Closed,
            waiting: VecDeque::new(),
            left: 0,
            came: BytesMut::new(),
            due: VecDeque::new(),
            served: false,
        }
    }

    /// An answer as the client takes it: one that came by a stream may be longer than its datagrams.
    fn fitted(&mut self, answer: Vec<u8>, room: Room) -> Vec<u8> {
        let asked = self.due.iter().position(|(question, _)| question.get(..2) == answer.get(..2));
        let asked = asked.and_then(|at| self.due.remove(at));
        match asked.map(|(question, _)| Question::read(&question)) {
            Some(Ok(question)) if room == Room::Datagram && answer.len() > question.limit().into() => question.cut(),
            _ => answer,
        }
    }

    /// The question at the front has left.
    fn sent(waiting: &mut VecDeque<Message>, due: &mut VecDeque<Message>) {
        if due.len() >= DUE {
            due.pop_front();
        }
        due.extend(waiting.pop_front());
    }

    /// Opens, sends and receives as far as that is possible now.
    fn poll(&mut self, cx: &mut Context<'_>, opener: &Opener, over: Network, to: &Target) -> Poll<io::Result<Message>> {
        loop {
            match &mut self.state {
                State::Closed if self.waiting.is_empty() => return Poll::Pending,
                State::Closed => self.state = opener.open(over, to),
                State::OpeningStream(opening) => {
                    let opened = ready!(opening.as_mut().poll(cx)).map_err(|error| error.source)?;
                    self.state = State::Stream(opened);
                }
                State::OpeningPackets(opening) => {
                    let opened = ready!(opening.as_mut().poll(cx)).map_err(|error| error.source)?;
                    self.state = State::Packets(opened);
                }
                State::Packets(packets) => {
                    while let Some((bytes, peer)) = self.waiting.front() {
                        let Poll::Ready(sent) = packets.poll_send(cx, bytes, peer) else { break };
                        sent?;
                        Self::sent(&mut self.waiting, &mut self.due);
                    }
                    self.came.clear();
                    let from = ready!(packets.poll_recv(cx, &mut self.came))?;
                    return Poll::Ready(Ok((self.came.to_vec(), from)));
                }
                State::Stream(stream) => {
                    let mut stream = Pin::new(stream);
                    while let Some((bytes, _)) = self.waiting.front() {
                        let len = u16::try_from(bytes.len()).map_err(io::Error::other)?.to_be_bytes();
                        let piece = len.get(self.left..).filter(|piece| !piece.is_empty());
                        let piece = piece.unwrap_or_else(|| &bytes[self.left - len.len()..]);
                        match stream.as_mut().poll_write(cx, piece)? {
                            Poll::Ready(0) if !piece.is_empty() => {
                                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
                            }
                            Poll::Ready(sent) => self.left += sent,
                            Poll::Pending => break,
                        }
                        if self.left >= len.len() + bytes.len() {
                            self.left = 0;
                            Self::sent(&mut self.waiting, &mut self.due);
                        }
                    }
                    let _ = stream.as_mut().poll_flush(cx)?;
                    if let Some((len, rest)) = self.came.split_first_chunk()
                        && let len = usize::from(u16::from_be_bytes(*len))
                        && let Some(message) = rest.get(..len)
                    {
                        let message = message.to_vec();
                        self.came.advance(2 + len);
                        self.served = true;
                        return Poll::Ready(Ok((message, to.clone())));
                    }
                    let mut chunk = [0; 2048];
                    let mut read = ReadBuf::new(&mut chunk);
                    ready!(stream.poll_read(cx, &mut read))?;
                    if read.filled().is_empty() {
                        // Servers close what is quiet; the next question finds a new way.
                        if !self.due.is_empty() || !self.waiting.is_empty() {
                            return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
                        }
                        *self = Self::new();
                        return Poll::Pending;
                    }
                    self.came.extend_from_slice(read.filled());
                }
            }
        }
    }
}

impl Opener {
    fn open(&self, over: Network, to: &Target) -> State {
        let (house, direct, mut flow) = (Arc::clone(&self.house), Arc::clone(&self.direct), self.flow.clone());
        if over == Network::Udp {
            return State::OpeningPackets(Box::pin(async move { direct.associate(&house, &flow).await }));
        }
        flow.route_target = Some(to.clone());
        State::OpeningStream(Box::pin(async move { direct.connect(&*house, &flow, b"").await }))
    }
}
