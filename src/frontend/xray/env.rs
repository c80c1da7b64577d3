//! `env`: variables that are set before geodata files are opened.

use std::collections::BTreeMap;

use crate::shape::{Class, Field, Node, Reader};

/// Reads the section.
pub fn read(cx: &mut Reader<'_>, node: &Node) -> Option<BTreeMap<String, String>> {
    let env = BTreeMap::<String, String>::read(cx, node)?;
    for entry in node.map().unwrap_or_default() {
        cx.key(&entry.key, |cx| cx.mark(entry.node.span, Class::Kept, ""));
    }
    Some(env)
}
