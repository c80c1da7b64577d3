//! A certificate authority for tests.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{RootCertStore, ServerConfig};

use super::crypto::Crypto;
use super::options::Pem;

/// An authority that nobody but the test trusts.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Its own certificate, to be trusted as a root.
    pub fn root(&self) -> Pem {
        Pem::Inline(self.0.pem())
    }

    /// A certificate for a name with the authority's behind it, and its key.
    pub fn issue(&self, name: &str) -> (Pem, Pem) {
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &self.0).unwrap();
        (Pem::Inline(leaf.pem() + &self.0.pem()), Pem::Inline(key.serialize_pem()))
    }

    /// What trusts it and nobody else.
    pub fn trusted(&self) -> Crypto {
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone()).unwrap();
        Crypto::trusting(roots)
    }

    /// The library's record of a server with a certificate for a name, which agrees to these protocols.
    pub fn server(&self, name: &str, alpn: &[&[u8]]) -> ServerConfig {
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &self.0).unwrap();
        let builder = ServerConfig::builder_with_provider(Arc::clone(Crypto::default().provider()));
        let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
        let mut config = builder.with_single_cert(vec![leaf.der().clone()], key.into()).unwrap();
        config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
        config
    }

    /// A certificate that signs itself and is no authority.
    pub fn alone(name: &str) -> (Pem, Pem) {
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(vec![name.to_owned()]).unwrap().self_signed(&key).unwrap();
        (Pem::Inline(leaf.pem()), Pem::Inline(key.serialize_pem()))
    }
}
