//! The part of `MIGRATION.md` that is made: what became of every key of Xray's JSON.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::every_key::{Fate, Findings};

/// Everything below this line is made.
pub const MARK: &str = "<!-- Made by `UPDATE_SCHEMAS=1 cargo test --test schemas`; do not edit below. -->\n";

/// Both tables.
pub fn tables(found: &Findings) -> String {
    let mut out = String::new();
    let carried = found.keys.iter().filter_map(|(key, fate)| match fate {
        Fate::Carried(toml) => Some((key, toml)),
        Fate::Dropped(_) => None,
    });
    let dropped: Vec<_> = found
        .keys
        .iter()
        .filter_map(|(key, fate)| match fate {
            Fate::Dropped(why) => Some((key, why)),
            Fate::Carried(_) => None,
        })
        .collect();
    let _ =
        write!(out, "\n### Read and not carried\n\n{} keys: each is told at its place, and why.\n\n", dropped.len());
    let _ = writeln!(out, "| JSON | why |\n|---|---|");
    for (key, why) in dropped {
        let _ = writeln!(out, "| `{key}` | {} |", cell(why));
    }
    // Grouped by section, since a table of all would be read by nobody.
    let mut sections: BTreeMap<&str, Vec<(&String, String)>> = BTreeMap::new();
    for (key, toml) in carried {
        let section = key.split(['.', '[']).next().unwrap_or_default();
        let words: Vec<String> = toml.iter().take(4).map(|path| format!("`{}`", path.replace("[]", ""))).collect();
        let more = if toml.len() > 4 { ", …" } else { "" };
        sections.entry(section).or_default().push((key, format!("{}{more}", words.join(", "))));
    }
    let count: usize = sections.values().map(Vec::len).sum();
    let _ = write!(
        out,
        "\n### Carried\n\n{count} keys. A record that stands at several places is listed at one of them.\n"
    );
    for (section, rows) in sections {
        let _ = write!(out, "\n#### `{section}`\n\n| JSON | TOML |\n|---|---|\n");
        for (key, toml) in rows {
            let toml = if toml.is_empty() { "the same without it".to_owned() } else { toml };
            let _ = writeln!(out, "| `{key}` | {toml} |");
        }
    }
    out
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
