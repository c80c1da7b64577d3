//! How a body is sealed and cut, as a header says it.

/// How a body is cut into chunks; the bits of the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options(pub u8);

impl Options {
    /// Chunks at all. Without them the body is bare.
    pub const CHUNKS: Self = Self(0x01);
    /// Lengths are masked.
    pub const MASKED: Self = Self(0x04);
    /// Chunks have padding.
    pub const PADDED: Self = Self(0x08);
    /// Lengths are sealed.
    pub const SEALED_LENGTHS: Self = Self(0x10);

    /// Whether all of these are on.
    #[must_use]
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// These and others.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// With what a body is sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Security {
    /// AES-128-GCM.
    Aes128Gcm,
    /// ChaCha20-Poly1305.
    ChaCha20Poly1305,
    /// Nothing.
    None,
}

impl Security {
    /// As the header has it.
    #[must_use]
    pub fn of_wire(number: u8) -> Option<Self> {
        match number {
            3 => Some(Self::Aes128Gcm),
            4 => Some(Self::ChaCha20Poly1305),
            5 => Some(Self::None),
            _ => None,
        }
    }

    /// For the header.
    #[must_use]
    pub fn to_wire(self) -> u8 {
        match self {
            Self::Aes128Gcm => 3,
            Self::ChaCha20Poly1305 => 4,
            Self::None => 5,
        }
    }
}
