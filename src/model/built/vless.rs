//! Which parts of VLESS can run.

use super::stream::{Part, refuse, skip};
use crate::model::protocol::{VlessAccount, VlessIn};
use crate::model::user::VlessFlow;

/// Said of both sides.
const ENCRYPTION: &str = "VLESS encryption";
const REVERSE: &str = "a VLESS reverse tunnel";
const VISION: &str = "the flow xtls-rprx-vision";

pub(super) fn server(vless: &VlessIn) -> Vec<Part> {
    let parts = [
        (!vless.decryption.is_none(), ENCRYPTION),
        (vless.clients.iter().any(|user| user.reverse.is_some()), REVERSE),
        (vless.flow != VlessFlow::None || vless.clients.iter().any(|user| user.flow != VlessFlow::None), VISION),
        (vless.fallbacks.is_some(), "fallbacks"),
    ];
    parts.iter().filter(|(there, _)| *there).map(|(_, name)| refuse(*name)).collect()
}

pub(super) fn client(account: &VlessAccount) -> Vec<Part> {
    let mut parts = vec![];
    if !account.encryption.is_none() {
        parts.push(refuse(ENCRYPTION));
    }
    if account.reverse.is_some() {
        parts.push(refuse(REVERSE));
    }
    if account.flow != VlessFlow::None {
        parts.push(refuse(VISION));
    }
    if account.testpre > 0 {
        parts.push(skip("testpre (connections are opened when flows come)"));
    }
    parts
}
