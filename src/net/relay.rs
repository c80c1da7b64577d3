//! The relay: two streams, both ways, until both are over.
//!
//! One future moves both directions, so a tunnel is one task. Nothing is held while nothing moves: buffers and pipes are
//! borrowed for a turn (`way.rs`).

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::watch::{Alarm, Watch};
use super::way::{Fault, Way};
use crate::flow::{BoxStream, FlowEnd, Meter, Side};

/// How long a flow may be quiet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Quiet in both directions; `None` for as long as it likes.
    pub idle: Option<Duration>,
    /// Quiet of the way up, once the server has ended its half. Zero ends the flow then.
    pub uplink_only: Duration,
    /// Quiet of the way down, once the client has ended its half. Zero ends the flow then.
    pub downlink_only: Duration,
}

/// What a relay did.
#[derive(Debug)]
pub struct Relayed {
    /// Bytes from client to server.
    pub up: u64,
    /// Bytes from server to client.
    pub down: u64,
    /// Why it ended.
    pub end: FlowEnd,
}

/// Moves bytes both ways until both halves have ended, a limit passes, one side breaks or the token falls; both streams are
/// closed when it returns. The end of one half is passed on at once, the other half goes on. A side that takes no more
/// bytes is still heard out: servers answer before they have read everything.
pub async fn relay(
    client: BoxStream,
    server: BoxStream,
    limits: Limits,
    meter: &Meter,
    token: &CancellationToken,
) -> Relayed {
    let first = limits.idle.unwrap_or_default();
    let timer = pin!(sleep(first));
    let cancelled = pin!(token.cancelled());
    let mut watch = Watch::new(timer, cancelled, limits.idle);
    let mut pair = Pair { client, server, up: Way::default(), down: Way::default(), limits, broken: None };
    let end = poll_fn(|cx| pair.poll(cx, &mut watch, meter)).await;
    Relayed { up: pair.up.moved, down: pair.down.moved, end }
}

struct Pair {
    client: BoxStream,
    server: BoxStream,
    up: Way,
    down: Way,
    limits: Limits,
    /// The first side that took no more bytes.
    broken: Option<(Side, io::Error)>,
}

impl Pair {
    fn poll(&mut self, cx: &mut Context<'_>, watch: &mut Watch<'_, '_>, meter: &Meter) -> Poll<FlowEnd> {
        let (up, down) = (self.up.moved, self.down.moved);
        let open = self.open();
        let ended = self.poll_ways(cx);
        let (up, down) = (self.up.moved - up, self.down.moved - down);
        let half_closed = self.open() < open;
        if up + down > 0 || half_closed {
            let now = Instant::now();
            meter.moved(up, down, now);
            watch.touch(now);
        }
        if let Poll::Ready(end) = ended {
            return Poll::Ready(end);
        }
        if half_closed {
            let limit = if self.up.is_open() { self.limits.uplink_only } else { self.limits.downlink_only };
            watch.set_limit(Some(limit));
        }
        watch.poll(cx).map(|alarm| match (alarm, self.broken.take()) {
            (Alarm::Cancelled, _) => FlowEnd::Cancelled,
            (Alarm::Idle, Some((side, source))) => FlowEnd::Broken { side, source },
            (Alarm::Idle, None) if self.open() == 2 => FlowEnd::Idle,
            (Alarm::Idle, None) => FlowEnd::HalfIdle,
        })
    }

    fn poll_ways(&mut self, cx: &mut Context<'_>) -> Poll<FlowEnd> {
        let up = self.up.poll(&mut *self.client, &mut *self.server, cx);
        if let Some(end) = self.judge(up, Side::Client, Side::Server) {
            return Poll::Ready(end);
        }
        let down = self.down.poll(&mut *self.server, &mut *self.client, cx);
        if let Some(end) = self.judge(down, Side::Server, Side::Client) {
            return Poll::Ready(end);
        }
        if self.open() > 0 {
            return Poll::Pending;
        }
        Poll::Ready(self.broken.take().map_or(FlowEnd::Done, |(side, source)| FlowEnd::Broken { side, source }))
    }

    /// A side that cannot be read is gone, and the flow with it; one that cannot be written to may still speak.
    fn judge(&mut self, turn: Poll<Result<(), Fault>>, from: Side, to: Side) -> Option<FlowEnd> {
        match turn {
            Poll::Ready(Err(Fault::Read(source))) => Some(FlowEnd::Broken { side: from, source }),
            Poll::Ready(Err(Fault::Write(source))) => {
                self.broken.get_or_insert((to, source));
                None
            }
            _ => None,
        }
    }

    fn open(&self) -> usize {
        usize::from(self.up.is_open()) + usize::from(self.down.is_open())
    }
}

#[cfg(test)]
mod tests;
