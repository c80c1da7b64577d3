//! Files to drafts, and drafts back to text. The only place that knows a file format.
//!
//! Every format becomes one tree of [`Node`](crate::shape::Node)s with places before anything is understood, because
//! only then a message can point at the user's own text whatever the format was.

mod envelope;
mod excerpt;
mod format;
mod json;
mod load;
mod merge;
mod parse;
mod report;
pub mod schema;
mod secrets;
mod settle;
mod sources;
mod text;
pub mod toml;
mod tomltree;
pub mod xray;
#[cfg(feature = "yaml")]
mod yaml;

pub use format::Format;
pub use json::{MAX_DEPTH, parse as parse_json};
pub use load::{Loaded, Options, Source, load, load_watched};
pub use merge::{Envelope, Item as MergedItem};
pub use report::{Colour, Counts, Item, Report, headline, render, scrub, sort};
pub use secrets::find as find_secrets;
pub use settle::{Change, settle};
pub use sources::{File, Sources};
pub use text::{Comment, LIMIT, Parsed, Place, Text, decode};
pub use toml::{Note, emit as emit_toml};
pub use tomltree::parse as parse_toml;
#[cfg(feature = "yaml")]
pub use yaml::parse as parse_yaml;
