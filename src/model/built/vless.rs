//! Which parts of VLESS can run.

use super::stream::{Part, refuse, skip};
use crate::model::protocol::{Dest, Fallback, VlessAccount, VlessIn};

/// Said of both sides.
const ENCRYPTION: &str = "VLESS encryption";
const REVERSE: &str = "a VLESS reverse tunnel";

pub(super) fn server(vless: &VlessIn) -> Vec<Part> {
    let parts =
        [(!vless.decryption.is_none(), ENCRYPTION), (vless.clients.iter().any(|user| user.reverse.is_some()), REVERSE)];
    let mut parts: Vec<_> = parts.iter().filter(|(there, _)| *there).map(|(_, name)| refuse(*name)).collect();
    parts.extend(fallbacks(vless.fallbacks.as_deref().unwrap_or_default()));
    parts
}

/// Fallbacks to what is no place that could be dialed.
pub(super) fn fallbacks(written: &[Fallback]) -> Vec<Part> {
    let places = written.iter().filter(|fallback| !matches!(fallback.place(), Some(Dest::Tcp(_) | Dest::Unix(_))));
    places.map(|fallback| refuse(format!("the fallback `{}`", fallback.dest.0))).collect()
}

pub(super) fn client(account: &VlessAccount) -> Vec<Part> {
    let mut parts = vec![];
    if !account.encryption.is_none() {
        parts.push(refuse(ENCRYPTION));
    }
    if account.reverse.is_some() {
        parts.push(refuse(REVERSE));
    }
    if account.testpre > 0 {
        parts.push(skip("testpre (connections are opened when flows come)"));
    }
    parts
}
