//! Errors of the library as errors of streams.

use std::io;

use ::h2::{Error, Reason};

/// What a failed stream or connection comes to.
pub(super) fn fault(error: Error) -> io::Error {
    if error.is_io()
        && let Some(kind) = error.get_io().map(io::Error::kind)
    {
        return error.into_io().unwrap_or_else(|| kind.into());
    }
    let kind = match error.reason() {
        Some(Reason::CANCEL | Reason::NO_ERROR | Reason::REFUSED_STREAM) => io::ErrorKind::ConnectionReset,
        Some(_) if error.is_remote() => io::ErrorKind::ConnectionReset,
        _ => io::ErrorKind::InvalidData,
    };
    io::Error::new(kind, error)
}
