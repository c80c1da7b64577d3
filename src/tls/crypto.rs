//! What all TLS parts of a process share.

use std::sync::{Arc, Mutex, OnceLock};

use rustls::crypto::{CryptoProvider, SupportedKxGroup, aws_lc_rs};
use rustls::{RootCertStore, SupportedCipherSuite, SupportedProtocolVersion};

use super::error::TlsError;
use super::options::Common;
use super::reality::replay::Replays;
use crate::model::tls::TlsVersion;

/// The provider of the cryptography, and the system's roots once somebody asks for them: reading those costs
/// milliseconds, and most configurations never do.
#[derive(Debug, Clone)]
pub struct Crypto {
    provider: Arc<CryptoProvider>,
    roots: Arc<OnceLock<Arc<RootCertStore>>>,
    replays: Arc<Mutex<Replays>>,
}

impl Default for Crypto {
    fn default() -> Self {
        Self { provider: Arc::new(aws_lc_rs::default_provider()), roots: Arc::default(), replays: Arc::default() }
    }
}

impl Crypto {
    /// The provider with all it can do.
    #[must_use]
    pub fn provider(&self) -> &Arc<CryptoProvider> {
        &self.provider
    }

    /// For a new configuration of the same process: the system's roots are read anew, what was let in stays known.
    #[must_use]
    pub fn renewed(&self) -> Self {
        Self { roots: Arc::default(), ..self.clone() }
    }

    /// Hellos that REALITY servers have let in.
    pub(super) fn replays(&self) -> Arc<Mutex<Replays>> {
        Arc::clone(&self.replays)
    }

    /// The system's roots; where there are none (small containers), Mozilla's as built in.
    pub(super) fn system_roots(&self) -> Arc<RootCertStore> {
        Arc::clone(self.roots.get_or_init(|| {
            let mut store = RootCertStore::empty();
            let found = rustls_native_certs::load_native_certs();
            store.add_parsable_certificates(found.certs);
            if store.is_empty() {
                tracing::info!("the system has no root certificates; using the built-in ones");
                store.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
            }
            Arc::new(store)
        }))
    }

    /// With these in place of the system's roots.
    #[cfg(test)]
    pub(super) fn trusting(roots: RootCertStore) -> Self {
        Self { roots: Arc::new(Arc::new(roots).into()), ..Self::default() }
    }

    /// The provider cut to what the options name.
    pub(super) fn narrowed(&self, options: &Common) -> Arc<CryptoProvider> {
        let suites = suites(&self.provider.cipher_suites, &options.cipher_suites);
        let groups = groups(&self.provider.kx_groups, &options.groups);
        if suites.is_none() && groups.is_none() {
            return Arc::clone(&self.provider);
        }
        let mut provider = CryptoProvider::clone(&self.provider);
        provider.cipher_suites = suites.unwrap_or(provider.cipher_suites);
        provider.kx_groups = groups.unwrap_or(provider.kx_groups);
        Arc::new(provider)
    }

    /// SHA-256 by way of a suite that has it, so that no second library is needed.
    pub(super) fn sha256(bytes: &[u8]) -> Option<[u8; 32]> {
        let SupportedCipherSuite::Tls13(suite) = aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256 else { return None };
        suite.common.hash_provider.hash(bytes).as_ref().try_into().ok()
    }
}

/// The versions between the two limits.
pub(super) fn versions(options: &Common) -> Result<Vec<&'static SupportedProtocolVersion>, TlsError> {
    let within = |version: TlsVersion| {
        let above = options.min == TlsVersion::Any || options.min <= version;
        above && (options.max == TlsVersion::Any || options.max >= version)
    };
    let all = [(TlsVersion::V12, &rustls::version::TLS12), (TlsVersion::V13, &rustls::version::TLS13)];
    let left: Vec<_> = all.iter().filter(|(version, _)| within(*version)).map(|(_, version)| *version).collect();
    if left.is_empty() { Err(TlsError::Versions) } else { Ok(left) }
}

/// All TLS 1.3 suites and the named ones of TLS 1.2, as Go does it; `None` if no name is known.
fn suites(all: &[SupportedCipherSuite], names: &[String]) -> Option<Vec<SupportedCipherSuite>> {
    let named = |suite: &&SupportedCipherSuite| {
        let name = format!("{:?}", suite.suite());
        names.iter().any(|wanted| wanted.trim().eq_ignore_ascii_case(&name))
    };
    let old: Vec<_> = all.iter().filter(|suite| suite.tls13().is_none()).filter(named).copied().collect();
    if old.is_empty() {
        return None;
    }
    Some(all.iter().filter(|suite| suite.tls13().is_some()).copied().chain(old).collect())
}

fn groups(all: &[&'static dyn SupportedKxGroup], names: &[String]) -> Option<Vec<&'static dyn SupportedKxGroup>> {
    let known = |wanted: &String| {
        let wanted = match wanted.trim().to_ascii_lowercase().as_str() {
            "curvep256" => "secp256r1".to_owned(),
            "curvep384" => "secp384r1".to_owned(),
            "curvep521" => "secp521r1".to_owned(),
            other => other.to_owned(),
        };
        all.iter().copied().find(|group| format!("{:?}", group.name()).eq_ignore_ascii_case(&wanted))
    };
    let left: Vec<_> = names.iter().filter_map(known).collect();
    if left.is_empty() { None } else { Some(left) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_named_suites_and_groups_are_left() {
        let crypto = Crypto::default();
        let options = Common {
            cipher_suites: vec!["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256".into(), "TLS_RSA_WITH_RC4_128_SHA".into()],
            groups: vec!["CurveP256".into(), "x25519".into(), "nonsense".into()],
            ..Common::default()
        };
        let provider = crypto.narrowed(&options);
        assert_eq!(provider.cipher_suites.iter().filter(|suite| suite.tls13().is_none()).count(), 1);
        assert!(provider.cipher_suites.iter().any(|suite| suite.tls13().is_some()));
        let groups: Vec<_> = provider.kx_groups.iter().map(|group| format!("{:?}", group.name())).collect();
        assert_eq!(groups, ["secp256r1", "X25519"]);
        assert!(Arc::ptr_eq(&crypto.narrowed(&Common::default()), crypto.provider()));
    }

    #[test]
    fn old_versions_are_a_lower_limit_only() {
        let between = |min, max| versions(&Common { min, max, ..Common::default() }).map(|left| left.len());
        assert_eq!(between(TlsVersion::V10, TlsVersion::Any).unwrap(), 2);
        assert_eq!(between(TlsVersion::V13, TlsVersion::Any).unwrap(), 1);
        assert_eq!(between(TlsVersion::Any, TlsVersion::V12).unwrap(), 1);
        assert!(matches!(between(TlsVersion::Any, TlsVersion::V11), Err(TlsError::Versions)));
    }

    #[test]
    fn the_hash_is_sha256() {
        let hash = Crypto::sha256(b"abc").unwrap();
        assert_eq!(hash[..4], [0xba, 0x78, 0x16, 0xbf]);
    }
}
