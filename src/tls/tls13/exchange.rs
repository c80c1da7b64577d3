//! The key exchange, from the server's side.

use aws_lc_rs::agreement::{PrivateKey, UnparsedPublicKey, X25519, agree};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::kem::{EncapsulationKey, ML_KEM_768};
use zeroize::Zeroizing;

/// How a secret is agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// X25519.
    X25519,
    /// ML-KEM-768, and X25519 behind it.
    X25519MlKem768,
}

/// Bytes of a client's hybrid share in front of its X25519 key: the key of ML-KEM-768.
pub(super) const HYBRID_HALF: usize = 1184;
/// Bytes of a ciphertext of ML-KEM-768.
const CIPHERTEXT: usize = 1088;

impl Group {
    /// The group of a number on the wire.
    #[must_use]
    pub fn from_code(code: u16) -> Option<Self> {
        match code {
            0x001d => Some(Self::X25519),
            0x11ec => Some(Self::X25519MlKem768),
            _ => None,
        }
    }

    /// Bytes of a client's share.
    pub(super) fn client_len(self) -> usize {
        match self {
            Self::X25519 => 32,
            Self::X25519MlKem768 => HYBRID_HALF + 32,
        }
    }

    /// Bytes of a server's share.
    pub(super) fn server_len(self) -> usize {
        match self {
            Self::X25519 => 32,
            Self::X25519MlKem768 => CIPHERTEXT + 32,
        }
    }
}

/// A server's part of an exchange.
pub struct Answered {
    /// What the client is told.
    pub share: Vec<u8>,
    /// What both know now.
    pub secret: Zeroizing<Vec<u8>>,
}

/// Answers a client's share with a fresh X25519 key, made of `private`.
///
/// # Errors
/// If the share is no key.
pub fn answer(group: Group, share: &[u8], private: &[u8; 32]) -> Result<Answered, Unspecified> {
    if share.len() != group.client_len() {
        return Err(Unspecified);
    }
    let own = PrivateKey::from_private_key(&X25519, private).map_err(|_| Unspecified)?;
    let (mut told, mut secret) = (Vec::with_capacity(group.server_len()), Zeroizing::new(Vec::with_capacity(64)));
    let theirs = match group {
        Group::X25519 => share,
        Group::X25519MlKem768 => {
            let (key, theirs) = share.split_at(HYBRID_HALF);
            let key = EncapsulationKey::new(&ML_KEM_768, key).map_err(|_| Unspecified)?;
            let (ciphertext, shared) = key.encapsulate()?;
            told.extend_from_slice(ciphertext.as_ref());
            secret.extend_from_slice(shared.as_ref());
            theirs
        }
    };
    told.extend_from_slice(own.compute_public_key()?.as_ref());
    let theirs = UnparsedPublicKey::new(&X25519, theirs);
    agree(&own, theirs, Unspecified, |shared| {
        secret.extend_from_slice(shared);
        Ok(())
    })?;
    Ok(Answered { share: told, secret })
}
