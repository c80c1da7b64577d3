//! Several servers of one outbound, used in turn.
//!
//! Xray takes one server and refuses more; V2Ray took turns over a list, and old configurations hold such lists. A server
//! that cannot be reached or refuses us is passed over for that connection.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::flow::{Blame, DialError, Stage};

/// Servers in turn.
#[derive(Debug)]
pub struct Rotation<T> {
    servers: Box<[T]>,
    turn: AtomicUsize,
}

impl<T> Rotation<T> {
    /// Begins with the first.
    #[must_use]
    pub fn new(servers: Vec<T>) -> Self {
        Self { servers: servers.into(), turn: AtomicUsize::new(0) }
    }

    /// Each server once, beginning with the one whose turn it is.
    pub fn turn(&self) -> impl Iterator<Item = &T> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % self.servers.len().max(1);
        let (later, first) = self.servers.split_at(turn);
        first.iter().chain(later)
    }

    /// Judges the failure of one server: given back as it is if the next server may do better, else as the end of the tries.
    /// It is told here only where there are several, since that of the outbound is told by whoever asked it.
    ///
    /// # Errors
    /// The failure itself, where it is the target's fault or ours.
    pub(super) fn pass_over(&self, error: DialError) -> Result<DialError, DialError> {
        if error.blame != Blame::Server {
            return Err(error);
        }
        if self.servers.len() > 1 {
            tracing::debug!(%error, "a server of the outbound failed");
        }
        Ok(error)
    }
}

/// The failure of an outbound that has no server to try.
pub(super) fn no_server() -> DialError {
    DialError::us(Stage::Policy, std::io::ErrorKind::AddrNotAvailable)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::ErrorKind;

    use super::*;

    #[test]
    fn every_connection_begins_with_the_next() {
        let rotation = Rotation::new(vec!['a', 'b', 'c']);
        let orders: Vec<String> = (0..4).map(|_| rotation.turn().collect()).collect();
        assert_eq!(orders, ["abc", "bca", "cab", "abc"]);
        assert_eq!(Rotation::<char>::new(Vec::new()).turn().count(), 0);
    }

    #[test]
    fn only_a_failure_of_the_server_is_passed_over() {
        let servers = Rotation::new(vec!['a', 'b']);
        assert!(servers.pass_over(DialError::server(Stage::Dial, ErrorKind::ConnectionRefused)).is_ok());
        assert!(servers.pass_over(DialError::target(Stage::Answer, ErrorKind::HostUnreachable)).is_err());
        assert!(servers.pass_over(no_server()).is_err());
    }
}
