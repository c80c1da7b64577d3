//! The task of a conversation: it speaks when it is time to, and listens where nobody else does.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

use super::road::{Road, Sent};
use super::shared::Shared;
use crate::net::Scratch;
use crate::proto::mask::Masks;
use crate::proto::mkcp::Segments;

/// Speaks for a conversation until it is over.
pub(super) async fn drive(shared: Shared, masks: impl AsRef<Masks>, road: Road) {
    let mut timer = pin!(sleep(Duration::ZERO));
    let mut speaker = Speaker {
        shared,
        masks: masks.as_ref(),
        road,
        said: Vec::new(),
        ends: Vec::new(),
        next: 0,
        sealed: Vec::new(),
        refused: None,
    };
    poll_fn(|cx| speaker.poll(timer.as_mut(), cx)).await;
}

struct Speaker<'a> {
    shared: Shared,
    masks: &'a Masks,
    road: Road,
    /// Packets that were said, where each ends, and the next to leave.
    said: Vec<u8>,
    ends: Vec<usize>,
    next: usize,
    /// It, once it is on its way.
    sealed: Vec<u8>,
    /// Since when nobody is there, as the server's machine says.
    refused: Option<Instant>,
}

/// Packets that are said at a time.
const BATCH: usize = 32;

/// Turns before other tasks get theirs, and packets that are heard in each.
const TURNS: usize = 16;
const HEARD: usize = 32;

/// When a packet that had to wait is tried again.
const AGAIN: Duration = Duration::from_millis(1);

/// Somebody who was there is gone when their machine has said so for so long: that can be said by others too.
const GONE: Duration = Duration::from_secs(5);

impl Speaker<'_> {
    fn poll(&mut self, mut timer: Pin<&mut Sleep>, cx: &mut Context<'_>) -> Poll<()> {
        for _ in 0..TURNS {
            let heard = self.hear(cx);
            let waits = self.speak(cx);
            let Some(rest) = self.shared.rest(cx) else { return Poll::Ready(()) };
            if heard {
                continue;
            }
            let rest = if waits { AGAIN } else { rest };
            if rest.is_zero() {
                continue;
            }
            timer.as_mut().reset(Instant::now() + rest);
            if timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Takes what came; whether there may be more.
    fn hear(&mut self, cx: &mut Context<'_>) -> bool {
        if matches!(self.road, Road::Shared { .. }) {
            return false;
        }
        let mut buf = Scratch::take();
        for _ in 0..HEARD {
            buf.clear();
            match self.road.poll_hear(cx, &mut buf) {
                Poll::Pending => return false,
                Poll::Ready(Ok(())) => {
                    if let Some(packet) = self.masks.open(&mut buf) {
                        self.refused = None;
                        self.shared.take(Segments::new(packet), true);
                    }
                }
                Poll::Ready(Err(error)) => {
                    let refused = error.kind() == io::ErrorKind::ConnectionRefused;
                    let since = self.refused.get_or_insert_with(Instant::now);
                    if !refused || !self.shared.is_answered() || since.elapsed() >= GONE {
                        self.shared.fail(error.kind());
                        return false;
                    }
                }
            }
        }
        true
    }

    /// Says what is to be said; whether some of it has to wait.
    fn speak(&mut self, cx: &mut Context<'_>) -> bool {
        loop {
            while let Some(end) = self.ends.get(self.next).copied() {
                if self.sealed.is_empty() {
                    let start = self.next.checked_sub(1).and_then(|last| self.ends.get(last)).copied().unwrap_or(0);
                    let packet = self.said.get(start..end).unwrap_or_default();
                    self.masks.seal(packet, &mut self.sealed, &mut rand::rng());
                }
                match self.road.send(cx, &self.sealed) {
                    Sent::Done => {}
                    Sent::Later => return true,
                    Sent::Broken(error) => {
                        self.shared.fail(error.kind());
                        return false;
                    }
                }
                self.sealed.clear();
                self.next += 1;
            }
            self.said.clear();
            self.ends.clear();
            self.next = 0;
            self.shared.speak(BATCH, &mut self.said, &mut self.ends);
            if self.ends.is_empty() {
                // An idle conversation holds nothing.
                self.said = Vec::new();
                return false;
            }
        }
    }
}
