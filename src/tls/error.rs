//! What can be wrong with TLS settings.

use std::io;
use std::path::PathBuf;

/// Why TLS settings cannot be used. Found when a configuration is loaded; a failed handshake is an [`io::Error`].
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file of certificates or keys cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A text holds no usable PEM section of that kind.
    #[error("{place} holds no usable {what} in PEM form")]
    Pem {
        /// The file, or "the inline text".
        place: String,
        /// `certificate` or `private key`.
        what: &'static str,
    },
    /// A server without any certificate.
    #[error("a TLS server needs at least one certificate with its key")]
    NoCertificate,
    /// Nothing that a peer's certificate could be verified against.
    #[error("the system's roots are off and no certificate has the usage \"verify\"")]
    NoRoots,
    /// A name that is neither a DNS name nor an address.
    #[error("`{0}` is no server name")]
    Name(String),
    /// Something that the model knows and this program cannot do yet.
    #[error("{what} is not built yet")]
    NotBuilt {
        /// What, in the words of a configuration.
        what: &'static str,
    },
    /// A key that is none.
    #[error("`{what}` is no usable key")]
    Key {
        /// Which, in the words of a configuration.
        what: &'static str,
    },
    /// A place that nobody could dial.
    #[error("`{0}` is no place of a TLS server")]
    Target(String),
    /// No version is left between the two limits.
    #[error("no TLS version from 1.2 to 1.3 is within minVersion and maxVersion")]
    Versions,
    /// rustls refuses: a key that does not fit its certificate, an algorithm nobody speaks.
    #[error(transparent)]
    Rustls(#[from] rustls::Error),
}
