//! Streams as the library for HTTP/3 wants them.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes};
use h3::quic::{self, BidiStream, ConnectionErrorIncoming, StreamErrorIncoming, StreamId, WriteBuf};
use quinn::{ConnectionError, ReadError, VarInt, WriteError};

use super::frames::Frames;

/// A stream both ways.
pub struct Both {
    sending: Sending,
    receiving: Receiving,
}

/// What is sent on a stream.
pub struct Sending {
    stream: quinn::SendStream,
    writing: Option<WriteBuf<Bytes>>,
}

/// What comes on a stream.
pub struct Receiving {
    stream: quinn::RecvStream,
    /// A first byte that says what the stream is for has still to come.
    typed: bool,
    frames: Option<Frames>,
    /// What came before the library asked.
    held: Bytes,
}

/// Ends when a peer wants no more of what is sent on a stream, or has all of it.
pub type Unwanted = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The type of a stream of one direction that consists of frames.
const CONTROL: u8 = 0;

/// A frame is too long to be gathered.
#[derive(Debug, thiserror::Error)]
#[error("a frame is too long")]
struct TooLong;

impl Both {
    pub(super) fn new((sending, receiving): (quinn::SendStream, quinn::RecvStream)) -> Self {
        let frames = Some(Frames::default());
        let receiving = Receiving { stream: receiving, typed: false, frames, held: Bytes::new() };
        Self { sending: Sending::new(sending), receiving }
    }

    /// The same, of which something was read already.
    pub(super) fn holding(mut self, held: Bytes) -> Self {
        self.receiving.held = held;
        self
    }

    pub(super) fn unwanted(&self) -> Unwanted {
        let stopped = self.sending.stream.stopped();
        Box::pin(async move { drop(stopped.await) })
    }
}

impl Sending {
    pub(super) fn new(stream: quinn::SendStream) -> Self {
        Self { stream, writing: None }
    }
}

impl Receiving {
    /// A stream of one direction.
    pub(super) fn typed(stream: quinn::RecvStream) -> Self {
        Self { stream, typed: true, frames: None, held: Bytes::new() }
    }

    /// Whether these bytes may be given on.
    fn pass(&mut self, mut bytes: &[u8]) -> bool {
        if let (true, [first, rest @ ..]) = (self.typed, bytes) {
            self.typed = false;
            self.frames = (*first == CONTROL).then(Frames::default);
            bytes = rest;
        }
        self.frames.as_mut().is_none_or(|frames| frames.pass(bytes))
    }
}

impl quic::RecvStream for Receiving {
    type Buf = Bytes;

    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        let held = std::mem::take(&mut self.held);
        let bytes = if held.is_empty() {
            // What waits is the stream itself, so this may be another future each time.
            let chunk = ready!(pin!(self.stream.read_chunk(usize::MAX, true)).poll(cx)).map_err(unread)?;
            let Some(chunk) = chunk else { return Poll::Ready(Ok(None)) };
            chunk.bytes
        } else {
            held
        };
        if self.pass(&bytes) {
            Poll::Ready(Ok(Some(bytes)))
        } else {
            Poll::Ready(Err(StreamErrorIncoming::Unknown(Box::new(TooLong))))
        }
    }

    fn stop_sending(&mut self, error_code: u64) {
        // It may have ended already.
        let _ = self.stream.stop(code(error_code));
    }

    fn recv_id(&self) -> StreamId {
        id(self.stream.id())
    }
}

impl quic::SendStream<Bytes> for Sending {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        while let Some(data) = self.writing.as_mut().filter(|data| data.has_remaining()) {
            let written = ready!(Pin::new(&mut self.stream).poll_write(cx, data.chunk())).map_err(unwritten)?;
            data.advance(written);
        }
        self.writing = None;
        Poll::Ready(Ok(()))
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.writing = Some(data.into());
        Ok(())
    }

    fn poll_finish(&mut self, _: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        Poll::Ready(self.stream.finish().map_err(|error| StreamErrorIncoming::Unknown(Box::new(error))))
    }

    fn reset(&mut self, reset_code: u64) {
        let _ = self.stream.reset(code(reset_code));
    }

    fn send_id(&self) -> StreamId {
        id(self.stream.id())
    }
}

impl BidiStream<Bytes> for Both {
    type SendStream = Sending;
    type RecvStream = Receiving;

    fn split(self) -> (Sending, Receiving) {
        (self.sending, self.receiving)
    }
}

impl quic::RecvStream for Both {
    type Buf = Bytes;

    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        self.receiving.poll_data(cx)
    }

    fn stop_sending(&mut self, error_code: u64) {
        self.receiving.stop_sending(error_code);
    }

    fn recv_id(&self) -> StreamId {
        self.receiving.recv_id()
    }
}

impl quic::SendStream<Bytes> for Both {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.sending.poll_ready(cx)
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.sending.send_data(data)
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.sending.poll_finish(cx)
    }

    fn reset(&mut self, reset_code: u64) {
        self.sending.reset(reset_code);
    }

    fn send_id(&self) -> StreamId {
        self.sending.send_id()
    }
}

fn code(code: u64) -> VarInt {
    VarInt::from_u64(code).unwrap_or(VarInt::MAX)
}

fn id(id: quinn::StreamId) -> StreamId {
    StreamId::try_from(VarInt::from(id).into_inner()).expect("both libraries bound ids by 62 bits")
}

/// What the end of a connection is for the library.
pub(super) fn lost(error: ConnectionError) -> ConnectionErrorIncoming {
    match error {
        ConnectionError::ApplicationClosed(close) => {
            ConnectionErrorIncoming::ApplicationClose { error_code: close.error_code.into_inner() }
        }
        ConnectionError::TimedOut => ConnectionErrorIncoming::Timeout,
        error => ConnectionErrorIncoming::Undefined(Arc::new(error)),
    }
}

fn unread(error: ReadError) -> StreamErrorIncoming {
    match error {
        ReadError::Reset(code) => StreamErrorIncoming::StreamTerminated { error_code: code.into_inner() },
        ReadError::ConnectionLost(error) => {
            StreamErrorIncoming::ConnectionErrorIncoming { connection_error: lost(error) }
        }
        error => StreamErrorIncoming::Unknown(Box::new(error)),
    }
}

fn unwritten(error: WriteError) -> StreamErrorIncoming {
    match error {
        WriteError::Stopped(code) => StreamErrorIncoming::StreamTerminated { error_code: code.into_inner() },
        WriteError::ConnectionLost(error) => {
            StreamErrorIncoming::ConnectionErrorIncoming { connection_error: lost(error) }
        }
        error => StreamErrorIncoming::Unknown(Box::new(error)),
    }
}
