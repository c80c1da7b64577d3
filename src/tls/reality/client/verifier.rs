//! How a client tells its server from the site that it hides behind.

use std::sync::Arc;

use aws_lc_rs::hmac::{self, HMAC_SHA512};
use aws_lc_rs::signature::{ML_DSA_65, UnparsedPublicKey};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls13_signature, verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

use super::certificate::Certificate;
use crate::tls::fingerprint::{Proof, judge};

/// Takes the server's certificate by its proof, and the site's by the system's roots.
#[derive(Debug)]
pub(super) struct Verifier {
    site: Arc<WebPkiServerVerifier>,
    algorithms: WebPkiSupportedAlgorithms,
    mldsa65: Option<Vec<u8>>,
}

impl Verifier {
    pub(super) fn new(site: Arc<WebPkiServerVerifier>, provider: &CryptoProvider, mldsa65: Option<Vec<u8>>) -> Self {
        Self { site, algorithms: provider.signature_verification_algorithms, mldsa65 }
    }

    fn is_proof(&self, certificate: &Certificate<'_>, proof: &Proof) -> bool {
        let key = hmac::Key::new(HMAC_SHA512, &*proof.key);
        if hmac::verify(&key, certificate.key, certificate.signature).is_err() {
            return false;
        }
        let Some(second) = &self.mldsa65 else { return true };
        let mut signed = hmac::Context::with_key(&key);
        signed.update(certificate.key);
        signed.update(&proof.hellos);
        let signature = certificate.extension.unwrap_or_default();
        UnparsedPublicKey::new(&ML_DSA_65, second).verify(signed.sign().as_ref(), signature).is_ok()
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if let Some(certificate) = Certificate::read(end_entity) {
            let judged = judge(|proof| {
                proof.given = self.is_proof(&certificate, proof);
                Ok(proof.given)
            });
            if matches!(judged, Some(Ok(true))) {
                return Ok(ServerCertVerified::assertion());
            }
        }
        self.site.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        // TLS 1.2 is not offered to rustls.
        Err(CertificateError::BadSignature.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        // The certificate is of a form that others may refuse; its key is all that counts.
        let by_proof = judge(|proof| Ok(proof.given)) == Some(Ok(true));
        match Certificate::read(cert).filter(|_| by_proof) {
            Some(certificate) => {
                let key = SubjectPublicKeyInfoDer::from(certificate.key_info);
                verify_tls13_signature_with_raw_key(message, &key, dss, &self.algorithms)
            }
            None => verify_tls13_signature(message, cert, dss, &self.algorithms),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
