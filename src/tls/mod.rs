//! TLS settings of the model to rustls, and the streams around it.
//!
//! Everything is built once, when a configuration is loaded, so that a missing file or a bad pin is found then and not by the
//! first flow. What all parts share (the provider of the cryptography, the system's roots) is one [`Crypto`], passed in.

mod client;
mod crypto;
mod error;
mod fingerprint;
mod keylog;
mod material;
mod options;
mod reality;
mod records;
mod resolver;
mod server;
mod settings;
mod stream;
pub mod tls13;
mod verify;

#[cfg(test)]
pub(crate) mod testing;

pub use client::Client;
pub use crypto::Crypto;
pub use error::TlsError;
pub use options::{ClientOptions, Common, Inner, Pem, ServerOptions};
pub use reality::{RealityClient, RealityClientOptions, RealityServer, RealityServerOptions};
pub use server::Server;
pub use stream::TlsStream;
