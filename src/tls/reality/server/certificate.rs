//! The certificate that only the client of one hello can check.
//!
//! It is always the same but for its signature, which is a code over the key that both sides agreed on. Made for nobody, by
//! nobody, at no time: clients look at its key, its signature and its first extension alone.

use std::fmt;

use aws_lc_rs::error::{KeyRejected, Unspecified};
use aws_lc_rs::hmac::{Context, HMAC_SHA512, Key};
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair, ML_DSA_65_SIGNING, PqdsaKeyPair};

use super::super::token::AuthKey;

/// The key that signs handshakes, and the one that signs certificates once more.
pub(super) struct Identity {
    /// Made anew for each start: nobody remembers it.
    pub(super) key: Ed25519KeyPair,
    quantum: Option<PqdsaKeyPair>,
    template: Vec<u8>,
}

/// Bytes of a signature of Ed25519, and of what stands in its place.
const SIGNATURE: usize = 64;
/// Bytes of a signature of ML-DSA-65.
const QUANTUM: usize = 3309;
/// Where that begins in the certificate.
const QUANTUM_AT: usize = 126;

impl Identity {
    /// `seed` is that of the ML-DSA-65 key.
    pub(super) fn new(seed: Option<&[u8]>) -> Result<Self, KeyRejected> {
        let quantum = seed.map(|seed| PqdsaKeyPair::from_seed(&ML_DSA_65_SIGNING, seed)).transpose()?;
        let key = Ed25519KeyPair::generate().map_err(|Unspecified| KeyRejected::from(Unspecified))?;
        let template = template(key.public_key().as_ref(), quantum.is_some());
        Ok(Self { key, quantum, template })
    }

    /// The certificate for one handshake; the two hellos are signed along with it.
    pub(super) fn certificate(&self, auth: &AuthKey, client: &[u8], server: &[u8]) -> Result<Vec<u8>, Unspecified> {
        let mut der = self.template.clone();
        let mut code = code(auth, self.key.public_key().as_ref());
        let end = der.len() - SIGNATURE;
        der[end..].copy_from_slice(code.clone().sign().as_ref());
        if let Some(quantum) = &self.quantum {
            code.update(client);
            code.update(server);
            quantum.sign(code.sign().as_ref(), &mut der[QUANTUM_AT..QUANTUM_AT + QUANTUM])?;
        }
        Ok(der)
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// What stands for the signature: a code over the key that the certificate shows.
fn code(auth: &AuthKey, public: &[u8]) -> Context {
    let mut code = Context::with_key(&Key::new(HMAC_SHA512, &auth[..]));
    code.update(public);
    code
}

/// A certificate with zeros for its signatures.
fn template(key: &[u8], with_extension: bool) -> Vec<u8> {
    let ed25519 = tlv(0x30, &[&[0x06, 0x03, 0x2b, 0x65, 0x70]]);
    let version = tlv(0xa0, &[&[0x02, 0x01, 0x02]]);
    let serial = [0x02, 0x01, 0x00];
    let nobody = tlv(0x30, &[]);
    // The first moment of the calendar, which is Go's moment for "none".
    let never = tlv(0x18, &[b"00010101000000Z"]);
    let validity = tlv(0x30, &[&never, &never]);
    let key = tlv(0x30, &[&ed25519, &bits(key)]);
    let extensions = if with_extension {
        let one = tlv(0x30, &[&[0x06, 0x01, 0x00], &tlv(0x04, &[&[0; QUANTUM]])]);
        tlv(0xa3, &[&tlv(0x30, &[&one])])
    } else {
        vec![]
    };
    let body = tlv(0x30, &[&version, &serial, &ed25519, &nobody, &validity, &nobody, &key, &extensions]);
    tlv(0x30, &[&body, &ed25519, &bits(&[0; SIGNATURE])])
}

/// A bit string of whole bytes.
fn bits(bytes: &[u8]) -> Vec<u8> {
    tlv(0x03, &[&[0], bytes])
}

/// A value in DER: tag, length, content.
fn tlv(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let len: usize = parts.iter().map(|part| part.len()).sum();
    let digits = len.to_be_bytes();
    let mut out = vec![tag];
    if len < 0x80 {
        out.push(digits[digits.len() - 1]);
    } else {
        let digits = &digits[digits.iter().take_while(|digit| **digit == 0).count()..];
        out.push(0x80 | digits.len() as u8);
        out.extend_from_slice(digits);
    }
    parts.iter().for_each(|part| out.extend_from_slice(part));
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use aws_lc_rs::signature::{ML_DSA_65, UnparsedPublicKey};
    use rustls::pki_types::CertificateDer;
    use rustls::server::ParsedCertificate;
    use zeroize::Zeroizing;

    use super::*;
    use crate::model::keys::hex;

    #[test]
    fn the_known_answer() {
        let auth = hex("f3598505b480ef06b191cd17ecaea9c1e8391dd17711da28685d1f3a40ec83d3").unwrap();
        let auth = Zeroizing::new(auth.try_into().unwrap());
        let public: Vec<u8> = (0x60..0x80).collect();
        let tag = "61e136542a3936e0cbc30b7ee0de191779a9a5c9878b4882b1bbb13f1f7c44db\
                   9a8b6b66cc0c4a8461ac7caee6bc27310077c958c1489a47a6dbfe8618a87589";
        assert_eq!(code(&auth, &public).sign().as_ref(), hex(tag).unwrap());
    }

    #[test]
    fn the_certificate_is_one_and_ends_with_the_code() {
        let auth = Zeroizing::new([5; 32]);
        let identity = Identity::new(None).unwrap();
        let der = identity.certificate(&auth, b"client", b"server").unwrap();
        let public = identity.key.public_key().as_ref();
        assert_eq!(&der[der.len() - SIGNATURE..], code(&auth, public).sign().as_ref());
        assert!(der.windows(32).any(|window| window == public));
        assert!(ParsedCertificate::try_from(&CertificateDer::from(der)).is_ok());
        assert_ne!(public, Identity::new(None).unwrap().key.public_key().as_ref());
    }

    #[test]
    fn the_second_signature_stands_in_the_first_extension() {
        let auth = Zeroizing::new([5; 32]);
        let identity = Identity::new(Some(&[9; 32])).unwrap();
        let der = identity.certificate(&auth, b"client", b"server").unwrap();
        // An octet string of 3309 bytes behind the object identifier 0.0.
        assert_eq!(der[QUANTUM_AT - 7..QUANTUM_AT], [0x06, 0x01, 0x00, 0x04, 0x82, 0x0c, 0xed]);
        assert!(ParsedCertificate::try_from(&CertificateDer::from(der.as_slice())).is_ok());
        let mut signed = code(&auth, identity.key.public_key().as_ref());
        signed.update(b"clientserver");
        let quantum = identity.quantum.unwrap();
        let public = UnparsedPublicKey::new(&ML_DSA_65, quantum.public_key().as_ref());
        assert!(public.verify(signed.sign().as_ref(), &der[QUANTUM_AT..QUANTUM_AT + QUANTUM]).is_ok());
        assert!(Identity::new(Some(&[9; 31])).is_err());
    }
}
