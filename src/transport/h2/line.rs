//! A client's connection.

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

use ::h2::SendStream;
use ::h2::client::{Builder, Connection, ResponseFuture, SendRequest};
use bytes::Bytes;
use http::Request;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use super::care::Care;
use super::fault::fault;
use super::heard::{Heard, Mark};
use super::streams::{Streams, Ticket};
use super::uplink::{UNSENT, Uplink};
use super::windows::{CONNECTION, Windows};
use crate::flow::BoxStream;

/// One connection of a client. It lives as long as this value or a stream does, and the peer wants.
#[derive(Debug, Clone)]
pub struct Line {
    requests: SendRequest<Bytes>,
    windows: Arc<Windows>,
    streams: Arc<Streams>,
}

/// A request that is under way.
#[derive(Debug)]
pub struct Exchange {
    /// The answer, which need not come before something was sent.
    pub answer: ResponseFuture,
    /// What is sent.
    pub up: Uplink,
    /// Windows of the connection, for what is read.
    pub windows: Arc<Windows>,
    /// The place of the stream; to be kept as long as it runs.
    pub ticket: Ticket,
}

/// Most streams of one connection, whatever the peer allows: together they cannot use up the window of the connection.
const MOST: usize = 256;

/// How long a connection is kept without a stream.
const IDLE: Duration = Duration::from_secs(300);

/// Longest headers of an answer.
const HEADERS: u32 = 64 * 1024;

/// What small frames may cost in all beside their payload.
pub(super) const SMALL_FRAMES: usize = 32 * 1024 * 1024;

impl Line {
    /// Begins HTTP/2 on a connection. Ready once the peer has shown within `limit` that it speaks it too.
    ///
    /// # Errors
    /// It does not, or the connection broke.
    pub async fn open(io: BoxStream, windows: Windows, care: Care, limit: Duration) -> io::Result<Self> {
        let (io, heard) = Heard::new(io);
        let (tell, told) = oneshot::channel();
        let opening = async {
            let (requests, connection) = Builder::new()
                .initial_window_size(windows.now())
                .initial_connection_window_size(CONNECTION)
                .max_send_buffer_size(UNSENT)
                .max_header_list_size(HEADERS)
                .data_frame_budget(SMALL_FRAMES)
                .enable_push(false)
                .handshake(io)
                .await
                .map_err(fault)?;
            let (windows, streams) = (Arc::new(windows), Arc::new(Streams::default()));
            tokio::spawn(drive(connection, heard, care, Arc::clone(&windows), Arc::clone(&streams), tell));
            told.await.unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))?;
            Ok(Self { requests, windows, streams })
        };
        timeout(limit, opening).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }

    /// Sends the head of a request, unless the connection has no place for another stream. `Err` is for a connection that
    /// takes none any more.
    ///
    /// # Errors
    /// The connection is over, or the peer wants it to be.
    pub fn request(&self, request: &Request<()>) -> io::Result<Option<Exchange>> {
        if self.streams.is_closed() {
            return Err(io::ErrorKind::NotConnected.into());
        }
        let most = self.requests.current_max_send_streams().min(MOST);
        let Some(ticket) = Ticket::take(&self.streams, most) else { return Ok(None) };
        let sent = self.requests.clone().send_request(request.clone(), false);
        let (answer, up): (_, SendStream<Bytes>) = sent.map_err(|error| {
            self.streams.close();
            fault(error)
        })?;
        Ok(Some(Exchange { answer, up: Uplink::new(up), windows: Arc::clone(&self.windows), ticket }))
    }

    /// Whether it takes further streams, now or once others are over.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.streams.is_closed()
    }

    /// How many streams it has.
    #[must_use]
    pub fn streams(&self) -> usize {
        self.streams.count()
    }
}

/// Moves the bytes of a connection until it ends.
async fn drive(
    mut connection: Connection<Heard, Bytes>,
    heard: Mark,
    care: Care,
    windows: Arc<Windows>,
    streams: Arc<Streams>,
    tell: oneshot::Sender<io::Result<()>>,
) {
    let first = poll_fn(|cx| match Pin::new(&mut connection).poll(cx) {
        Poll::Ready(ended) => Poll::Ready(Err(ended.map_or_else(fault, |()| io::ErrorKind::UnexpectedEof.into()))),
        // What was read has been understood, or the connection would have ended.
        Poll::Pending if heard.load(Ordering::Relaxed) => Poll::Ready(Ok(())),
        Poll::Pending => Poll::Pending,
    });
    let first = first.await;
    let failed = first.is_err();
    if tell.send(first).is_err() || failed {
        return;
    }
    let pings = connection.ping_pong();
    let gone = async {
        match pings {
            Some(pings) => care.until_gone(pings, &heard, || streams.count() > 0).await,
            None => std::future::pending().await,
        }
    };
    let unused = async {
        loop {
            sleep(IDLE).await;
            if streams.close_unused() {
                return;
            }
        }
    };
    let mut told = windows.now();
    let mut over = pin!(async {
        tokio::select! {
            () = gone => {}
            () = unused => {}
        }
    });
    loop {
        tokio::select! {
            _ = &mut connection => break,
            () = &mut over => break,
            () = windows.grown() => {
                let now = windows.now();
                // Only one change can be under way; the next growth tells both.
                if now != told && connection.set_initial_window_size(now).is_ok() {
                    told = now;
                }
            }
        }
    }
    streams.close();
}
