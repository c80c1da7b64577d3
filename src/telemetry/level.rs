//! Which events are said.

use tracing::{Level, Metadata};

/// Xray's levels; each includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Threshold {
    /// Nothing at all, the access log included.
    None,
    /// What needs a person.
    Error,
    /// What went wrong and was mended.
    #[default]
    Warning,
    /// What changed.
    Info,
    /// Everything.
    Debug,
}

impl Threshold {
    /// All of them, in their order.
    pub(super) const ALL: [Self; 5] = [Self::None, Self::Error, Self::Warning, Self::Info, Self::Debug];

    /// Whether an event or span of this kind passes.
    pub(super) fn lets_through(self, metadata: &Metadata<'_>) -> bool {
        let level = *metadata.level();
        match self {
            // Libraries speak of their own insides, and often of every frame a peer sends.
            _ if !is_ours(metadata.target()) && self < Self::Debug => self >= Self::Error && level == Level::ERROR,
            _ if !is_ours(metadata.target()) => level <= Level::WARN,
            Self::None => false,
            Self::Error => level == Level::ERROR,
            Self::Warning => level <= Level::WARN,
            Self::Info => level <= Level::INFO,
            Self::Debug => level <= Level::DEBUG,
        }
    }
}

/// Whether the house itself speaks: a module of ours, or one of the bare names that only we use.
fn is_ours(target: &str) -> bool {
    target.split("::").next() == Some(env!("CARGO_CRATE_NAME")) || matches!(target, "core" | "access" | "dns")
}

/// The word that stands in the brackets of a line.
pub(super) fn word(level: Level) -> &'static str {
    match level {
        Level::ERROR => "Error",
        Level::WARN => "Warning",
        Level::INFO => "Info",
        _ => "Debug",
    }
}
