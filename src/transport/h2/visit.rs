//! The connection of a visitor.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

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

/// Most streams at a time. Peers with one connection for all have many, so this is no more than an end to memory.
const STREAMS: u32 = 4096;

/// Longest headers of a request.
const HEADERS: u32 = 64 * 1024;

impl Visit {
    /// Reads the beginning of HTTP/2 from a connection.
    ///
    /// # Errors
    /// It is none, or did not come within `limit`.
    pub async fn begin(io: BoxStream, care: Care, limit: Duration) -> io::Result<Self> {
        let (io, heard) = Heard::new(io);
        let mut builder = Builder::new();
        builder
            .initial_connection_window_size(CONNECTION)
            .max_concurrent_streams(STREAMS)
            .max_send_buffer_size(UNSENT)
            .max_header_list_size(HEADERS)
            .data_frame_budget(SMALL_FRAMES);
        let begun = timeout(limit, builder.handshake(io)).await;
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
        let (request, respond) = loop {
            tokio::select! {
                next = self.connection.accept() => break next?.ok()?,
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
        let ticket = Ticket::take(&self.streams, usize::MAX)?;
        Some(Request { head, down: Downlink::new(body, Arc::clone(&self.windows)), respond, ticket })
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
