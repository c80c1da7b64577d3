//! etemenanki: a proxy engine that serves every flow through the best of several upstreams.
//!
//! A configuration (Xray's JSON or our own TOML) becomes a draft, the draft becomes a config, the config a snapshot, and
//! every flow runs on the snapshot it began with. `docs/architecture.md` draws the house; `tests/layers.rs` guards it.

pub mod addr;
pub mod balance;
pub mod cli;
pub mod control;
pub mod convert;
pub mod demo;
pub mod dns;
pub mod engine;
pub mod flow;
pub mod frontend;
pub mod geo;
pub mod inbound;
pub mod journal;
pub mod model;
pub mod net;
pub mod outbound;
pub mod probe;
pub mod proto;
pub mod reload;
pub mod route;
pub mod service;
pub mod shape;
pub mod simulate;
pub mod telemetry;
pub mod tls;
pub mod transport;
pub mod tunnel;
pub mod update;
pub mod wire;
