//! The keys of an envelope that no record can write.

use crate::addr::Tag;
use crate::shape::{Plain, PlainMap};

/// Puts the two keys that a record cannot write: `protocol` at its place behind the tag, `settings` before what follows it.
pub(super) fn fill(map: &mut PlainMap, word: &str, settings: PlainMap) {
    for (key, value) in &mut map.entries {
        if key == "protocol" {
            *value = Plain::from(word);
        }
    }
    if !settings.is_empty() {
        let at = map.entries.iter().position(|(key, _)| AFTER.contains(&key.as_str())).unwrap_or(map.entries.len());
        map.entries.insert(at, ("settings".to_owned(), settings.into()));
    }
}

/// Tables that are written behind `settings`.
const AFTER: &[&str] = &["servers", "stream", "streamSettings", "sniffing", "via", "proxySettings", "mux"];

/// How an item is called in a message.
pub(super) fn named(what: &str, tag: &Tag) -> String {
    if tag.is_empty() { format!("this {what}") } else { format!("{what} {tag}") }
}
