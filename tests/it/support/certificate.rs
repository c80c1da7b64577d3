//! Certificates of our own making, in files.

use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A certificate and its key.
pub struct Certificate {
    folder: TempDir,
}

/// Somebody who signs certificates, and whom clients may trust.
pub struct Authority {
    folder: TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Certificate {
    /// A self-signed one for one name or address.
    pub fn new(name: &str) -> Self {
        let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).expect("a plain certificate");
        Self::keep(&made.cert.pem(), &made.signing_key.serialize_pem())
    }

    fn keep(cert: &str, key: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("cert.pem"), cert).expect("the folder is ours");
        std::fs::write(folder.path().join("key.pem"), key).expect("the folder is ours");
        Self { folder }
    }

    pub fn cert(&self) -> PathBuf {
        self.folder.path().join("cert.pem")
    }

    pub fn key(&self) -> PathBuf {
        self.folder.path().join("key.pem")
    }

    /// `streamSettings` of an inbound that shows it.
    pub fn inbound_stream(&self) -> Value {
        json!({
            "security": "tls",
            "tlsSettings": {"certificates": [{"certificateFile": self.cert(), "keyFile": self.key()}]},
        })
    }
}

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::new(vec![]).expect("no names are fine");
        // Whoever has the name of its issuer is taken for self-signed.
        params.distinguished_name.push(DnType::CommonName, "authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().expect("the system has randomness");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("a plain certificate");
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("ca.pem"), issuer.pem()).expect("the folder is ours");
        Self { folder, issuer }
    }

    /// Its own certificate.
    pub fn cert(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// A certificate for a name and for loopback.
    pub fn issue(&self, name: &str) -> Certificate {
        let names = vec![name.to_owned(), "127.0.0.1".to_owned()];
        let mut params = CertificateParams::new(names).expect("a name and an address");
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().expect("the system has randomness");
        let made = params.signed_by(&key, &self.issuer).expect("a plain certificate");
        Certificate::keep(&made.pem(), &key.serialize_pem())
    }
}
