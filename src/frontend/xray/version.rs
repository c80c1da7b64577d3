//! `version`: which releases of Xray a configuration is for.

use std::cmp::Ordering;

use crate::model::services::Version;
use crate::shape::{Field, Kind, Node, Reader};

/// The release whose behaviour is offered (DECISIONS 1).
const CLAIMED: &str = "26.7.28";

/// Reads the section.
pub fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Version> {
    let version = Version::read(cx, node)?;
    check(cx, node, "min", &version.min, Ordering::Less, "or higher");
    check(cx, node, "max", &version.max, Ordering::Greater, "or lower");
    Some(version)
}

fn check(cx: &mut Reader<'_>, node: &Node, key: &str, bound: &str, bad: Ordering, which: &str) {
    if bound.is_empty() {
        return;
    }
    let at = node.map().unwrap_or_default().iter().rev().find(|e| e.key.eq_ignore_ascii_case(key));
    let at = at.map_or(node, |entry| &entry.node);
    cx.key(key, |cx| match compare(CLAIMED, bound) {
        None => {
            cx.wrong_value::<()>(at, "numbers with points between, such as \"25.1.30\"");
        }
        Some(order) if order == bad => {
            let message = format!("this config must be run on version {bound} {which}");
            cx.error(at, Kind::Value, message).help = Some(format!("this engine stands for Xray {CLAIMED}"));
        }
        Some(_) => {}
    });
}

/// Compares part by part; what is missing counts as 0.
fn compare(a: &str, b: &str) -> Option<Ordering> {
    let parts = |text: &str| text.split('.').map(|part| part.trim().parse::<u64>().ok()).collect::<Option<Vec<_>>>();
    let (mut a, mut b) = (parts(a)?, parts(b)?);
    let len = a.len().max(b.len());
    a.resize(len, 0);
    b.resize(len, 0);
    Some(a.cmp(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_number() {
        assert_eq!(compare("26.7.28", "26.7"), Some(Ordering::Greater));
        assert_eq!(compare("26.7.0", "26.7"), Some(Ordering::Equal));
        assert_eq!(compare("26.7.28", "26.10.1"), Some(Ordering::Less));
        assert_eq!(compare("26.7.28", "v26"), None);
    }
}
