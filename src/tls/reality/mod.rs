//! REALITY: TLS behind the face of somebody else's site.
//!
//! A client proves in its hello that it knows the server; the server proves in its certificate that it knew the client. To
//! anybody else the server is the site itself, since it hands everything through.

mod client;
pub(super) mod replay;
mod server;
mod token;

pub use client::{RealityClient, RealityClientOptions};
pub use server::{RealityServer, RealityServerOptions};
