//! VMess clients.

use crate::model::protocol::{VmessAccount, VmessSecurity};
use crate::model::server::Served;
use crate::outbound::{Vmess, VmessServer, Way};
use crate::proto::vmess::{Account, Options, Security};

pub(super) fn vmess(way: Way, written: &Served<VmessAccount>) -> Vmess {
    let servers = written.servers.iter().map(|server| {
        let account = &server.account;
        let (security, mut options) = sealed(account.security);
        if security != Security::None && account.experiments.contains("AuthenticatedLength") {
            options = options.with(Options::SEALED_LENGTHS);
        }
        VmessServer {
            address: server.target(),
            account: Account::new(account.id.bytes()),
            security,
            options,
            ending: !account.experiments.contains("NoTerminationSignal"),
        }
    });
    Vmess::new(way, servers.collect())
}

/// What a client's word means on the wire, with the options that Xray and V2Ray send beside it.
fn sealed(written: VmessSecurity) -> (Security, Options) {
    let chunked = Options::CHUNKS.with(Options::MASKED);
    match written {
        VmessSecurity::Auto if !aes_is_fast() => (Security::ChaCha20Poly1305, chunked.with(Options::PADDED)),
        VmessSecurity::Auto | VmessSecurity::Aes128Gcm => (Security::Aes128Gcm, chunked.with(Options::PADDED)),
        VmessSecurity::Chacha20 => (Security::ChaCha20Poly1305, chunked.with(Options::PADDED)),
        VmessSecurity::None => (Security::None, chunked),
        VmessSecurity::Zero => (Security::None, Options(0)),
    }
}

/// Whether the processor has AES.
fn aes_is_fast() -> bool {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    return std::arch::is_x86_feature_detected!("aes");
    #[cfg(target_arch = "aarch64")]
    return std::arch::is_aarch64_feature_detected!("aes");
    #[cfg(not(any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
    false
}
