//! HTTP services: reverse proxies that decide per request, by rendezvous hashing of the request's key.
//!
//! Requests with one key go to one server while it is there; when servers come, go, are fenced or change their weight, only
//! those keys move that must. All services of a configuration are one [`HttpServices`]: a service can be a server of
//! another, and tells it when its own last server goes down or the first comes up. Connections to servers are dialled
//! directly and kept for later requests; what has not left yet is given to the next server.

mod answer;
mod backend;
mod check;
mod exchange;
mod headers;
mod idle;
mod key;
mod listen;
mod report;
mod status;
mod tunnel;

pub use listen::{Listening, Times};
pub use status::HttpServices;
