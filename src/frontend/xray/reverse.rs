//! `reverse`, V2Ray's tunnels.

use crate::model::services::ReverseTunnels;
use crate::shape::{Field, Kind, Node, Reader};

/// Reads the section.
pub fn read(cx: &mut Reader<'_>, node: &Node) -> Option<ReverseTunnels> {
    cx.warn(node, Kind::Legacy, "`reverse` is V2Ray's form; newer Xray refuses it and has reverse tunnels in VLESS");
    let reverse = ReverseTunnels::read(cx, node)?;
    for (what, ends) in [("bridge", &reverse.bridges), ("portal", &reverse.portals)] {
        if ends.iter().any(|end| end.tag.is_empty() || end.domain.is_empty()) {
            cx.error(node, Kind::Missing, format!("a {what} needs both `tag` and `domain`"));
        }
    }
    Some(reverse)
}
