//! The key schedule (RFC 8446, section 7.1), without pre-shared keys.

use std::fmt;

use aws_lc_rs::error::Unspecified;
use aws_lc_rs::hkdf::{KeyType, Prk, Salt};
use aws_lc_rs::{digest, hmac};
use zeroize::Zeroizing;

use super::record::RecordKey;
use super::suite::Suite;

/// The hash over all messages of a handshake.
#[derive(Clone)]
pub struct Transcript(digest::Context);

impl Transcript {
    /// Of nothing yet.
    #[must_use]
    pub fn new(suite: Suite) -> Self {
        Self(digest::Context::new(suite.digest()))
    }

    /// One message more, with its four bytes in front.
    pub fn add(&mut self, message: &[u8]) {
        self.0.update(message);
    }

    /// The hash so far.
    #[must_use]
    pub fn hash(&self) -> digest::Digest {
        self.0.clone().finish()
    }
}

/// The secrets of a handshake under way.
pub struct HandshakeSecrets {
    suite: Suite,
    secret: Prk,
    /// Protects what the client says.
    pub client: TrafficSecret,
    /// Protects what the server says.
    pub server: TrafficSecret,
}

impl HandshakeSecrets {
    /// From the shared secret and the transcript of both hellos.
    ///
    /// # Errors
    /// None that inputs could cause.
    pub fn new(suite: Suite, shared: &[u8], hellos: &Transcript) -> Result<Self, Unspecified> {
        let early = Salt::none(suite.hkdf()).extract(zeros(suite));
        let secret = derived(suite, &early)?.extract(shared);
        let hash = hellos.hash();
        let client = TrafficSecret::derive(suite, &secret, "c hs traffic", hash.as_ref())?;
        let server = TrafficSecret::derive(suite, &secret, "s hs traffic", hash.as_ref())?;
        Ok(Self { suite, secret, client, server })
    }

    /// The secrets behind the handshake: the client's and the server's. `hashed` ends with the server's Finished.
    ///
    /// # Errors
    /// None that inputs could cause.
    pub fn application(&self, hashed: &Transcript) -> Result<(TrafficSecret, TrafficSecret), Unspecified> {
        let suite = self.suite;
        let master = derived(suite, &self.secret)?.extract(zeros(suite));
        let hash = hashed.hash();
        let client = TrafficSecret::derive(suite, &master, "c ap traffic", hash.as_ref())?;
        let server = TrafficSecret::derive(suite, &master, "s ap traffic", hash.as_ref())?;
        Ok((client, server))
    }
}

/// What the keys of one direction are made of.
pub struct TrafficSecret {
    suite: Suite,
    bytes: Zeroizing<Vec<u8>>,
}

impl TrafficSecret {
    fn derive(suite: Suite, from: &Prk, label: &str, context: &[u8]) -> Result<Self, Unspecified> {
        let mut bytes = Zeroizing::new(vec![0; suite.hash_len()]);
        expand(from, label, context, &mut bytes)?;
        Ok(Self { suite, bytes })
    }

    /// The key it stands for, from record 0 on.
    ///
    /// # Errors
    /// None that inputs could cause.
    pub fn key(&self) -> Result<RecordKey, Unspecified> {
        let from = self.prk();
        let aead = self.suite.aead();
        let mut key = Zeroizing::new(vec![0; aead.key_len()]);
        expand(&from, "key", &[], &mut key)?;
        let mut iv = [0; 12];
        expand(&from, "iv", &[], &mut iv)?;
        RecordKey::new(aead, &key, iv)
    }

    /// The secret after a KeyUpdate (section 7.2).
    ///
    /// # Errors
    /// None that inputs could cause.
    pub fn next(&self) -> Result<Self, Unspecified> {
        Self::derive(self.suite, &self.prk(), "traffic upd", &[])
    }

    /// What makes and checks the Finished message of its side (section 4.4.4).
    ///
    /// # Errors
    /// None that inputs could cause.
    pub fn finished_key(&self) -> Result<hmac::Key, Unspecified> {
        let mut key = Zeroizing::new(vec![0; self.suite.hash_len()]);
        expand(&self.prk(), "finished", &[], &mut key)?;
        Ok(hmac::Key::new(self.suite.hkdf().hmac_algorithm(), &key))
    }

    /// The secret itself, for the log of keys.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        &self.bytes
    }

    fn prk(&self) -> Prk {
        Prk::new_less_safe(self.suite.hkdf(), &self.bytes)
    }
}

impl fmt::Debug for TrafficSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// As many zeros as the hash has bytes stand for an input that is not there.
fn zeros(suite: Suite) -> &'static [u8] {
    &[0; 48][..suite.hash_len()]
}

/// The salt of the next stage.
fn derived(suite: Suite, stage: &Prk) -> Result<Salt, Unspecified> {
    let mut salt = Zeroizing::new(vec![0; suite.hash_len()]);
    expand(stage, "derived", Transcript::new(suite).hash().as_ref(), &mut salt)?;
    Ok(Salt::new(suite.hkdf(), &salt))
}

/// `HKDF-Expand-Label`.
fn expand(from: &Prk, label: &str, context: &[u8], out: &mut [u8]) -> Result<(), Unspecified> {
    let byte = |len: usize| u8::try_from(len).map_err(|_| Unspecified);
    let len = u16::try_from(out.len()).map_err(|_| Unspecified)?.to_be_bytes();
    let (label_len, context_len) = ([byte(PREFIX.len() + label.len())?], [byte(context.len())?]);
    let info = [&len[..], &label_len, PREFIX, label.as_bytes(), &context_len, context];
    from.expand(&info, Len(out.len()))?.fill(out)
}

const PREFIX: &[u8] = b"tls13 ";

struct Len(usize);

impl KeyType for Len {
    fn len(&self) -> usize {
        self.0
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::model::keys::hex;

    /// From RFC 8448, section 3: the salt behind the early secret, and the handshake's secrets.
    #[test]
    fn the_secrets_of_the_trace() {
        let suite = Suite::Aes128;
        let early = Salt::none(suite.hkdf()).extract(zeros(suite));
        let mut salt = [0; 32];
        expand(&early, "derived", Transcript::new(suite).hash().as_ref(), &mut salt).unwrap();
        assert_eq!(salt[..], hex("6f2615a108c702c5678f54fc9dbab69716c076189c48250cebeac3576c3611ba").unwrap());
        let shared = hex("8bd4054fb55b9d63fdfbacf9f04b9f0d35e6d63f537563efd46272900f89492d").unwrap();
        let secret = derived(suite, &early).unwrap().extract(&shared);
        let hash = hex("860c06edc07858ee8e78f0e7428c58edd6b43f2ca3e6e95f02ed063cf0e1cad8").unwrap();
        let client = TrafficSecret::derive(suite, &secret, "c hs traffic", &hash).unwrap();
        assert_eq!(client.expose(), hex("b3eddb126e067f35a780b3abf45e2d8f3b1a950738f52e9600746a0e27a55a21").unwrap());
        let server = TrafficSecret::derive(suite, &secret, "s hs traffic", &hash).unwrap();
        assert_eq!(server.expose(), hex("b67b7d690cc16c4e75e54213cb2d37b4e9c912bcded9105d42befd59d391ad38").unwrap());
    }
}
