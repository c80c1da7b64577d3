//! The server's half of TLS 1.3 (RFC 8446), as far as REALITY needs it.
//!
//! A library would choose its own ServerHello and its own record lengths, and both must be another server's here. So this is
//! small and all of it is ours to shape: it reads a ClientHello, answers with a ServerHello made of a given one, writes
//! handshake messages in records of any wanted length, and protects what follows. There is no resumption, no client
//! certificate and no second hello: whatever is unusual goes to the borrowed server instead. Nothing here reads or writes
//! a socket.

mod exchange;
mod finished;
mod hello;
mod messages;
mod opener;
mod record;
mod schedule;
mod sealer;
mod suite;
mod template;

#[cfg(test)]
pub(super) mod testing;

pub use exchange::{Group, answer};
pub use finished::{Ready, Waiting};
pub use hello::{ClientHello, SESSION_ID};
pub use messages::{certificate, certificate_verify, encrypted_extensions, finished};
pub use opener::Opener;
pub use record::{ALERT, APPLICATION_DATA, CHANGE_CIPHER_SPEC, HANDSHAKE, HEADER, RecordKey, TAG, header};
pub use schedule::{HandshakeSecrets, Transcript};
pub use sealer::Sealer;
pub use suite::Suite;
pub use template::ServerHello;
