//! What goes up, by requests of its own.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::Request;
use http_body_util::BodyExt;
use hyper::client::conn::http1;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::body::{Answered, Outgoing, Received};
use super::pool::Ticket;

/// A way to send requests one after the other.
pub(super) enum Sender {
    /// Over a connection of its own.
    Http1(http1::SendRequest<Outgoing>),
    /// Over one that is shared.
    Shared(Arc<Ticket>),
}

impl Sender {
    /// Sends a request; the answer is another matter.
    pub(super) async fn send(&mut self, request: Request<Outgoing>) -> io::Result<Answered> {
        match self {
            Self::Http1(sender) => {
                sender.ready().await.map_err(io::Error::other)?;
                let answer = sender.send_request(request);
                Ok(Box::pin(async move { Ok(answer.await.map_err(io::Error::other)?.map(Received::Hyper)) }))
            }
            Self::Shared(ticket) => ticket.send(request).await,
        }
    }

    /// Another of the same, where connections are shared; of an own one only what is left, which is nothing.
    pub(super) fn again(&self) -> Option<Self> {
        match self {
            Self::Http1(_) => None,
            Self::Shared(ticket) => Some(Self::Shared(Arc::clone(ticket))),
        }
    }

    /// Whether a request may leave before the one in front was answered.
    fn overlaps(&self) -> bool {
        matches!(self, Self::Shared(_))
    }
}

/// How packets are made.
pub(super) struct Pace {
    /// Most bytes of one.
    pub(super) most: usize,
    /// Time between the beginnings of two.
    pub(super) interval: Duration,
}

/// Packets under way at a time. A server keeps thirty of them, unless it is told otherwise.
const UNDER_WAY: usize = 16;

/// How long what was said last may take to arrive, once nobody listens to the stream any more.
const LINGER: Duration = Duration::from_secs(16);

/// Sends all that comes through the channel in packets; `packet` makes the request of one. Falls silent when one fails, and
/// says so by `end`.
pub(super) async fn packets(
    from: mpsc::Receiver<Bytes>,
    sender: Sender,
    pace: Pace,
    packet: impl Fn(u64, Bytes) -> Request<Outgoing> + Send,
    end: CancellationToken,
) {
    tokio::select! {
        () = send_all(from, sender, pace, packet, &end) => {}
        () = over(&end) => {}
    }
}

/// A stream is gone, and its last packets had their time.
async fn over(end: &CancellationToken) {
    end.cancelled().await;
    sleep(LINGER).await;
}

async fn send_all(
    mut from: mpsc::Receiver<Bytes>,
    mut sender: Sender,
    pace: Pace,
    packet: impl Fn(u64, Bytes) -> Request<Outgoing> + Send,
    end: &CancellationToken,
) {
    let places = Arc::new(Semaphore::new(UNDER_WAY));
    let mut left = Bytes::new();
    let mut number = 0;
    loop {
        let Some(bytes) = gather(&mut from, &mut left, pace.most).await else { return };
        let next = Instant::now() + pace.interval;
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok(answer) = sender.send(packet(number, bytes)).await else { return end.cancel() };
        number += 1;
        let settled = settle(answer);
        if sender.overlaps() {
            let end = end.clone();
            tokio::spawn(async move {
                tokio::select! {
                    settled = settled => if settled.is_err() {
                        end.cancel();
                    },
                    () = over(&end) => {}
                }
                drop(place);
            });
        } else if settled.await.is_err() {
            return end.cancel();
        }
        sleep_until(next).await;
    }
}

/// Reads the answer to a request that only goes up, for as long as the stream lives.
pub(super) async fn upload(answer: Answered, end: CancellationToken) {
    tokio::select! {
        settled = settle(answer) => {
            if settled.is_err() {
                end.cancel();
            }
        }
        () = end.cancelled() => {}
    }
}

/// Success, and nothing of the body kept.
async fn settle(answer: Answered) -> io::Result<()> {
    let response = answer.await?;
    if response.status() != 200 {
        return Err(io::Error::other(Status(response.status().as_u16())));
    }
    let mut body = response.into_body();
    while let Some(frame) = body.frame().await {
        frame?;
    }
    Ok(())
}

/// The server answered with something else than success.
#[derive(Debug, thiserror::Error)]
#[error("the server answered {0}")]
pub(super) struct Status(pub(super) u16);

/// The next packet: what waits, up to so many bytes. Nothing at the end.
async fn gather(from: &mut mpsc::Receiver<Bytes>, left: &mut Bytes, most: usize) -> Option<Bytes> {
    let mut first = std::mem::take(left);
    if first.is_empty() {
        first = from.recv().await?;
    }
    if first.len() >= most {
        *left = first.split_off(most);
        return Some(first);
    }
    let Ok(second) = from.try_recv() else { return Some(first) };
    let mut packet = BytesMut::from(first);
    packet.reserve(second.len().saturating_mul(from.len() + 1).min(most - packet.len()));
    let mut next = Some(second);
    while let Some(mut chunk) = next {
        let room = (most - packet.len()).min(chunk.len());
        packet.extend_from_slice(&chunk.split_to(room));
        if !chunk.is_empty() {
            *left = chunk;
            break;
        }
        next = if packet.len() < most { from.try_recv().ok() } else { None };
    }
    Some(packet.freeze())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use hyper_util::rt::TokioIo;
    use tokio::io::duplex;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn packets_that_nobody_answers_do_not_stay() {
        let (near, _far) = duplex(64 * 1024);
        let (sender, connection) = http1::handshake(TokioIo::new(near)).await.unwrap();
        tokio::spawn(connection);
        let (into, from) = mpsc::channel(8);
        let end = CancellationToken::new();
        let pace = Pace { most: 4, interval: Duration::ZERO };
        let packet = |_, bytes| Request::new(Outgoing::Whole(bytes));
        let sending = tokio::spawn(packets(from, Sender::Http1(sender), pace, packet, end.clone()));
        into.send(Bytes::from_static(b"abcdefgh")).await.unwrap();
        sleep(10 * LINGER).await;
        assert!(!sending.is_finished());
        end.cancel();
        sleep(2 * LINGER).await;
        assert!(sending.is_finished());
    }

    #[tokio::test]
    async fn packets_take_what_waits_and_no_more_than_fits() {
        let (sender, mut from) = mpsc::channel(8);
        for chunk in ["abc", "defgh", "i"] {
            sender.send(Bytes::from_static(chunk.as_bytes())).await.unwrap();
        }
        drop(sender);
        let mut left = Bytes::new();
        let mut all = Vec::new();
        while let Some(packet) = gather(&mut from, &mut left, 4).await {
            all.push(packet);
        }
        assert_eq!(all, ["abcd", "efgh", "i"]);
    }
}
