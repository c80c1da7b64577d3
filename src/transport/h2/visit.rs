//! The connection of a visitor.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use ::h2::Reason;
use ::h2::server::{Builder, Connection, SendResponse};
use bytes::Bytes;
use http::request::Parts;
use tokio::time::timeout;

use super::care::Care;
use super::downlink::Downlink;
use super::fault::fault;
use super::heard::Heard;
use super::line::SMALL_FRAMES;
use super::streams::{Streams, Ticket};
use super::uplink::UNSENT;
use super::windows::{CONNECTION, FIRST_OF_SERVER, Windows};
use crate::flow::{BoxFuture, BoxStream};

/// A visitor that speaks HTTP/2.
pub struct Visit {
    connection: Connection<Heard, Bytes>,
    windows: Arc<Windows>,
    /// The windows that the visitor was told of.
    told: u32,
    streams: Arc<Streams>,
    gone: BoxFuture<'static, ()>,
}

/// One request of a visitor.
#[derive(Debug)]
pub struct Request {
    /// What was asked.
    pub head: Parts,
    /// What comes with it.
    pub down: Downlink,
    /// How it is answered.
    pub respond: SendResponse<Bytes>,
    /// The place of the stream; to be kept as long as it runs.
    pub ticket: Ticket,
}

/// Most streams at a time. Peers with one connection for all have many, so this is no more than an end to memory, and
/// visitors are not told of it.
const STREAMS: usize = 4096;

/// The protocol's own largest frame.
const FRAME: u32 = 16_384;

impl Visit {
    /// Reads the beginning of HTTP/2 from a connection.
    ///
    /// # Errors
    /// It is none, or did not come within `limit`.
    pub async fn begin(io: BoxStream, care: Care, limit: Duration) -> io::Result<Self> {
        let (io, heard) = Heard::new(io);
        let mut builder = Builder::new();
        // What is said before a request was looked at is what Go's gRPC server says.
        builder.max_frame_size(FRAME).max_send_buffer_size(UNSENT).data_frame_budget(SMALL_FRAMES);
        let begun = timeout(limit, builder.handshake(io.preface_first())).await;
        let mut connection = begun.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?.map_err(fault)?;
        let (streams, windows) = (Arc::new(Streams::default()), Arc::new(Windows::growing(FIRST_OF_SERVER)));
        let (pings, open) = (connection.ping_pong(), Arc::clone(&streams));
        let gone = Box::pin(async move {
            match pings {
                Some(pings) => care.until_gone(pings, &heard, || open.count() > 0).await,
                None => std::future::pending().await,
            }
        });
        Ok(Self { connection, told: windows.now(), windows, streams, gone })
    }

    /// Moves the bytes of the connection until there is a further request; nothing once it is over. May be dropped and
    /// called again.
    pub async fn next(&mut self) -> Option<Request> {
        let (request, respond, ticket) = loop {
            tokio::select! {
                next = self.connection.accept() => {
                    let (request, mut respond) = next?.ok()?;
                    match Ticket::take(&self.streams, STREAMS) {
                        Some(ticket) => break (request, respond, ticket),
                        None => respond.send_reset(Reason::REFUSED_STREAM),
                    }
                }
                () = self.gone.as_mut() => return None,
                () = self.windows.grown() => {
                    let now = self.windows.now();
                    // Only one change can be under way; the next growth tells both.
                    if now != self.told && self.connection.set_initial_window_size(now).is_ok() {
                        self.told = now;
                    }
                }
            }
        };
        let (head, body) = request.into_parts();
        Some(Request { head, down: Downlink::new(body, Arc::clone(&self.windows)), respond, ticket })
    }

    /// Opens the window of the connection, once there was a request of one who knows what to ask for.
    pub fn welcome(&mut self) {
        self.connection.set_target_window_size(CONNECTION);
    }

    /// Takes no further request; what runs goes on.
    pub fn close(&mut self) {
        self.connection.graceful_shutdown();
    }
}

impl fmt::Debug for Visit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Visit").finish_non_exhaustive()
    }
}
