//! Questions on a stream, each behind its length (RFC 7766): any number of them, answered as answers come.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::clerk::Clerk;
use super::message::Room;
use crate::addr::Target;
use crate::dns::BadQuestion;
use crate::flow::Stream;

/// A stream that takes questions and gives answers.
pub(super) struct Talk {
    clerk: Clerk,
    /// Where the client meant its questions to go.
    target: Target,
    /// What the client wrote and nobody has taken yet.
    asked: BytesMut,
    /// What the client has not read yet.
    said: BytesMut,
    state: State,
    /// Whoever waits until there is room for more questions.
    writer: Option<Waker>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// The client has asked everything.
    Ended,
    /// What came is no DNS.
    Broken,
}

/// Bytes of questions that wait: a message of the greatest length can be among them.
const WAITING: usize = 2 + u16::MAX as usize;

impl Talk {
    pub(super) fn new(clerk: Clerk, target: Target, first: &[u8]) -> Self {
        Self { clerk, target, asked: first.into(), said: BytesMut::new(), state: State::Open, writer: None }
    }

    /// Takes the questions that are whole, as far as there is room for them.
    fn take(&mut self, cx: &mut Context<'_>) {
        while self.state != State::Broken && self.clerk.has_room() {
            let Some((len, rest)) = self.asked.split_first_chunk() else { break };
            let len = usize::from(u16::from_be_bytes(*len));
            let Some(message) = rest.get(..len) else { break };
            let taken: Result<(), BadQuestion> = self.clerk.take(cx, message, &self.target, Room::Stream);
            if let Err(error) = taken {
                tracing::debug!(target: "dns", %error, "a flow to {} is closed", self.target);
                self.state = State::Broken;
            }
            self.asked.advance(2 + len);
        }
    }

    /// Waits for an answer, and says whether one came; otherwise there are no more.
    fn poll_said(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        loop {
            self.take(cx);
            if self.state == State::Broken {
                return Poll::Ready(false);
            }
            match self.clerk.poll_answer(cx) {
                Poll::Ready(Ok((message, _))) => {
                    // Longer ones do not come: neither from us nor behind a length of two bytes.
                    let Ok(len) = u16::try_from(message.len()) else { continue };
                    self.said.extend_from_slice(&len.to_be_bytes());
                    self.said.extend_from_slice(&message);
                    if let Some(writer) = self.writer.take() {
                        writer.wake();
                    }
                    return Poll::Ready(true);
                }
                Poll::Ready(Err(_)) => return Poll::Ready(false),
                Poll::Pending if self.state == State::Ended && self.clerk.is_done() => return Poll::Ready(false),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

impl AsyncRead for Talk {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.said.is_empty() && !ready!(self.poll_said(cx)) {
            return Poll::Ready(Ok(()));
        }
        let len = self.said.len().min(buf.remaining());
        buf.put_slice(&self.said.split_to(len));
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Talk {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.take(cx);
        if self.state != State::Open {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let room = WAITING.saturating_sub(self.asked.len());
        if room == 0 && !buf.is_empty() {
            self.writer = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let len = room.min(buf.len());
        self.asked.extend_from_slice(&buf[..len]);
        self.take(cx);
        Poll::Ready(Ok(len))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.state == State::Open {
            self.state = State::Ended;
            self.clerk.wake();
        }
        Poll::Ready(Ok(()))
    }
}

impl Stream for Talk {}
