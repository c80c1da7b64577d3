//! The idle limit and the cancellation of one flow, at no cost per packet.
//!
//! Activity only stores the time; the timer is set anew when it rings too early, not when something moves. And since
//! asking a timer or a token takes a lock or two, both are polled under a waker of their own: unless that one rang, a turn
//! of the relay pays a single load.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use tokio::time::{Instant, Sleep};
use tokio_util::sync::WaitForCancellationFuture;

/// Why a flow must end although its streams have not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alarm {
    /// Nothing moved for the limit.
    Idle,
    /// The token fell.
    Cancelled,
}

/// Watches one flow. Timer and token are pinned where the flow's future keeps them, so this costs no allocation but the
/// waker's:
///
/// ```
/// # use std::{future::poll_fn, pin::pin, time::Duration};
/// # use etemenanki::net::{Alarm, Watch};
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// # let token = tokio_util::sync::CancellationToken::new();
/// let limit = Duration::from_millis(5);
/// let sleep = pin!(tokio::time::sleep(limit));
/// let cancelled = pin!(token.cancelled());
/// let mut watch = Watch::new(sleep, cancelled, Some(limit));
/// assert_eq!(poll_fn(|cx| watch.poll(cx)).await, Alarm::Idle);
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Watch<'a, 't> {
    sleep: Pin<&'a mut Sleep>,
    cancelled: Pin<&'a mut WaitForCancellationFuture<'t>>,
    limit: Option<Duration>,
    last: Instant,
    bell: Option<Arc<Bell>>,
}

impl<'a, 't> Watch<'a, 't> {
    /// Starts counting now; without a limit only the token can ring.
    #[must_use]
    pub fn new(
        sleep: Pin<&'a mut Sleep>,
        cancelled: Pin<&'a mut WaitForCancellationFuture<'t>>,
        limit: Option<Duration>,
    ) -> Self {
        let mut watch = Self { sleep, cancelled, limit: None, last: Instant::now(), bell: None };
        watch.set_limit(limit);
        watch
    }

    /// Something moved just now.
    pub fn touch(&mut self, now: Instant) {
        self.last = now;
    }

    /// Another limit from here on, counted from the last activity.
    pub fn set_limit(&mut self, limit: Option<Duration>) {
        self.limit = limit;
        if let Some(due) = self.due() {
            self.sleep.as_mut().reset(due);
        }
        // The timer must be polled once to be armed.
        self.bell = None;
    }

    /// Ready when the flow must end.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Alarm> {
        let bell = match &self.bell {
            Some(bell) if bell.task.will_wake(cx.waker()) => {
                if !bell.rang.load(Ordering::Acquire) {
                    return Poll::Pending;
                }
                bell.rang.store(false, Ordering::Release);
                Arc::clone(bell)
            }
            _ => {
                let bell = Arc::new(Bell { rang: AtomicBool::new(false), task: cx.waker().clone() });
                self.bell = Some(Arc::clone(&bell));
                bell
            }
        };
        let waker = Waker::from(bell);
        self.poll_both(&mut Context::from_waker(&waker))
    }

    fn poll_both(&mut self, cx: &mut Context<'_>) -> Poll<Alarm> {
        if self.cancelled.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Alarm::Cancelled);
        }
        while let Some(due) = self.due() {
            if self.sleep.as_mut().poll(cx).is_pending() {
                break;
            }
            if due <= Instant::now() {
                return Poll::Ready(Alarm::Idle);
            }
            self.sleep.as_mut().reset(due);
        }
        Poll::Pending
    }

    fn due(&self) -> Option<Instant> {
        // A limit past the end of time is none.
        self.limit.and_then(|limit| self.last.checked_add(limit))
    }
}

/// Wakes the flow's task and remembers that it was not its sockets that did.
#[derive(Debug)]
struct Bell {
    rang: AtomicBool,
    task: Waker,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.rang.store(true, Ordering::Release);
        self.task.wake_by_ref();
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::pin;

    use tokio::time::{advance, sleep};
    use tokio_util::sync::CancellationToken;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn activity_moves_the_limit() {
        let token = CancellationToken::new();
        let timer = pin!(sleep(LIMIT));
        let cancelled = pin!(token.cancelled());
        let mut watch = Watch::new(timer, cancelled, Some(LIMIT));
        let begun = Instant::now();
        assert!(poll_fn(|cx| Poll::Ready(watch.poll(cx))).await.is_pending());
        advance(Duration::from_secs(6)).await;
        watch.touch(Instant::now());
        assert_eq!(poll_fn(|cx| watch.poll(cx)).await, Alarm::Idle);
        assert_eq!(begun.elapsed().as_secs(), 16);
    }

    #[tokio::test(start_paused = true)]
    async fn a_shorter_limit_counts_from_the_last_activity() {
        let token = CancellationToken::new();
        let timer = pin!(sleep(LIMIT));
        let cancelled = pin!(token.cancelled());
        let mut watch = Watch::new(timer, cancelled, None);
        let begun = Instant::now();
        assert!(poll_fn(|cx| Poll::Ready(watch.poll(cx))).await.is_pending());
        advance(Duration::from_secs(60)).await;
        watch.touch(Instant::now());
        watch.set_limit(Some(Duration::from_secs(2)));
        assert_eq!(poll_fn(|cx| watch.poll(cx)).await, Alarm::Idle);
        assert_eq!(begun.elapsed().as_secs(), 62);
    }

    #[tokio::test(start_paused = true)]
    async fn the_token_rings_at_once() {
        let token = CancellationToken::new();
        let timer = pin!(sleep(LIMIT));
        let cancelled = pin!(token.cancelled());
        let mut watch = Watch::new(timer, cancelled, None);
        assert!(poll_fn(|cx| Poll::Ready(watch.poll(cx))).await.is_pending());
        token.cancel();
        assert_eq!(poll_fn(|cx| watch.poll(cx)).await, Alarm::Cancelled);
    }
}
