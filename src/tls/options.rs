//! What may be asked of a TLS client or server.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::model::browser::Browser;
use crate::model::tls::TlsVersion;

/// What both sides have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Common {
    /// Protocols to offer or accept, best first; empty for none at all.
    pub alpn: Vec<String>,
    /// Lowest version. Below 1.2 nothing is spoken; older ones count as 1.2 here.
    pub min: TlsVersion,
    /// Highest version.
    pub max: TlsVersion,
    /// TLS 1.2 suites by their IANA names; unknown ones are skipped, none left means all.
    pub cipher_suites: Vec<String>,
    /// Key exchange groups, best first, by IANA or Go names; unknown ones are skipped, none left means all.
    pub groups: Vec<String>,
    /// Let peers resume sessions.
    pub resumption: bool,
    /// Let a connection end behind any of its records, and go on without TLS.
    pub can_end: bool,
    /// Append every session's secrets to this file (NSS format), for debugging one's own traffic.
    pub key_log: Option<PathBuf>,
}

/// What a client may be asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientOptions {
    /// What both sides have.
    pub common: Common,
    /// Name to send and to verify; absent, the server's address. An IP address is verified and not sent.
    pub server_name: Option<String>,
    /// SHA-256 of certificates. The server's own certificate among them is accepted as it is; one higher in its chain
    /// becomes the only root. Anything else is refused.
    pub pins: Vec<[u8; 32]>,
    /// The certificate must be valid for one of these names, in place of the server name.
    pub verify_names: Vec<String>,
    /// Further roots.
    pub roots: Vec<Pem>,
    /// Whose hello is sent. A browser's follows none of the versions, suites and groups above, and resumes nothing.
    pub browser: Browser,
    /// The client's own chain and key, for servers that ask.
    pub identity: Option<(Pem, Pem)>,
    /// Trust `roots` alone.
    pub no_system_roots: bool,
    /// Accept any certificate. Signatures are still checked, so the peer owns the key of what it shows.
    pub insecure: bool,
}

/// What a server may be asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerOptions {
    /// What both sides have.
    pub common: Common,
    /// Chains with their keys; the first serves names that no other fits.
    pub certificates: Vec<(Pem, Pem)>,
    /// Refuse clients that ask for a name which no certificate is for.
    pub reject_unknown_name: bool,
    /// How long certificate files count as fresh; absent, for ever.
    pub refresh: Option<Duration>,
}

/// What will be spoken inside, which bounds the protocols that may be agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inner {
    /// HTTP/1.1, and nothing newer.
    Http1,
    /// HTTP/2, and nothing older.
    Http2,
    /// HTTP/3: the handshake goes inside QUIC, which has no place for a browser's.
    Http3,
    /// VLESS with Vision: any protocol may be agreed on, TLS must be 1.3, and may end behind any record.
    Vision,
    /// Something that no protocol's name stands for; any may be agreed on, and none means anything.
    Opaque,
}

/// PEM text: in a file that is read anew now and then, or as it stands.
#[derive(Clone, PartialEq, Eq)]
pub enum Pem {
    /// A file.
    File(PathBuf),
    /// The text itself.
    Inline(String),
}

/// Inline text may be a private key.
impl fmt::Debug for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.fmt(f),
            Self::Inline(_) => f.write_str("***"),
        }
    }
}
