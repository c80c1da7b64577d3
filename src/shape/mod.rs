//! How records describe themselves.
//!
//! A settings struct is declared once, with [`record!`](crate::record): the Rust field name is the TOML key, the JSON
//! names stand beside it, then docs and default. From that one declaration follow the lenient JSON reader, the strict
//! TOML reader, both writers, both JSON schemas and the key reference in `docs/toml.md`. What two files would have to
//! agree about therefore stands in one place, and a key cannot be known to one side alone.

mod defs;
mod field;
mod kinds;
mod macros;
mod node;
mod plain;
mod problem;
mod reader;
mod schema;
mod secret;
mod support;
mod table;
mod time;

pub use defs::{Defs, nullable};
pub use field::Field;
pub use kinds::{Ranged, TextList};
pub use node::{Entry, Node, Raw, Span, Spot, Value};
pub use plain::{Plain, PlainMap};
pub use problem::{Kind, Problem, Severity, nearest};
pub use reader::{Class, Dialect, Mark, Reader, Seg};
pub use schema::{KeyDoc, Record, object};
pub use secret::Secret;
pub use support::{join_doc, json_word, old_key, push_key, read_key, read_word, shape_word, write_key};
pub use table::{Key, Table};
pub use time::{GoTime, Millis, Seconds, parse as parse_time, print as print_time};
