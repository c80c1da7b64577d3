//! One inbound of Xray's JSON.

use serde_json::Value;

use crate::frontend::envelope::inbound as envelope;
use crate::model::inbound::Inbound;
use crate::shape::{Defs, Dialect, Node, PlainMap, Reader};

/// Reads an inbound; what is wrong with it was reported.
pub fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Inbound> {
    envelope::read(cx, node)
}

/// Writes an inbound.
#[must_use]
pub fn write(inbound: &Inbound) -> PlainMap {
    envelope::write(inbound, Dialect::Json)
}

/// The JSON schema of an inbound.
#[must_use]
pub fn schema(defs: &mut Defs) -> Value {
    envelope::schema(Dialect::Json, defs)
}
