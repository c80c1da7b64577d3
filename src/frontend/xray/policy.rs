//! `policy`.

use std::collections::BTreeMap;

use crate::model::policy::Policy;
use crate::shape::{Entry, Field, Node, Reader, Value};

/// Reads the section.
pub fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Policy> {
    let mut policy = Policy::read(cx, node)?;
    let levels = node.map().unwrap_or_default().iter().rev().find(|e| e.key.eq_ignore_ascii_case("levels"));
    for entry in levels.map(|e| e.node.map().unwrap_or_default()).unwrap_or_default() {
        check_level(cx, entry);
    }
    // `"00"` and `"0"` are one level.
    let plain = |key: String| key.parse::<u32>().map_or(key, |n| n.to_string());
    policy.levels = policy.levels.into_iter().map(|(key, level)| (plain(key), level)).collect::<BTreeMap<_, _>>();
    Some(policy)
}

fn check_level(cx: &mut Reader<'_>, entry: &Entry) {
    if entry.key.parse::<u32>().is_err() {
        let key = Node { value: Value::Text(entry.key.clone()), span: entry.key_span };
        cx.key("levels", |cx| {
            cx.key(&entry.key, |cx| cx.wrong_value::<()>(&key, "a user level such as \"0\""));
        });
    }
}
