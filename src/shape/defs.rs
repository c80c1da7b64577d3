//! The named schemas that others refer to; apart from those who fill it, since fields and records both do.

use std::collections::BTreeMap;

use serde_json::Value;

/// The named records met so far, as JSON schemas.
#[derive(Debug, Default)]
pub struct Defs {
    /// By name.
    pub map: BTreeMap<String, Value>,
}
