//! The words at start, stop and failure, which other programs look for.

use std::borrow::Cow;

use crate::shape::Dialect;

/// The Xray that we stand in for: `version.min` and `version.max` are held against it, and panels parse it.
pub const XRAY: &str = "26.7.28";

/// Whose words are spoken: those of the format that the configuration is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wording {
    /// Xray's, for its JSON (and its YAML).
    #[default]
    Xray,
    /// Those of our TOML.
    Own,
}

/// The two lines of `version`. Line 1 must begin `Xray <x.y.z> (`: v2rayN, Marzban, 3x-ui and the installers parse it.
#[must_use]
pub fn version() -> String {
    let (ours, os) = (env!("CARGO_PKG_VERSION"), std::env::consts::OS);
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let about = env!("CARGO_PKG_DESCRIPTION");
    format!("Xray {XRAY} (etemenanki {ours}, an engine of its own) Custom (rust {os}/{arch})\n{about}.")
}

impl Wording {
    /// Those of a configuration in this schema.
    #[must_use]
    pub fn of(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Json => Self::Xray,
            Dialect::Toml => Self::Own,
        }
    }

    /// What is said before anything else.
    #[must_use]
    pub fn banner(self) -> Option<String> {
        (self == Self::Xray).then(version)
    }

    /// What the log says once every inbound listens.
    #[must_use]
    pub fn started(self) -> String {
        match self {
            Self::Xray => format!("Xray {XRAY} started"),
            Self::Own => format!("etemenanki {} started", env!("CARGO_PKG_VERSION")),
        }
    }

    /// The last line when a configuration is refused; `more` problems stand above it.
    #[must_use]
    pub fn refused(self, reason: &str, more: usize, test: bool) -> String {
        let head = match (self, test) {
            (Self::Xray, _) => "Failed to start",
            (Self::Own, true) => "configuration invalid",
            (Self::Own, false) => "failed to start",
        };
        let reason = one_line(reason);
        if more == 0 { format!("{head}: {reason}") } else { format!("{head}: {reason} (and {more} more)") }
    }

    /// The last line when a good configuration cannot start.
    #[must_use]
    pub fn not_started(self, reason: &str) -> String {
        self.refused(reason, 0, false)
    }
}

/// What a test says before its verdict if so many parts cannot run: the configuration is good, and `run` refuses it all the
/// same.
#[must_use]
pub fn will_refuse(parts: usize) -> String {
    let parts = if parts == 1 { "1 part of it is".to_owned() } else { format!("{parts} parts of it are") };
    format!("warning: `run` refuses this configuration, for {parts} not built yet")
}

/// Panels show the last line, so the reason must be one.
fn one_line(text: &str) -> Cow<'_, str> {
    if text.contains(['\n', '\r']) {
        text.lines().map(str::trim).collect::<Vec<_>>().join(" ").into()
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_by_those_who_read_it() {
        let text = version();
        let first = text.lines().next().unwrap_or_default();
        // v2rayN: `Xray ([0-9.]+) \(`; 3x-ui, v2rayA, Xray-install: the second word.
        assert!(first.starts_with("Xray 26.7.28 (etemenanki "), "{first}");
        assert_eq!(first.split(' ').nth(1), Some(XRAY));
        assert_eq!(text.lines().count(), 2);
    }

    #[test]
    fn what_a_test_says_of_parts_that_cannot_run() {
        assert_eq!(will_refuse(1), "warning: `run` refuses this configuration, for 1 part of it is not built yet");
        assert!(will_refuse(12).contains("12 parts of it are not built"));
    }

    #[test]
    fn the_last_line_is_one_line_in_the_words_of_the_format() {
        assert_eq!(Wording::Xray.refused("a\n  b", 2, true), "Failed to start: a b (and 2 more)");
        assert_eq!(Wording::Own.refused("a", 0, true), "configuration invalid: a");
        assert_eq!(Wording::Own.not_started("a"), "failed to start: a");
    }
}
