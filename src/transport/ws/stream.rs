//! An open WebSocket as a stream.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use crate::flow::{BoxStream, Stream};
use crate::net::Framed;
use crate::proto::websocket::{OpenFrames, SealFrames};

/// Frames around a connection, with what goes beside them: pings, answers to pings, and the end.
pub(super) struct WsStream {
    framed: Framed<BoxStream, SealFrames, OpenFrames>,
    beat: Option<Beat>,
    /// The peer has ended its half.
    ended: bool,
    /// Our end was told.
    closed: bool,
    /// A control frame was written and may wait in a layer.
    unflushed: bool,
}

/// Pings, one every period.
struct Beat {
    period: Duration,
    next: Pin<Box<Sleep>>,
}

impl WsStream {
    /// The client's end of it; `held` was read from the connection already.
    pub(super) fn client(io: BoxStream, held: BytesMut, heartbeat: Option<Duration>) -> Self {
        let (seal, open) = (SealFrames::new(Some(rand::random::<[u8; 4]>)), OpenFrames::new(false));
        Self::new(Framed::new(io, held, seal, open), heartbeat)
    }

    /// The server's end of it.
    pub(super) fn server(io: BoxStream, held: BytesMut, heartbeat: Option<Duration>) -> Self {
        let (seal, open) = (SealFrames::new(None), OpenFrames::new(true));
        Self::new(Framed::new(io, held, seal, open), heartbeat)
    }

    fn new(framed: Framed<BoxStream, SealFrames, OpenFrames>, heartbeat: Option<Duration>) -> Self {
        let beat = heartbeat.map(|period| Beat { period, next: Box::pin(sleep(period)) });
        Self { framed, beat, ended: false, closed: false, unflushed: false }
    }

    /// Sends what is due beside the payload, as far as it can go now. That it cannot go is told by the next write.
    fn poll_control(&mut self, cx: &mut Context<'_>) {
        if self.closed {
            return;
        }
        if let Some(payload) = self.framed.open_mut().take_ping() {
            self.framed.seal_mut().pong(payload);
        }
        if let Some(beat) = &mut self.beat {
            while beat.next.as_mut().poll(cx).is_ready() {
                self.framed.seal_mut().ping();
                let next = Instant::now() + beat.period;
                beat.next.as_mut().reset(next);
            }
        }
        if self.framed.seal_mut().has_control()
            && let Poll::Ready(Ok(_)) = Pin::new(&mut self.framed).poll_write(cx, &[])
        {
            self.unflushed = true;
        }
        if self.unflushed && Pin::new(&mut self.framed).poll_flush(cx).is_ready() {
            self.unflushed = false;
        }
    }
}

impl AsyncRead for WsStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.remaining();
        let read = Pin::new(&mut this.framed).poll_read(cx, buf);
        this.ended |= matches!(read, Poll::Ready(Ok(()))) && before > 0 && buf.remaining() == before;
        this.poll_control(cx);
        read
    }
}

impl AsyncWrite for WsStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().framed).poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().framed).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.ended {
            return Pin::new(&mut this.framed).poll_flush(cx);
        }
        this.closed = true;
        Pin::new(&mut this.framed).poll_shutdown(cx)
    }
}

impl Stream for WsStream {}

/// Whoever drops it has no time to wait; the end is told if the connection takes it now.
impl Drop for WsStream {
    fn drop(&mut self) {
        if !self.closed {
            let _ = Pin::new(&mut self.framed).poll_shutdown(&mut Context::from_waker(Waker::noop()));
        }
    }
}
