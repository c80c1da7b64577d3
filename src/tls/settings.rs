//! The model's TLS record as options.

use std::time::Duration;

use super::error::TlsError;
use super::options::{ClientOptions, Common, Inner, Pem, ServerOptions};
use crate::model::browser::Browser;
use crate::model::tls::{CertUsage, Certificate, Tls, TlsVersion};

/// How often Xray reads certificate files again.
const REFRESH: Duration = Duration::from_secs(3600);

impl ClientOptions {
    /// What a client is asked for.
    ///
    /// # Errors
    /// [`TlsError::NotBuilt`] names what nobody can do yet.
    pub fn of(tls: &Tls, inner: Inner) -> Result<Self, TlsError> {
        if !tls.ech_config_list.is_empty() {
            // Going without would show the name that was to be hidden.
            return Err(TlsError::NotBuilt { what: "echConfigList" });
        }
        let verify = |certificate: &&Certificate| certificate.usage == CertUsage::Verify;
        let own = |certificate: &&Certificate| certificate.usage == CertUsage::Encipherment;
        let browser = if inner == Inner::Http3 { Browser::Own } else { tls.fingerprint.browser().0 };
        let mut common = common(tls, inner)?;
        if browser != Browser::Own {
            common.alpn = browsers_alpn(&tls.alpn.0, inner);
        }
        Ok(Self {
            common,
            browser,
            server_name: Some(tls.server_name.clone()).filter(|name| !name.is_empty()),
            pins: tls.pinned_peer_cert_sha256.0.clone(),
            verify_names: names(&tls.verify_peer_cert_by_name)?,
            roots: tls.certificates.iter().filter(verify).map(chain).collect(),
            identity: tls.certificates.iter().filter(own).find_map(|own| Some((chain(own), key(own)?))),
            no_system_roots: tls.disable_system_root,
            insecure: tls.allow_insecure,
        })
    }
}

impl ServerOptions {
    /// What a server is asked for.
    ///
    /// # Errors
    /// [`TlsError::NotBuilt`] names what nobody can do yet.
    pub fn of(tls: &Tls, inner: Inner) -> Result<Self, TlsError> {
        if !tls.ech_server_keys.expose().is_empty() {
            return Err(TlsError::NotBuilt { what: "echServerKeys" });
        }
        if tls.certificates.iter().any(|certificate| certificate.usage == CertUsage::Issue) {
            return Err(TlsError::NotBuilt { what: "a certificate with usage \"issue\"" });
        }
        let own = || tls.certificates.iter().filter(|certificate| certificate.usage == CertUsage::Encipherment);
        let every = |own: &Certificate| Some(own.ocsp_stapling.0).filter(|every| !every.is_zero()).unwrap_or(REFRESH);
        Ok(Self {
            common: common(tls, inner)?,
            certificates: own().filter_map(|own| Some((chain(own), key(own)?))).collect(),
            reject_unknown_name: tls.reject_unknown_sni,
            refresh: own().filter(|own| !own.one_time_loading).map(every).min(),
        })
    }
}

fn common(tls: &Tls, inner: Inner) -> Result<Common, TlsError> {
    if from_mitm(&tls.server_name) || tls.alpn.0.iter().any(|name| from_mitm(name)) {
        return Err(TlsError::NotBuilt { what: "fromMitm" });
    }
    Ok(Common {
        alpn: alpn(&tls.alpn.0, inner),
        // QUIC knows no other.
        min: if inner == Inner::Http3 { TlsVersion::V13 } else { tls.min_version },
        max: tls.max_version,
        cipher_suites: tls.cipher_suites.split(':').filter(|name| !name.is_empty()).map(str::to_owned).collect(),
        groups: tls.curve_preferences.0.clone(),
        resumption: tls.enable_session_resumption,
        can_end: inner == Inner::Vision,
        key_log: Some(&tls.master_key_log).filter(|path| !path.is_empty()).map(Into::into),
    })
}

/// What the configuration lists, else Xray's list, as far as it can be spoken.
fn alpn(listed: &[String], inner: Inner) -> Vec<String> {
    let mut names = if listed.is_empty() { vec![HTTP2.to_owned(), HTTP1.to_owned()] } else { listed.to_vec() };
    let only = match inner {
        Inner::Http1 => HTTP1,
        Inner::Http2 => HTTP2,
        Inner::Http3 => HTTP3,
        Inner::Opaque | Inner::Vision => return names,
    };
    names.retain(|name| name == only);
    if names.is_empty() {
        names.push(only.to_owned());
    }
    names
}

/// A browser offers what it always offers, but for what only speaks HTTP/1.1, or is told to pass for that.
pub(super) fn browsers_alpn(listed: &[String], inner: Inner) -> Vec<String> {
    let told = matches!(inner, Inner::Opaque | Inner::Vision) && listed == [HTTP1];
    if told || inner == Inner::Http1 { vec![HTTP1.to_owned()] } else { vec![HTTP2.to_owned(), HTTP1.to_owned()] }
}

const HTTP1: &str = "http/1.1";
const HTTP2: &str = "h2";
const HTTP3: &str = "h3";

fn names(list: &str) -> Result<Vec<String>, TlsError> {
    let names: Vec<_> = list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
    if names.iter().any(|name| from_mitm(name)) { Err(TlsError::NotBuilt { what: "fromMitm" }) } else { Ok(names) }
}

fn from_mitm(name: &str) -> bool {
    name.eq_ignore_ascii_case("fromMitm")
}

/// Files win over inline text.
fn chain(certificate: &Certificate) -> Pem {
    if certificate.certificate_file.is_empty() {
        Pem::Inline(certificate.certificate.join("\n"))
    } else {
        Pem::File(certificate.certificate_file.clone().into())
    }
}

fn key(certificate: &Certificate) -> Option<Pem> {
    if !certificate.key_file.is_empty() {
        return Some(Pem::File(certificate.key_file.clone().into()));
    }
    let lines = certificate.key.expose();
    (!lines.is_empty()).then(|| Pem::Inline(lines.join("\n")))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_record_is_xrays_default() {
        let options = ClientOptions::of(&Tls::default(), Inner::Opaque).unwrap();
        let alpn = vec!["h2".to_owned(), "http/1.1".to_owned()];
        let common = Common { alpn, ..Common::default() };
        let expected = ClientOptions { common, browser: Browser::Chrome, ..ClientOptions::default() };
        assert_eq!(options, expected);
        let server = ServerOptions::of(&Tls::default(), Inner::Http1).unwrap();
        assert_eq!(server.common.alpn, ["http/1.1"]);
        assert_eq!(ServerOptions::of(&Tls::default(), Inner::Http2).unwrap().common.alpn, ["h2"]);
        assert!(ServerOptions::of(&Tls::default(), Inner::Vision).unwrap().common.can_end);
        assert_eq!((server.certificates.len(), server.refresh), (0, None));
    }

    #[test]
    fn certificates_go_where_their_usage_says() {
        let file = |file: &str, usage| Certificate { certificate_file: file.into(), usage, ..Certificate::default() };
        let own = Certificate { key_file: "own.key".into(), ..file("own.pem", CertUsage::Encipherment) };
        let mut tls = Tls { certificates: vec![file("ca.pem", CertUsage::Verify), own], ..Tls::default() };
        let pair = (Pem::File("own.pem".into()), Pem::File("own.key".into()));
        let client = ClientOptions::of(&tls, Inner::Opaque).unwrap();
        assert_eq!((client.roots, client.identity), (vec![Pem::File("ca.pem".into())], Some(pair.clone())));
        let server = ServerOptions::of(&tls, Inner::Opaque).unwrap();
        assert_eq!((server.certificates, server.refresh), (vec![pair], Some(REFRESH)));
        tls.certificates[1].one_time_loading = true;
        assert_eq!(ServerOptions::of(&tls, Inner::Opaque).unwrap().refresh, None);
    }

    #[test]
    fn what_would_be_silently_weaker_is_refused() {
        let refused = |tls: &Tls| ClientOptions::of(tls, Inner::Opaque).unwrap_err().to_string();
        assert!(refused(&Tls { ech_config_list: "AEX+DQ".into(), ..Tls::default() }).contains("echConfigList"));
        assert!(refused(&Tls { server_name: "frommitm".into(), ..Tls::default() }).contains("fromMitm"));
        let named = Tls { verify_peer_cert_by_name: "a.example, b.example".into(), ..Tls::default() };
        assert_eq!(ClientOptions::of(&named, Inner::Opaque).unwrap().verify_names, ["a.example", "b.example"]);
    }
}
