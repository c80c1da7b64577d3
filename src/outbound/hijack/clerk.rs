//! Takes the questions of one flow and gives the answers, in the order in which they are ready.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep, sleep};

use super::beyond::Beyond;
use super::message::{Message, Room};
use crate::addr::{DomainName, Target};
use crate::dns::{BadQuestion, Family, Handled, Handling, Question};
use crate::flow::{BoxFuture, Services, Wanted};

/// All questions of one flow.
pub(super) struct Clerk {
    house: Arc<dyn Services>,
    /// What happens to which question; absent: all are passed on.
    handling: Option<Arc<Handling>>,
    /// Answers that are being found.
    open: JoinSet<Message>,
    /// Answers that are there.
    ready: VecDeque<Message>,
    beyond: Beyond,
    /// Whoever waits for an answer.
    reader: Option<Waker>,
    quiet: Option<Quiet>,
}

/// What a flow that is quiet waits for.
struct Quiet {
    limit: Duration,
    timer: Pin<Box<Sleep>>,
}

/// The flow was quiet for too long.
#[derive(Debug)]
pub(super) struct Idle;

/// Questions of one flow that are open at a time. A stream that has more waits, datagrams are dropped.
const OPEN: usize = 64;

impl Clerk {
    pub(super) fn new(
        house: Arc<dyn Services>,
        handling: Option<Arc<Handling>>,
        beyond: Beyond,
        idle: Option<Duration>,
    ) -> Self {
        let quiet = idle.map(|limit| Quiet { limit, timer: Box::pin(sleep(limit)) });
        Self { house, handling, open: JoinSet::new(), ready: VecDeque::new(), beyond, reader: None, quiet }
    }

    /// Whether another question may come.
    pub(super) fn has_room(&self) -> bool {
        self.open.len() + self.ready.len() + self.beyond.waiting() < OPEN
    }

    /// Whether no answer is to be expected.
    pub(super) fn is_done(&self) -> bool {
        self.open.is_empty() && self.ready.is_empty() && self.beyond.is_done()
    }

    /// Takes a message of the client's.
    ///
    /// # Errors
    /// What comes is no question at all.
    pub(super) fn take(
        &mut self,
        cx: &mut Context<'_>,
        bytes: &[u8],
        peer: &Target,
        room: Room,
    ) -> Result<(), BadQuestion> {
        self.moved();
        self.wake();
        let Some(handling) = &self.handling else {
            self.beyond.pass(bytes, peer);
            return Ok(());
        };
        let question = match Question::read(bytes) {
            Ok(question) => question,
            Err(BadQuestion::Refused(said)) => {
                self.ready.push_back((said, peer.clone()));
                return Ok(());
            }
            Err(strange) => return Err(strange),
        };
        let handled = handling.of(&question);
        tracing::debug!(target: "dns", "a client asks for {} (type {}): {handled:?}", question.text(), question.kind());
        match handled {
            Handled::Dropped => {}
            Handled::PassedOn => self.beyond.pass(bytes, peer),
            Handled::Returned(code) => self.ready.push_back((question.empty(code), peer.clone())),
            Handled::Answered(family) => match question.name() {
                Ok(name) => self.ask(cx, question, name, family, peer, room),
                Err(code) => self.ready.push_back((question.empty(code), peer.clone())),
            },
        }
        Ok(())
    }

    /// Finds out what a name has. What is known needs no task.
    fn ask(
        &mut self,
        cx: &mut Context<'_>,
        question: Question,
        name: DomainName,
        family: Family,
        peer: &Target,
        room: Room,
    ) {
        let (house, peer) = (Arc::clone(&self.house), peer.clone());
        let mut asking: BoxFuture<'static, Message> = Box::pin(async move {
            let wanted = if family == Family::V4 { Wanted::V4 } else { Wanted::V6 };
            let told = house.tell(&name, wanted).await;
            let limit = if room == Room::Datagram { question.limit() } else { u16::MAX };
            let found = told.code == 0 && !told.ips.is_empty();
            let said = if found { question.answer(&told.ips, told.ttl, limit) } else { question.empty(told.code) };
            (said, peer)
        });
        match asking.as_mut().poll(cx) {
            Poll::Ready(message) => self.ready.push_back(message),
            Poll::Pending => _ = self.open.spawn(asking),
        }
    }

    /// The next answer.
    pub(super) fn poll_answer(&mut self, cx: &mut Context<'_>) -> Poll<Result<Message, Idle>> {
        if let Some(message) = self.ready.pop_front() {
            return Poll::Ready(Ok(message));
        }
        // One that panicked is a question that gets no answer.
        while let Poll::Ready(Some(joined)) = self.open.poll_join_next(cx) {
            if let Ok(message) = joined {
                self.moved();
                return Poll::Ready(Ok(message));
            }
        }
        if let Poll::Ready(message) = self.beyond.poll_answer(cx) {
            self.moved();
            return Poll::Ready(Ok(message));
        }
        if let Some(quiet) = &mut self.quiet
            && quiet.timer.as_mut().poll(cx).is_ready()
        {
            return Poll::Ready(Err(Idle));
        }
        self.reader = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Wakes whoever waits for an answer.
    pub(super) fn wake(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }

    fn moved(&mut self) {
        if let Some(quiet) = &mut self.quiet {
            quiet.timer.as_mut().reset(Instant::now() + quiet.limit);
        }
    }
}
