//! The one internal model. Data only: both frontends end here, the runtime begins here.

pub mod fields;
pub mod inbound;
pub mod keys;
pub mod kinds;
pub mod mux;
pub mod outbound;
pub mod protocol;
pub mod server;
pub mod sniffing;
pub mod sockopt;
pub mod stream;
