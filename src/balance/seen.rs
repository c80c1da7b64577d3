//! What real flows show of a member: the evidence that guards and `adaptive` go by.

use std::time::Duration;

use crate::addr::Network;

/// One thing seen on a real flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seen {
    /// Of which member, by its place in the balancer's list.
    pub member: usize,
    /// What the flow carried.
    pub network: Network,
    /// What was seen.
    pub what: Evidence,
}

/// What a flow can show.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Evidence {
    /// The member was ready for the first byte after this long.
    Dialed(Duration),
    /// The member or its server refused at once, or broke the opening off.
    Refused,
    /// The dial ran into its limit.
    TimedOut,
    /// The dial went well, but no byte ever came back although some were sent.
    Silent,
    /// The first byte came back this long after the first was sent.
    Answered(Duration),
    /// The flow ended and had received this much in this time, from its first byte to its last.
    Received {
        /// Bytes.
        bytes: u64,
        /// From the first to the last.
        time: Duration,
    },
}

/// Who is told of what flows show. Called once or a few times a flow: it must neither wait nor allocate.
pub struct Ear(Box<dyn Fn(Seen) + Send + Sync>);

impl Ear {
    /// Tells this function.
    pub fn new(hear: impl Fn(Seen) + Send + Sync + 'static) -> Self {
        Self(Box::new(hear))
    }

    /// Says what was seen.
    pub fn hear(&self, seen: Seen) {
        (self.0)(seen);
    }
}

impl std::fmt::Debug for Ear {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ear")
    }
}
