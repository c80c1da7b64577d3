//! Whether a peer is still there.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::h2::{Ping, PingPong};
use tokio::time::{sleep, timeout};

/// When a silent peer is asked whether it is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Care {
    /// After so long without a byte from it; absent: never.
    pub silence: Option<Duration>,
    /// How long it may take to answer.
    pub patience: Duration,
    /// Also while no stream is open.
    pub always: bool,
}

impl Care {
    /// Never asks.
    #[must_use]
    pub fn none() -> Self {
        Self { silence: None, patience: Duration::ZERO, always: false }
    }

    /// Ends when the peer is gone.
    pub(super) async fn until_gone(self, mut pings: PingPong, heard: &AtomicBool, in_use: impl Fn() -> bool) {
        let Some(silence) = self.silence else { return std::future::pending().await };
        loop {
            heard.store(false, Ordering::Relaxed);
            sleep(silence).await;
            if heard.load(Ordering::Relaxed) || !(self.always || in_use()) {
                continue;
            }
            let pong = async {
                pings.send_ping(Ping::opaque())?;
                poll_fn(|cx| pings.poll_pong(cx)).await
            };
            if !matches!(timeout(self.patience, pong).await, Ok(Ok(_))) {
                return;
            }
        }
    }
}
