//! VMess with the AEAD header: who asks, what for, and the body behind.

mod account;
mod answer;
mod body;
mod cipher;
mod kdf;
mod lengths;
mod options;
mod replay;
mod request;
mod sealed;
mod server;
#[cfg(test)]
mod vectors;

pub use account::{Account, AuthId, WINDOW};
pub use body::{Opener, Sealer};
pub use options::{Options, Security};
pub use replay::{History, SessionId};
pub use request::{Command, Request};
pub use sealed::seal_request;
pub use server::{Header, Knock, Knocked, Users};
