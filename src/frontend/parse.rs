//! The parser of each format.

use super::format::Format;
use super::text::{Parsed, Text};
use super::{json, tomltree};
#[cfg(not(feature = "yaml"))]
use crate::shape::{Kind, Severity};

/// Parses a text.
pub(super) fn parse(text: &Text, format: Format, strict: bool) -> Parsed {
    match format {
        Format::Json => json::parse(text, strict),
        Format::Toml => tomltree::parse(text),
        #[cfg(feature = "yaml")]
        Format::Yaml => super::yaml::parse(text),
        #[cfg(not(feature = "yaml"))]
        Format::Yaml => refused(text, "this build reads no YAML (cargo feature `yaml`)"),
        Format::Protobuf => Parsed::default(),
    }
}

#[cfg(not(feature = "yaml"))]
fn refused(text: &Text, message: &str) -> Parsed {
    let problem = text.problem(Severity::Error, Kind::Source, text.span(0, 0), message);
    Parsed { problems: vec![problem], ..Parsed::default() }
}
