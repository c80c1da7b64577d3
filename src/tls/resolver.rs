//! Which certificate a server shows.

use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::client::verify_server_name;
use rustls::pki_types::ServerName;
use rustls::server::{ClientHello, ParsedCertificate, ResolvesServerCert};
use rustls::sign::CertifiedKey;

/// Chooses by the name that the client asks for; the list can be replaced while connections run.
#[derive(Debug)]
pub(super) struct Resolver {
    certificates: ArcSwap<Vec<Arc<CertifiedKey>>>,
    /// Refuse names that no certificate is for, and clients that send none.
    reject_unknown: bool,
}

impl Resolver {
    pub(super) fn new(certificates: Vec<Arc<CertifiedKey>>, reject_unknown: bool) -> Self {
        Self { certificates: ArcSwap::from_pointee(certificates), reject_unknown }
    }

    pub(super) fn replace(&self, certificates: Vec<Arc<CertifiedKey>>) {
        self.certificates.store(Arc::new(certificates));
    }

    fn choose(&self, name: Option<&str>) -> Option<Arc<CertifiedKey>> {
        let all = self.certificates.load();
        if !self.reject_unknown && (all.len() == 1 || name.is_none()) {
            return all.first().cloned();
        }
        let fitting = name
            .and_then(|name| ServerName::try_from(name).ok())
            .and_then(|name| all.iter().find(|certified| fits(certified, &name)).cloned());
        if self.reject_unknown { fitting } else { fitting.or_else(|| all.first().cloned()) }
    }
}

impl ResolvesServerCert for Resolver {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.choose(hello.server_name())
    }
}

fn fits(certified: &CertifiedKey, name: &ServerName<'_>) -> bool {
    let Ok(leaf) = certified.end_entity_cert() else { return false };
    ParsedCertificate::try_from(leaf).is_ok_and(|parsed| verify_server_name(&parsed, name).is_ok())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::crypto::Crypto;
    use super::super::material::certified;
    use super::super::testing::Authority;
    use super::*;

    fn list(names: &[&str]) -> Vec<Arc<CertifiedKey>> {
        let (authority, crypto) = (Authority::new(), Crypto::default());
        let one = |name: &&str| {
            let (chain, key) = authority.issue(name);
            Arc::new(certified(&chain, &key, crypto.provider()).unwrap())
        };
        names.iter().map(one).collect()
    }

    #[test]
    fn names_choose_and_strangers_get_the_first() {
        let all = list(&["a.example", "*.b.example"]);
        let resolver = Resolver::new(all.clone(), false);
        let is = |name, place: usize| Arc::ptr_eq(&resolver.choose(name).unwrap(), &all[place]);
        assert!(is(Some("a.example"), 0) && is(Some("x.b.example"), 1));
        assert!(is(Some("stranger.example"), 0) && is(None, 0));
    }

    #[test]
    fn strangers_may_be_refused() {
        let resolver = Resolver::new(list(&["a.example"]), true);
        assert!(resolver.choose(Some("a.example")).is_some());
        assert!(resolver.choose(Some("stranger.example")).is_none());
        assert!(resolver.choose(None).is_none());
    }
}
