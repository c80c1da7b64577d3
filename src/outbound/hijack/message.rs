//! What goes in and out.

use crate::addr::Target;

/// A message, and where the client meant its question to go.
pub(super) type Message = (Vec<u8>, Target);

/// How long a message may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    /// As long as the client's datagrams.
    Datagram,
    /// As long as a length of two bytes says.
    Stream,
}
