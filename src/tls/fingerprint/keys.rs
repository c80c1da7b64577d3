//! Key exchanges that are begun before rustls is.

use std::sync::Arc;

use aws_lc_rs::agreement::{self, PrivateKey, UnparsedPublicKey, agree};
use aws_lc_rs::kem::{DecapsulationKey, ML_KEM_768};
use rustls::crypto::{ActiveKeyExchange, SharedSecret, aws_lc_rs as provider};
use rustls::{Error, NamedGroup, PeerMisbehaved};

use super::shape::{MLKEM, P256, X25519};

/// What a hello offers, by group, each with its public half.
pub(super) type Offered = Vec<Box<dyn ActiveKeyExchange>>;

/// Bytes of an ML-KEM-768 ciphertext, which comes first in a server's share.
const CIPHERTEXT: usize = 1088;

/// Begins an exchange in each of the groups. `own` is the X25519 key, in both groups that have one.
pub(super) fn begin(groups: &[u16], own: &Arc<PrivateKey>) -> Result<Offered, Error> {
    let begin = |group: &u16| -> Result<Option<Box<dyn ActiveKeyExchange>>, Error> {
        Ok(match *group {
            X25519 => Some(Box::new(Classic::new(own)?)),
            MLKEM => Some(Box::new(Hybrid::new(own)?)),
            P256 => Some(provider::kx_group::SECP256R1.start()?),
            _ => None,
        })
    };
    groups.iter().filter_map(|group| begin(group).transpose()).collect()
}

struct Classic {
    key: Arc<PrivateKey>,
    public: Vec<u8>,
}

impl Classic {
    fn new(key: &Arc<PrivateKey>) -> Result<Self, Error> {
        let public = key.compute_public_key().map_err(|_| failed())?.as_ref().to_vec();
        Ok(Self { key: Arc::clone(key), public })
    }

    fn agree(&self, peer: &[u8]) -> Result<Vec<u8>, Error> {
        let peer = UnparsedPublicKey::new(&agreement::X25519, peer);
        agree(&self.key, peer, Error::from(PeerMisbehaved::InvalidKeyShare), |secret| Ok(secret.to_vec()))
    }
}

impl ActiveKeyExchange for Classic {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        self.agree(peer).map(SharedSecret::from)
    }

    fn pub_key(&self) -> &[u8] {
        &self.public
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

/// X25519MLKEM768 (draft-ietf-tls-ecdhe-mlkem): ML-KEM's half comes first everywhere.
struct Hybrid {
    classic: Classic,
    quantum: DecapsulationKey,
    public: Vec<u8>,
}

impl Hybrid {
    fn new(key: &Arc<PrivateKey>) -> Result<Self, Error> {
        let classic = Classic::new(key)?;
        let quantum = DecapsulationKey::generate(&ML_KEM_768).map_err(|_| failed())?;
        let capsule = quantum.encapsulation_key().and_then(|key| Ok(key.key_bytes()?.as_ref().to_vec()));
        let public = [capsule.map_err(|_| failed())?, classic.public.clone()].concat();
        Ok(Self { classic, quantum, public })
    }
}

impl ActiveKeyExchange for Hybrid {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let misbehaved = || Error::from(PeerMisbehaved::InvalidKeyShare);
        let (capsule, share) = peer.split_at_checked(CIPHERTEXT).ok_or_else(misbehaved)?;
        let secret = self.quantum.decapsulate(capsule.into()).map_err(|_| misbehaved())?;
        Ok(SharedSecret::from([secret.as_ref(), &self.classic.agree(share)?].concat()))
    }

    fn pub_key(&self) -> &[u8] {
        &self.public
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519MLKEM768
    }
}

fn failed() -> Error {
    Error::General("a key could not be made".into())
}
