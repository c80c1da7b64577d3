//! What makes a hello a certain browser's.

/// A hello but for what every connection has for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// Cipher suites in order; [`GREASE`] stands for one of those values.
    pub(super) suites: Vec<u16>,
    /// Extensions in order.
    pub(super) extensions: Vec<Extension>,
    /// All but the [`Extension::Grease`] change places with each connection.
    pub(super) shuffled: bool,
}

/// Stands for any of the reserved values (RFC 8701), which a browser draws for each connection.
pub(super) const GREASE: u16 = 0x0a0a;
pub(super) const MLKEM: u16 = 0x11ec;
pub(super) const X25519: u16 = 0x001d;
pub(super) const P256: u16 = 0x0017;

/// An extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extension {
    /// A reserved number, with so many zeros in it.
    Grease(usize),
    ServerName,
    Groups(&'static [u16]),
    Alpn,
    SignatureAlgorithms(&'static [u16]),
    KeyShare(&'static [u16]),
    Versions(&'static [u16]),
    /// An encrypted hello that is none: cipher, lengths of which one is drawn.
    Ech(u16, &'static [usize]),
    /// Always the same bytes.
    Fixed(u16, &'static [u8]),
    /// The same, where no server may take it up that the client could not follow.
    Daring(u16, &'static [u8]),
    /// Settings for HTTP/2, where that is offered; as daring.
    Alps,
    /// Fills the hello up to 512 bytes, where servers once stumbled over lengths just below that.
    Padding,
}

impl Shape {
    pub(super) fn has_ech(&self) -> bool {
        self.extensions.iter().any(|extension| matches!(extension, Extension::Ech(..)))
    }

    /// Without what a server could take up and the client could not follow.
    pub(super) fn careful(&self) -> Self {
        let mut careful = self.clone();
        careful.extensions.retain(|extension| !matches!(extension, Extension::Daring(..) | Extension::Alps));
        careful
    }
}
