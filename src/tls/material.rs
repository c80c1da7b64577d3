//! Certificates and keys from files and inline text.

use std::borrow::Cow;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use super::error::TlsError;
use super::options::Pem;

/// All certificates of a text, in order; at least one.
pub(super) fn certificates(pem: &Pem) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = text(pem)?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    chain.ok().filter(|chain| !chain.is_empty()).ok_or_else(|| unusable(pem, "certificate"))
}

/// A chain and its key, checked to belong together.
pub(super) fn certified(chain: &Pem, key: &Pem, provider: &CryptoProvider) -> Result<CertifiedKey, TlsError> {
    let certificates = certificates(chain)?;
    let key_der = PrivateKeyDer::from_pem_slice(&text(key)?).map_err(|_| unusable(key, "private key"))?;
    Ok(CertifiedKey::from_der(certificates, key_der, provider)?)
}

fn text(pem: &Pem) -> Result<Cow<'_, [u8]>, TlsError> {
    match pem {
        Pem::Inline(text) => Ok(text.as_bytes().into()),
        Pem::File(path) => {
            std::fs::read(path).map(Cow::Owned).map_err(|source| TlsError::File { path: path.clone(), source })
        }
    }
}

fn unusable(pem: &Pem, what: &'static str) -> TlsError {
    let place = match pem {
        Pem::File(path) => path.display().to_string(),
        Pem::Inline(_) => "the inline text".to_owned(),
    };
    TlsError::Pem { place, what }
}
