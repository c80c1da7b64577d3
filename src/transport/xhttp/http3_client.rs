//! A connection of HTTP/3 on which a client asks.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use h3::client::{RequestStream, SendRequest, builder};
use http::Request;
use http::header::CONTENT_LENGTH;
use http_body_util::BodyExt;
use hyper::body::{Body, SizeHint};
use quinn::{Connection, VarInt};
use tokio::time::timeout;

use super::body::{Answered, Outgoing, Received};
use super::source::{Source, poll_bytes};
use crate::transport::http3::{Link, MOST, Opener, Receiving, Sending};

/// A connection. While a request runs, one of its clones must live.
#[derive(Clone)]
pub(super) struct Line {
    sender: SendRequest<Opener, Bytes>,
    connection: Connection,
    /// It takes no further request.
    spent: Arc<AtomicBool>,
}

/// Time for the first words, and for a request to find a place.
const LIMIT: Duration = Duration::from_secs(16);

impl Line {
    /// Says the first words on a connection.
    pub(super) async fn begin(connection: Connection) -> io::Result<Self> {
        let mut builder = builder();
        builder.max_field_section_size(MOST).send_grease(false);
        let begun = timeout(LIMIT, builder.build(Link::new(connection.clone()))).await;
        let (mut driver, sender) = begun.map_err(|_| io::ErrorKind::TimedOut)?.map_err(io::Error::other)?;
        let spent = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&spent);
        tokio::spawn(async move {
            // Its streams tell what went wrong with it.
            driver.wait_idle().await;
            ended.store(true, Ordering::Relaxed);
        });
        Ok(Self { sender, connection, spent })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.spent.load(Ordering::Relaxed) || self.connection.close_reason().is_some()
    }

    pub(super) fn close(&self) {
        self.spent.store(true, Ordering::Relaxed);
        // "No error", as HTTP/3 has it.
        self.connection.close(VarInt::from_u32(0x100), b"");
    }

    /// Sends a request; its body and the answer are other matters.
    pub(super) async fn send(&self, request: Request<Outgoing>) -> io::Result<Answered> {
        let (mut head, body) = request.into_parts();
        if let Some(len) = body.size_hint().exact().filter(|len| *len > 0) {
            head.headers.insert(CONTENT_LENGTH, len.into());
        }
        let mut line = self.clone();
        let sent = timeout(LIMIT, line.sender.send_request(Request::from_parts(head, ()))).await;
        let sent = sent.map_err(|_| io::ErrorKind::TimedOut.into()).and_then(|sent| sent.map_err(io::Error::other));
        let stream = sent.inspect_err(|_| self.spent.store(true, Ordering::Relaxed))?;
        let (sending, mut receiving) = stream.split();
        tokio::spawn(upload(sending, body, line.clone()));
        Ok(Box::pin(async move {
            let response = receiving.recv_response().await.map_err(io::Error::other)?;
            let down = Down { receiving, _line: line };
            Ok(response.map(|()| Received::Quic(Box::new(down), SizeHint::default())))
        }))
    }
}

async fn upload(mut sending: RequestStream<Sending, Bytes>, mut body: Outgoing, _line: Line) {
    while let Some(Ok(frame)) = body.frame().await {
        let Ok(bytes) = frame.into_data() else { continue };
        if sending.send_data(bytes).await.is_err() {
            return;
        }
    }
    // Where it fails, the answer tells.
    let _ = sending.finish().await;
}

/// The body of an answer.
struct Down {
    receiving: RequestStream<Receiving, Bytes>,
    _line: Line,
}

impl Source for Down {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Bytes>>> {
        poll_bytes(|| self.receiving.poll_recv_data(cx))
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line").finish_non_exhaustive()
    }
}
