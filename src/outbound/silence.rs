//! Servers that never answer.
//!
//! VMess says nothing to whom it does not let in, and clocks that differ let nobody in. So who never heard an answer is told
//! what that looks like.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::addr::Target;
use crate::proto::vmess::Opener;
use crate::wire::{Open, Opened, WireError};

/// What became of an outbound's connections.
#[derive(Debug, Default)]
pub(super) struct Silence {
    /// Whom they went to.
    servers: String,
    answered: AtomicBool,
    unanswered: AtomicU32,
}

/// Connections without an answer before it is spoken of; clients that leave early make some of them.
const ENOUGH: u32 = 3;

impl Silence {
    /// Of connections to these servers.
    pub(super) fn of<'a>(servers: impl Iterator<Item = &'a Target>) -> Self {
        let servers: Vec<_> = servers.map(Target::to_string).collect();
        Self { servers: servers.join(", "), ..Self::default() }
    }

    /// A connection ended without an answer; what is to be told now, if anything.
    fn deepens(&self) -> Option<String> {
        let speaks =
            !self.answered.load(Ordering::Relaxed) && self.unanswered.fetch_add(1, Ordering::Relaxed) + 1 == ENOUGH;
        speaks.then(|| {
            format!(
                "the VMess server {} answered none of {ENOUGH} connections: that is what a wrong id looks like, and a \
                 clock here or there that is wrong by more than two minutes",
                self.servers
            )
        })
    }
}

/// Opens a body, and notices whether an answer came.
pub(super) struct Listening {
    open: Opener,
    silence: Arc<Silence>,
    answered: bool,
}

impl Listening {
    pub(super) fn new(open: Opener, silence: Arc<Silence>) -> Self {
        Self { open, silence, answered: false }
    }
}

impl Open for Listening {
    fn open(&mut self, input: &mut [u8]) -> Result<Opened, WireError> {
        let opened = self.open.open(input)?;
        if !self.answered && self.open.is_answered() {
            self.answered = true;
            self.silence.answered.store(true, Ordering::Relaxed);
        }
        Ok(opened)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        if !self.answered
            && let Some(told) = self.silence.deepens()
        {
            tracing::warn!("{told}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_server_that_never_answered_is_spoken_of_and_once() {
        let servers: Vec<Target> =
            ["192.0.2.1:443", "a.example:80"].iter().filter_map(|text| text.parse().ok()).collect();
        let silence = Silence::of(servers.iter());
        let told: Vec<_> = (0..6).filter_map(|n| Some((n, silence.deepens()?))).collect();
        assert!(matches!(&told[..], [(2, text)] if text.contains(" 192.0.2.1:443, a.example:80 ")), "{told:?}");
        let silence = Silence::default();
        silence.answered.store(true, Ordering::Relaxed);
        assert!((0..6).all(|_| silence.deepens().is_none()));
    }
}
