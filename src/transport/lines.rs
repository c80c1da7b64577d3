//! Where connections come from.

use super::quic::Port;
use crate::flow::{BoxFuture, BoxStream, DialError};

/// A source of connections to one server: each call opens another. Carriers that need more than one, or none because one is
/// open already, ask as they like.
pub trait Lines: Send + Sync {
    /// Opens a connection.
    fn line(&self) -> BoxFuture<'_, Result<BoxStream, DialError>>;

    /// Opens a way for the datagrams of another.
    fn port(&self) -> BoxFuture<'_, Result<Port, DialError>>;
}
