//! `metrics`.

use crate::model::services::Metrics;
use crate::shape::{Field, Kind, Node, Reader};

/// Reads the section.
pub fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Metrics> {
    let mut metrics = Metrics::read(cx, node)?;
    if metrics.tag.is_empty() {
        if metrics.listen.is_empty() {
            cx.error(node, Kind::Missing, "Metrics must have a tag or listen address.");
        } else {
            metrics.tag = "Metrics".into();
        }
    }
    Some(metrics)
}
