//! `geodata`: downloads of list files.

use crate::model::services::Geodata;
use crate::shape::{Field, Kind, Node, Reader};

/// Reads the section.
pub fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Geodata> {
    let geodata = Geodata::read(cx, node)?;
    if !geodata.cron.is_empty() && !is_cron(&geodata.cron) {
        cx.error(node, Kind::Value, format!("invalid geodata cron: {:?}", geodata.cron)).help =
            Some("write five fields such as \"0 4 * * *\", or @daily, @every 12h".into());
    }
    for asset in &geodata.assets {
        let host = asset.url.strip_prefix("https://").unwrap_or_default();
        if host.is_empty() || host.starts_with('/') {
            cx.error(node, Kind::Value, format!("geodata url {:?} is not an https:// address", asset.url));
        }
        if asset.file.is_empty() || asset.file.contains(['/', '\\']) {
            cx.error(node, Kind::Value, format!("geodata file {:?} is not a file name", asset.file));
        }
    }
    Some(geodata)
}

/// Whether a text is a schedule: five fields, or a word with `@`.
fn is_cron(text: &str) -> bool {
    if let Some(word) = text.strip_prefix('@') {
        let every = word.strip_prefix("every ").and_then(crate::shape::parse_time);
        return every.is_some()
            || matches!(word, "yearly" | "annually" | "monthly" | "weekly" | "daily" | "midnight" | "hourly");
    }
    let fields: Vec<&str> = text.split_whitespace().collect();
    let fine = |field: &&str| field.bytes().all(|b| b.is_ascii_alphanumeric() || b"*/,-?".contains(&b));
    fields.len() == 5 && fields.iter().all(fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_have_five_fields_or_a_word() {
        for good in ["0 4 * * *", "*/5 0-6 1,15 JAN-MAR ?", "@daily", "@every 1h30m"] {
            assert!(is_cron(good), "{good}");
        }
        for bad in ["0 4 * *", "@often", "@every soon", "0 4 * * $"] {
            assert!(!is_cron(bad), "{bad}");
        }
    }
}
