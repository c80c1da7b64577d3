//! One outbound of Xray's JSON.

use serde_json::Value;

use crate::frontend::envelope::outbound as envelope;
use crate::model::outbound::Outbound;
use crate::shape::{Defs, Dialect, Node, PlainMap, Reader};

/// Reads an outbound; what is wrong with it was reported.
pub fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Outbound> {
    envelope::read(cx, node)
}

/// Writes an outbound.
#[must_use]
pub fn write(outbound: &Outbound) -> PlainMap {
    envelope::write(outbound, Dialect::Json)
}

/// The JSON schema of an outbound.
#[must_use]
pub fn schema(defs: &mut Defs) -> Value {
    envelope::schema(Dialect::Json, defs)
}
