//! etemenanki: a proxy engine that serves every flow through the best of several upstreams.
//!
//! A configuration (Xray's JSON or our own TOML) becomes a draft, the draft becomes a config, the config a snapshot, and
//! every flow runs on the snapshot it began with. `docs/architecture.md` draws the house.

pub mod addr;
