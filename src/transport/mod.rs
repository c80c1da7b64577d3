//! Carriers and security, put around a socket in the order that the model names.
//!
//! [`Dialer`] is the outbound's half, [`Acceptor`] the inbound's; both are built once, when a configuration is loaded. A
//! further carrier or security is one more arm of the enums in their files.

mod acceptor;
mod answers;
mod arrival;
mod browser;
mod dialer;
mod disguise;
mod door;
mod encryption;
mod error;
mod failed;
mod forwarded;
mod grpc;
pub mod h2;
mod headed;
pub mod http3;
mod httpupgrade;
pub mod hysteria;
mod lines;
mod masks;
pub mod mkcp;
pub mod mux;
pub mod quic;
mod request;
mod settings;
mod upgrade;
mod ws;
pub mod xhttp;

pub use acceptor::Acceptor;
pub use arrival::{Arrival, Arrivals, Hello};
pub use browser::fetch_headers;
pub use dialer::Dialer;
pub use encryption::{Decrypted, decrypt, encrypt};
pub use error::{AcceptError, TransportError};
pub use lines::Lines;
pub use masks::masks;
