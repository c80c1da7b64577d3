//! One flow on one member, and whom a flow tries in which order.

use super::trip::Trip;

/// How long a dial may take where nothing shortens it.
pub const DIAL: f64 = 5.0;
/// How many members a flow may try.
pub const TRIES: usize = 3;

/// One flow on one member.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Attempt {
    /// Who carried it.
    pub member: usize,
    /// When it began there.
    pub began: f64,
    /// Bytes it was sent for.
    pub size: f64,
    /// How it went.
    pub trip: Trip,
}

/// Members to try for one flow in their order, each with the limit of its dial.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Plan {
    tries: [(usize, f64); TRIES],
    len: usize,
}

impl Plan {
    /// Only this member.
    #[must_use]
    pub fn only(member: usize) -> Self {
        Self::default().then(member, DIAL)
    }

    /// One more, if another fits.
    #[must_use]
    pub fn then(mut self, member: usize, limit: f64) -> Self {
        if let Some(place) = self.tries.get_mut(self.len) {
            *place = (member, limit);
            self.len += 1;
        }
        self
    }

    /// The same with all the usual time for the last one: there is nobody after it.
    #[must_use]
    pub fn patient(mut self) -> Self {
        if let Some((_, limit)) = self.tries[..self.len].last_mut() {
            *limit = DIAL;
        }
        self
    }

    /// Who carries it first.
    #[must_use]
    pub fn first(&self) -> Option<usize> {
        self.tries().first().map(|&(member, _)| member)
    }

    /// All of them.
    #[must_use]
    pub fn tries(&self) -> &[(usize, f64)] {
        &self.tries[..self.len]
    }
}
