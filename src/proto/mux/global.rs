//! By what an association is known again.

use std::fmt;

/// By what a server knows an association again that comes by another connection. Never all zero, which on the wire means
/// that there is none.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct GlobalId([u8; Self::LEN]);

impl GlobalId {
    /// Bytes on the wire.
    pub const LEN: usize = 8;

    /// The keyed hash of a text that tells one association from all others. The key stays with whoever makes ids.
    #[must_use]
    pub fn new(key: &[u8; 32], text: &str) -> Option<Self> {
        let hash = blake3::keyed_hash(key, text.as_bytes());
        hash.as_bytes().first_chunk().copied().and_then(Self::of_wire)
    }

    /// As it came; zero is none.
    #[must_use]
    pub fn of_wire(bytes: [u8; Self::LEN]) -> Option<Self> {
        (bytes != [0; Self::LEN]).then_some(Self(bytes))
    }

    /// As it goes.
    #[must_use]
    pub fn to_wire(self) -> [u8; Self::LEN] {
        self.0
    }
}

/// Whoever knows it could take the association over.
impl fmt::Debug for GlobalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GlobalId(***)")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_global_id_is_the_hash_that_xray_takes() {
        let id = GlobalId::new(&[0; 32], "udp:127.0.0.1:12345").unwrap();
        assert_eq!(id.to_wire(), [0x41, 0x97, 0xcf, 0x53, 0xd7, 0xbc, 0xa3, 0xa9]);
        assert_eq!(GlobalId::of_wire([0; 8]), None);
        assert!(!format!("{id:?}").contains("41"));
    }
}
