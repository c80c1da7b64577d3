//! What may be asked of a TLS client or server.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// What both sides have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Common {
    /// Protocols to offer or accept, best first; empty for none at all.
    pub alpn: Vec<String>,
    /// Lowest version.
    pub min: Option<Version>,
    /// Highest version.
    pub max: Option<Version>,
    /// TLS 1.2 suites by their IANA names; unknown ones are skipped, none left means all.
    pub cipher_suites: Vec<String>,
    /// Key exchange groups, best first, by IANA or Go names; unknown ones are skipped, none left means all.
    pub groups: Vec<String>,
    /// Let peers resume sessions.
    pub resumption: bool,
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

/// TLS versions that configurations know. Below 1.2 nothing is spoken; they count as 1.2 where they are a lower limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// TLS 1.0.
    V10,
    /// TLS 1.1.
    V11,
    /// TLS 1.2.
    V12,
    /// TLS 1.3.
    V13,
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
