//! The task of a connection: reads frames, writes frames.

use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use super::seat::Seat;
use super::state::{Side, State, Trunk};
use crate::addr::{Network, Target};
use crate::flow::BoxStream;
use crate::net::{Intake, Scratch, poll_drain};
use crate::proto::mux::{Found, Frame, GlobalId, Kind, read_frame, write_end};

/// Drives one connection. When it is dropped, the sessions are over.
pub struct Driver {
    io: BoxStream,
    trunk: Trunk,
    intake: Option<Intake>,
    need: usize,
    writing: Option<Scratch>,
    /// Something was written and not flushed.
    dirty: bool,
    /// How many sessions of the peer there may be at a time.
    most: usize,
}

/// A session that the peer began.
#[derive(Debug)]
pub struct Begun {
    /// Its place.
    pub seat: Seat,
    /// Stream or datagrams.
    pub network: Network,
    /// Where it goes.
    pub target: Target,
    /// By what it is known again.
    pub global: Option<GlobalId>,
}

/// What became of a frame.
enum Took {
    Done,
    /// Its session has no room.
    Later,
    Begun(Begun),
}

/// Frames before other tasks get their turn.
const TURNS: usize = 64;

/// Sessions of a peer at a time. Ids would allow 65536 of them; a client that keeps to its rules has 8, or what it is told.
const SESSIONS: usize = 1024;

/// How long the end of an idle connection may take to be said.
const PARTING: Duration = Duration::from_secs(5);

impl Driver {
    /// Of an open connection.
    #[must_use]
    pub fn new(io: BoxStream, trunk: Trunk) -> Self {
        Self { io, trunk, intake: None, need: 0, writing: None, dirty: false, most: SESSIONS }
    }

    /// Moves frames until the peer begins a session; `None` at the end of the connection. A client's never gives any.
    ///
    /// # Errors
    /// When the connection breaks, or the peer writes what is no frame.
    pub async fn next(&mut self) -> io::Result<Option<Begun>> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Says what is left to say, and closes the connection.
    pub async fn close(mut self) {
        self.trunk.close();
        let parting = async {
            poll_fn(|cx| self.poll_write(cx)).await?;
            self.io.shutdown().await
        };
        let _ = timeout(PARTING, parting).await;
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Begun>>> {
        self.trunk.lock().drive_by(cx.waker());
        for _ in 0..TURNS {
            let held = self.trunk.lock().holds_up();
            let turn = if held { Poll::Pending } else { self.poll_read(cx) };
            // Also what reading gave to say.
            if let Poll::Ready(written) = self.poll_write(cx) {
                written?;
            }
            if held && !self.trunk.lock().holds_up() {
                // What was in the way of reading has left, and nobody else would say so.
                continue;
            }
            match ready!(turn)? {
                Turn::Went => {}
                Turn::Began(begun) => return Poll::Ready(Ok(Some(begun))),
                Turn::Ended => return Poll::Ready(Ok(None)),
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Reads and takes frames until nothing more is there, a session began, or others should have their turn.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Turn>> {
        if self.need > 0 || self.intake.is_none() {
            let intake = self.intake.get_or_insert_with(Intake::take);
            let came = match intake.poll_read(&mut self.io, self.need.max(1), cx) {
                Poll::Ready(came) => came?,
                Poll::Pending => {
                    if intake.is_empty() {
                        self.intake = None;
                    }
                    return Poll::Pending;
                }
            };
            if came == 0 {
                let whole = intake.is_empty();
                self.intake = None;
                return Poll::Ready(if whole { Ok(Turn::Ended) } else { Err(io::ErrorKind::UnexpectedEof.into()) });
            }
        }
        self.take_frames()
    }

    fn take_frames(&mut self) -> Poll<io::Result<Turn>> {
        self.need = 0;
        while let Some(intake) = &mut self.intake {
            let input = intake.rest();
            let (frame, used, data) = match read_frame(input)? {
                Found::More { .. } if input.is_empty() => break,
                Found::More { need } => {
                    self.need = need;
                    return Poll::Ready(Ok(Turn::Went));
                }
                Found::Whole { frame, used, data } => (frame, used, data),
            };
            let data = data.map(|at: Range<usize>| &input[at]);
            let (took, wakers) = take(&self.trunk, frame, data, self.most);
            wakers.into_iter().flatten().for_each(Waker::wake);
            match took {
                Took::Later => return Poll::Pending,
                Took::Done => {
                    intake.use_up(used, 0..0);
                }
                Took::Begun(begun) => {
                    intake.use_up(used, 0..0);
                    return Poll::Ready(Ok(Turn::Began(begun)));
                }
            }
        }
        self.intake = None;
        Poll::Ready(Ok(Turn::Went))
    }

    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            if self.writing.is_none() {
                let (out, woken) = self.trunk.lock().take_out();
                woken.into_iter().for_each(Waker::wake);
                self.writing = out;
            }
            if self.writing.is_none() {
                break;
            }
            self.dirty = true;
            ready!(poll_drain(&mut self.writing, &mut *self.io, cx))?;
        }
        if self.dirty {
            ready!(Pin::new(&mut self.io).poll_flush(cx))?;
            self.dirty = false;
        }
        Poll::Ready(Ok(()))
    }
}

enum Turn {
    /// Frames were taken, or a part of one came.
    Went,
    Began(Begun),
    Ended,
}

/// Does what a frame says, and gives whom to wake.
fn take(trunk: &Trunk, frame: Frame, data: Option<&[u8]>, most: usize) -> (Took, [Option<Waker>; 2]) {
    let mut state = trunk.lock();
    state.hear();
    let id = frame.id;
    let mut wakers = [None, None];
    match frame.kind {
        Kind::New { network, target, global } if state.side == Side::Server => {
            // Ids are not used twice; both sessions end where somebody does.
            if let Some(old) = state.sessions.get_mut(&id) {
                old.over = Some(true);
                wakers = [old.reader.take(), state.push(|out| write_end(id, true, out))];
            } else if state.is_closed() || state.sessions.len() >= most {
                state.last = state.last.max(Some(id));
                wakers[1] = state.push(|out| write_end(id, true, out));
            } else {
                state.add(id, network, true);
                if let (Some(data), Some(session)) = (data, state.sessions.get_mut(&id)) {
                    session.inbox.put(network, None, data);
                }
                drop(state);
                return (Took::Begun(Begun { seat: Seat::new(trunk.clone(), id), network, target, global }), wakers);
            }
        }
        // A server begins nothing; what it tries to begin is not even refused, as in Xray.
        Kind::New { .. } | Kind::KeepAlive => {}
        Kind::Keep { peer } => return keep(&mut state, id, peer, data),
        Kind::End { error } => {
            if let Some(session) = state.sessions.get_mut(&id) {
                session.over.get_or_insert(error);
                wakers[0] = session.reader.take();
            }
        }
    }
    (Took::Done, wakers)
}

fn keep(state: &mut State, id: u16, peer: Option<Target>, data: Option<&[u8]>) -> (Took, [Option<Waker>; 2]) {
    let Some(session) = state.sessions.get_mut(&id) else {
        // What names a session of the past was on its way when that ended. Others nobody ever began.
        let past = state.last.is_some_and(|last| id <= last);
        let waker = if past { None } else { state.push(|out| write_end(id, true, out)) };
        return (Took::Done, [None, waker]);
    };
    let Some(data) = data.filter(|_| session.over.is_none()) else { return (Took::Done, [None, None]) };
    if !session.inbox.put(session.network, peer, data) {
        state.block(id);
        return (Took::Later, [None, None]);
    }
    (Took::Done, [session.reader.take(), None])
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.trunk.fail();
    }
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driver").finish_non_exhaustive()
    }
}
