//! Questions to one server, in each way in which servers can be asked.
//!
//! `Asker` is the way that a server's address names. Whatever the way, one connection (for UDP: one association) is kept
//! and carries many questions (`kept`); a question that finds it dead is asked once more by a fresh one. Connections belong
//! to a server of one snapshot: after a reload the rules may send questions another way, so none is taken over.

pub(super) mod asker;
mod dial;
pub(super) mod fault;
mod https;
mod kept;
pub(super) mod question;
mod quic;
mod stream;
mod udp;
mod waiting;

pub use fault::Fault;

#[cfg(test)]
mod tests;
