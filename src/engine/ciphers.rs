//! The ciphers that methods of Shadowsocks name.

use crate::model::protocol::SsMethod;
use crate::proto::shadowsocks::Method;

/// The cipher of a method, if it has one.
pub(super) fn cipher(method: SsMethod) -> Option<Method> {
    Some(match method {
        SsMethod::Aes128Gcm | SsMethod::Blake3Aes128 => Method::Aes128,
        SsMethod::Aes256Gcm | SsMethod::Blake3Aes256 => Method::Aes256,
        SsMethod::Chacha20 | SsMethod::Blake3Chacha20 => Method::Chacha20,
        SsMethod::Xchacha20 => Method::Xchacha20,
        SsMethod::None => return None,
    })
}
