//! Another configuration while the engine runs: on a signal, or when its files change.
//!
//! Whatever is wrong with the new one is told, and the old one runs on untouched: a file is often half written, or broken
//! for as long as somebody edits it. What a change does to running flows is the engine's affair (`engine::apply`).

mod driver;
mod files;
mod hosts;
mod lists;
mod read;
mod updates;

pub use driver::{Gather, Reloader, print};
pub use files::Watched;
pub use hosts::{SYSTEM_HOSTS, add_hosts};
pub use lists::{lists_there_are, load_lists};
