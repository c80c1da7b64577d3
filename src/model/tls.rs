//! TLS.

use serde_json::{Value as Json, json};

use super::keys::hex;
use super::sockopt::SockOpt;
use crate::shape::{Defs, Dialect, Field, Key, Kind, Node, Plain, Reader, Seconds, Secret, Table, TextList};

crate::words! {
    /// A version of TLS.
    pub enum TlsVersion(exact, else Any) {
        /// Whichever the other side takes, from 1.2.
        Any = "any" => "";
        /// 1.0.
        V10 = "1.0";
        /// 1.1.
        V11 = "1.1";
        /// 1.2.
        V12 = "1.2";
        /// 1.3.
        V13 = "1.3";
    }
}

/// Whose ClientHello is sent: a browser, `random`, or one of the `hello…` ids; empty is Chrome's.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Fingerprint(pub String);

const BROWSERS: &[&str] = &[
    "",
    "chrome",
    "firefox",
    "safari",
    "ios",
    "android",
    "edge",
    "360",
    "qq",
    "random",
    "randomized",
    "randomizednoalpn",
    "unsafe",
];

impl Field for Fingerprint {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        let Some(text) = node.text() else {
            return cx.wrong_type(node, "a string");
        };
        let name = text.to_ascii_lowercase();
        let known = BROWSERS.contains(&name.as_str())
            || (name.starts_with("hello") && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'));
        if !known {
            let help = crate::shape::nearest(&name, BROWSERS.iter().copied()).map(|w| format!("did you mean `{w}`?"));
            cx.error(node, Kind::Value, format!("unknown \"fingerprint\": {text}")).help = help;
            return None;
        }
        Some(Self(name))
    }

    fn write(&self, _: Dialect) -> Plain {
        Plain::Text(self.0.clone())
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        json!({ "type": "string" })
    }
}

/// SHA-256 sums of whole certificates.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Pins(pub Vec<[u8; 32]>);

impl Pins {
    fn read_text(cx: &mut Reader<'_>, node: &Node, text: &str, out: &mut Vec<[u8; 32]>) {
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let digits = part.replace(':', "");
            match hex(&digits).map(<[u8; 32]>::try_from) {
                Some(Ok(pin)) => out.push(pin),
                Some(Err(bytes)) => {
                    let message = format!("incorrect pinnedPeerCertSha256 length: {} bytes, needs 32", bytes.len());
                    cx.error(node, Kind::Value, message);
                }
                None => {
                    cx.error(node, Kind::Value, format!("pinnedPeerCertSha256: {part:?} is no hexadecimal number"));
                }
            }
        }
    }
}

impl Field for Pins {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        let mut out = Vec::new();
        match (node.text(), node.list()) {
            (Some(text), _) => Self::read_text(cx, node, text, &mut out),
            (_, Some(items)) => {
                cx.each(items, |cx, item| match item.text() {
                    Some(text) => Self::read_text(cx, item, text, &mut out),
                    None => {
                        cx.wrong_type::<()>(item, "a string");
                    }
                });
            }
            _ => return cx.wrong_type(node, "SHA-256 sums in hexadecimal digits"),
        }
        Some(Self(out))
    }

    fn write(&self, _: Dialect) -> Plain {
        let hex = |pin: &[u8; 32]| pin.iter().map(|b| format!("{b:02x}")).collect::<String>();
        Plain::Text(self.0.iter().map(hex).collect::<Vec<_>>().join(","))
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        json!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] })
    }
}

crate::words! {
    /// What a certificate is for.
    pub enum CertUsage(fold, else Encipherment) {
        /// Shown to clients.
        Encipherment = "encipherment" => "encipherment" | "";
        /// One more root to check peers with.
        Verify = "verify";
        /// Signs certificates as they are asked for.
        Issue = "issue";
    }
}

crate::record! {
    /// A certificate and its key.
    pub struct Certificate {
        /// File of the certificate, PEM.
        certificate_file: String => "certificateFile";
        /// File of the key, PEM.
        key_file: String => "keyFile";
        /// The certificate itself, line by line.
        certificate: Vec<String> => "certificate";
        /// The key itself, line by line.
        key: Secret<Vec<String>> => "key";
        /// What it is for.
        usage: CertUsage => "usage";
        /// Seconds between looks for an OCSP answer; 0 is off.
        ocsp_stapling: Seconds => "ocspStapling";
        /// Read the files once and do not watch them.
        one_time_loading: bool => "oneTimeLoading";
        /// With `issue`: append this certificate to those it signs.
        build_chain: bool => "buildChain";
    }
    hook Certificate::settle;
}

impl Certificate {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        if self.certificate_file.is_empty() && self.certificate.is_empty() {
            let message = "failed to parse certificate > both file and bytes are empty.";
            cx.error(table.node(), Kind::Missing, message).help =
                Some("give `certificateFile` or `certificate`".into());
        }
    }
}

crate::record! {
    /// TLS.
    pub struct Tls {
        /// Name that is asked for and checked; empty takes the target's.
        server_name: String => "serverName";
        /// Protocols offered or taken, the best first.
        alpn: TextList => "alpn";
        /// Whose ClientHello is sent.
        fingerprint: Fingerprint => "fingerprint";
        /// The certificate is not checked at all.
        allow_insecure: bool => "allowInsecure";
        /// SHA-256 sums of certificates, with commas between: one of them must be shown, or must have signed what is shown.
        pinned_peer_cert_sha256: Pins => "pinnedPeerCertSha256";
        /// Names one of which the certificate must have, with commas between, instead of the server's.
        verify_peer_cert_by_name: String => "verifyPeerCertByName";
        /// Only roots of `certificates` count.
        disable_system_root: bool => "disableSystemRoot";
        /// Certificates.
        certificates: Vec<Certificate> => "certificates";
        /// Clients that ask for a name no certificate has are refused.
        reject_unknown_sni: bool => "rejectUnknownSni";
        /// Oldest version.
        min_version: TlsVersion => "minVersion";
        /// Newest version.
        max_version: TlsVersion => "maxVersion";
        /// Cipher suites up to TLS 1.2, with `:` between.
        cipher_suites: String => "cipherSuites";
        /// Groups for the key exchange, the best first.
        curve_preferences: TextList => "curvePreferences";
        /// Connections may be resumed.
        enable_session_resumption: bool => "enableSessionResumption";
        /// File that keys are logged to, for debugging; empty is off.
        master_key_log: String => "masterKeyLog";
        /// ECH configs in base64, or where to ask for them.
        ech_config_list: String => "echConfigList";
        /// ECH keys in base64.
        ech_server_keys: Secret<String> => "echServerKeys";
        /// Socket options of the question for ECH configs.
        ech_sockopt: Option<SockOpt> => "echSockopt";
    }
    ignored {
        "allowInsecureCiphers" | "preferServerCipherSuites" => "weak ciphers are never used",
        "disableSessionResumption" => "use enableSessionResumption",
        "echForceQuery" => "an older key; a failed question always ends the connection",
        "verifyPeerCertInNames" => "use verifyPeerCertByName",
        "show" | "publicKey" | "shortId" | "spiderX" => "a key of realitySettings",
    }
    taken {
        "pinnedPeerCertificateChainSha256" => "Older pin that nothing reads any more.",
        "pinnedPeerCertificatePublicKeySha256" => "Older pin that nothing reads any more.",
    }
    hook Tls::settle;
}

impl Tls {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        for old in
            [Key::json(&["pinnedPeerCertificateChainSha256"]), Key::json(&["pinnedPeerCertificatePublicKeySha256"])]
        {
            let Some(entry) = table.take(cx, old) else { continue };
            if entry.node.list().is_some_and(<[_]>::is_empty) || entry.node.text() == Some("") {
                continue;
            }
            let message = format!("`{}` pins nothing any more: the certificate is checked as usual", entry.key);
            cx.key(&entry.key, |cx| {
                cx.warn(&entry.node, Kind::Legacy, message).help = Some("use pinnedPeerCertSha256".into());
                cx.mark(entry.node.span, crate::shape::Class::Dropped, "an older pin");
            });
        }
        let node = table.node();
        if self.allow_insecure {
            let message = "allowInsecure: the server's certificate is not checked; Xray has removed this";
            cx.warn(node, Kind::Legacy, message).help = Some("use pinnedPeerCertSha256 or verifyPeerCertByName".into());
        }
        if self.alpn.0.len() > 1 && self.alpn.0.iter().any(|a| a.eq_ignore_ascii_case("frommitm")) {
            cx.error(node, Kind::Conflict, "only one element is allowed in \"alpn\" when using \"fromMitm\" in it");
        }
        // Clients write an empty list for none.
        self.alpn.0.retain(|protocol| !protocol.is_empty());
        if self.master_key_log == "none" {
            self.master_key_log.clear();
        }
    }
}
