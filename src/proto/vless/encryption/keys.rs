//! The keys of a server that its clients know, and those that both draw for one connection.

use aws_lc_rs::agreement::{self, UnparsedPublicKey, X25519};
use aws_lc_rs::kem::{Ciphertext, DecapsulationKey, EncapsulationKey, ML_KEM_768};
use ml_kem::kem::KeyExport;
use zeroize::Zeroizing;

use super::aead::DENIED;
use super::derive::hash32;
use crate::wire::WireError;

/// What two sides agree on.
pub(super) type Shared = Zeroizing<[u8; 32]>;

/// Bytes of an X25519 key, and of what ML-KEM-768 sends either way.
pub(super) const POINT: usize = 32;
pub(super) const PUBLIC: usize = 1184;
pub(super) const CIPHERTEXT: usize = 1088;

/// A key of the server, as a client has it.
pub struct PublicKey {
    kind: PublicKind,
    bytes: Vec<u8>,
}

enum PublicKind {
    X25519,
    MlKem(EncapsulationKey),
}

impl PublicKey {
    /// Of 32 bytes for X25519, or of 1184 for ML-KEM-768.
    ///
    /// # Errors
    /// [`WireError`] if this is no such key.
    pub fn new(bytes: &[u8]) -> Result<Self, WireError> {
        let kind = match bytes.len() {
            POINT => PublicKind::X25519,
            PUBLIC => PublicKind::MlKem(EncapsulationKey::new(&ML_KEM_768, bytes).map_err(|_| BAD)?),
            _ => return Err(BAD),
        };
        Ok(Self { kind, bytes: bytes.to_vec() })
    }

    /// As it is written.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn hash(&self) -> [u8; 32] {
        hash32(&self.bytes)
    }

    /// What to send, and what whoever has the private key learns from it.
    pub(super) fn encapsulate(&self) -> Result<(Vec<u8>, Shared), WireError> {
        match &self.kind {
            PublicKind::X25519 => {
                let own = Point::draw()?;
                Ok((own.public.to_vec(), own.agree(&self.bytes)?))
            }
            PublicKind::MlKem(key) => encapsulate(key),
        }
    }
}

/// A key of the server, as the server has it.
pub struct PrivateKey {
    kind: PrivateKind,
    public: Vec<u8>,
}

enum PrivateKind {
    X25519(Point),
    MlKem(DecapsulationKey),
}

impl PrivateKey {
    /// Of 32 bytes for X25519, or of a seed of 64 for ML-KEM-768.
    ///
    /// # Errors
    /// [`WireError`] if this is no such key.
    pub fn new(bytes: &[u8]) -> Result<Self, WireError> {
        if let Ok(seed) = ml_kem::Seed::try_from(bytes) {
            let (private, public) = grown(seed);
            let key = DecapsulationKey::new(&ML_KEM_768, &private).map_err(|_| BAD)?;
            return Ok(Self { kind: PrivateKind::MlKem(key), public });
        }
        let point = Point::of(agreement::PrivateKey::from_private_key(&X25519, bytes).map_err(|_| BAD)?)?;
        Ok(Self { public: point.public.to_vec(), kind: PrivateKind::X25519(point) })
    }

    /// What its clients are to know.
    #[must_use]
    pub fn public(&self) -> &[u8] {
        &self.public
    }

    pub(super) fn hash(&self) -> [u8; 32] {
        hash32(&self.public)
    }

    /// Bytes of what a client sends for this key.
    pub(super) fn sent(&self) -> usize {
        match self.kind {
            PrivateKind::X25519(_) => POINT,
            PrivateKind::MlKem(_) => CIPHERTEXT,
        }
    }

    /// What a client that sent this has agreed with us on.
    pub(super) fn decapsulate(&self, sent: &[u8]) -> Result<Shared, WireError> {
        match &self.kind {
            // This bit means nothing, so that somebody on the way could turn it without being noticed.
            PrivateKind::X25519(_) if sent.last().is_none_or(|byte| byte & 0x80 != 0) => Err(DENIED),
            PrivateKind::X25519(point) => point.agree(sent),
            PrivateKind::MlKem(key) => decapsulate(key, sent),
        }
    }
}

/// The private and the public key that a seed stands for. One library takes seeds, and the other, whose code is made for
/// each processor, the long form alone.
#[expect(deprecated, reason = "the long form is what connects the two")]
fn grown(seed: ml_kem::Seed) -> (Zeroizing<Vec<u8>>, Vec<u8>) {
    let key = ml_kem::DecapsulationKey::<ml_kem::MlKem768>::from_seed(seed);
    let public = key.encapsulation_key().to_bytes().to_vec();
    (Zeroizing::new(ml_kem::ExpandedKeyEncoding::to_expanded_bytes(&key).to_vec()), public)
}

/// A key pair of X25519.
pub(super) struct Point {
    private: agreement::PrivateKey,
    pub(super) public: [u8; POINT],
}

impl Point {
    pub(super) fn draw() -> Result<Self, WireError> {
        Self::of(agreement::PrivateKey::generate(&X25519).map_err(|_| BAD)?)
    }

    fn of(private: agreement::PrivateKey) -> Result<Self, WireError> {
        let public = private.compute_public_key().map_err(|_| BAD)?;
        Ok(Self { public: public.as_ref().try_into().map_err(|_| BAD)?, private })
    }

    pub(super) fn agree(&self, peer: &[u8]) -> Result<Shared, WireError> {
        agreement::agree(&self.private, UnparsedPublicKey::new(&X25519, peer), DENIED, shared)
    }
}

/// A key pair of ML-KEM-768 for one connection.
pub(super) struct Capsule {
    private: DecapsulationKey,
    pub(super) public: Vec<u8>,
}

impl Capsule {
    pub(super) fn draw() -> Result<Self, WireError> {
        let private = DecapsulationKey::generate(&ML_KEM_768).map_err(|_| BAD)?;
        let public = private.encapsulation_key().and_then(|key| Ok(key.key_bytes()?.as_ref().to_vec()));
        Ok(Self { private, public: public.map_err(|_| BAD)? })
    }

    pub(super) fn open(&self, sent: &[u8]) -> Result<Shared, WireError> {
        decapsulate(&self.private, sent)
    }
}

/// The same for the key that a client drew.
pub(super) fn encapsulate_for(public: &[u8]) -> Result<(Vec<u8>, Shared), WireError> {
    encapsulate(&EncapsulationKey::new(&ML_KEM_768, public).map_err(|_| DENIED)?)
}

fn decapsulate(key: &DecapsulationKey, sent: &[u8]) -> Result<Shared, WireError> {
    let secret = key.decapsulate(Ciphertext::from(sent)).map_err(|_| DENIED)?;
    shared(secret.as_ref())
}

fn encapsulate(key: &EncapsulationKey) -> Result<(Vec<u8>, Shared), WireError> {
    let (sent, secret) = key.encapsulate().map_err(|_| DENIED)?;
    Ok((sent.as_ref().to_vec(), shared(secret.as_ref())?))
}

fn shared(secret: &[u8]) -> Result<Shared, WireError> {
    secret.try_into().map(Zeroizing::new).map_err(|_| DENIED)
}

const BAD: WireError = WireError::Malformed { what: "key of VLESS encryption" };
