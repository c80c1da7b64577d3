//! How a client judges a server's certificate when the ordinary way is not asked for: pins, other names, own leaf
//! certificates, or no check at all.

use std::net::IpAddr;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use super::crypto::Crypto;

/// The questions in their order: pins, then roots. Signatures of the handshake are always checked.
#[derive(Debug)]
pub(super) struct Verifier {
    pub(super) provider: Arc<CryptoProvider>,
    /// By the roots; absent if there are none, and then only pins can help.
    pub(super) by_roots: Option<Arc<WebPkiServerVerifier>>,
    /// Certificates that a configuration trusts by themselves, also where they are no authority, as Go takes them.
    pub(super) trusted: Vec<CertificateDer<'static>>,
    pub(super) pins: Vec<[u8; 32]>,
    /// In place of the server's name.
    pub(super) names: Vec<ServerName<'static>>,
    pub(super) anything: bool,
}

impl Verifier {
    fn pinned(&self, certificate: &CertificateDer<'_>) -> bool {
        Crypto::sha256(certificate).is_some_and(|hash| self.pins.contains(&hash))
    }

    /// Why a certificate is of another time, if it is. The roots are asked, who look at the time first: whatever else they
    /// have against it does not count here.
    fn out_of_time(&self, certificate: &CertificateDer<'_>, now: UnixTime) -> Option<Error> {
        use CertificateError::{Expired, ExpiredContext, NotValidYet, NotValidYetContext};
        let nobody = ServerName::from(IpAddr::from([0; 4]));
        match self.by_roots.as_ref()?.verify_server_cert(certificate, &[], &nobody, &[], now) {
            Err(Error::InvalidCertificate(
                why @ (Expired | ExpiredContext { .. } | NotValidYet | NotValidYetContext { .. }),
            )) => Some(why.into()),
            _ => None,
        }
    }

    /// Asks `judge` for each name that would do.
    fn any_name(
        &self,
        name: &ServerName<'_>,
        judge: impl Fn(&ServerName<'_>) -> Result<ServerCertVerified, Error>,
    ) -> Result<ServerCertVerified, Error> {
        let mut verdict = None;
        for name in self.names.iter().chain(self.names.is_empty().then_some(&name.to_owned())) {
            match judge(name) {
                Ok(verified) => return Ok(verified),
                Err(error) => verdict = verdict.or(Some(error)),
            }
        }
        Err(verdict.unwrap_or_else(|| CertificateError::NotValidForName.into()))
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
        if !self.pins.is_empty() {
            if self.pinned(end_entity) {
                return Ok(ServerCertVerified::assertion());
            }
            let Some(root) = intermediates.iter().find(|certificate| self.pinned(certificate)) else {
                return Err(CertificateError::ApplicationVerificationFailure.into());
            };
            let mut roots = RootCertStore::empty();
            roots.add(root.clone().into_owned())?;
            let by_pin = WebPkiServerVerifier::builder_with_provider(roots.into(), Arc::clone(&self.provider))
                .build()
                .map_err(|error| Error::General(error.to_string()))?;
            return self.any_name(server_name, |name| {
                by_pin.verify_server_cert(end_entity, intermediates, name, ocsp_response, now)
            });
        }
        if self.anything {
            return Ok(ServerCertVerified::assertion());
        }
        if self.trusted.contains(end_entity) {
            if let Some(out_of_time) = self.out_of_time(end_entity, now) {
                return Err(out_of_time);
            }
            let parsed = ParsedCertificate::try_from(end_entity)?;
            return self.any_name(server_name, |name| {
                rustls::client::verify_server_name(&parsed, name).map(|()| ServerCertVerified::assertion())
            });
        }
        let Some(by_roots) = &self.by_roots else { return Err(CertificateError::UnknownIssuer.into()) };
        self.any_name(server_name, |name| {
            by_roots.verify_server_cert(end_entity, intermediates, name, ocsp_response, now)
        })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
