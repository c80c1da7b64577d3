//! The one internal model. Data only: both frontends end here, the runtime begins here.

pub mod balancer;
pub mod built;
pub mod check;
pub mod config;
pub mod dns;
pub mod draft;
pub mod fields;
pub mod inbound;
pub mod keys;
pub mod kinds;
pub mod log;
pub mod matcher;
pub mod mux;
pub mod name;
pub mod outbound;
pub mod policy;
pub mod protocol;
pub mod routing;
pub mod server;
pub mod services;
pub mod sniffing;
pub mod sockopt;
pub mod stream;
pub mod user;
