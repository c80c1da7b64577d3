//! The verbs that make keys. What they print is for whoever called them; the lines are Xray's, which panels read.

use aws_lc_rs::signature::{KeyPair, ML_DSA_65_SIGNING, PqdsaKeyPair};
use base64::Engine as _;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use zeroize::Zeroizing;

use super::exit::Exit;
use super::key_args::{Key, Pair, Seed};
use super::say;
use crate::proto::vless::encryption::{PrivateKey, hash32};

/// `x25519`.
pub fn x25519(args: &Pair) -> Exit {
    let encoding = if args.std_encoding { STANDARD } else { URL_SAFE_NO_PAD };
    finish(pair(args.input.as_deref(), &encoding).map(|(private, public)| {
        if args.legacy_labels {
            return format!("Private key: {}\nPublic key: {}", encoding.encode(*private), encoding.encode(public));
        }
        labelled(&private, &public, &encoding)
    }))
}

/// `wg`.
pub fn wg(args: &Key) -> Exit {
    let made = pair(args.input.as_deref(), &STANDARD);
    finish(made.map(|(private, public)| labelled(&private, &public, &STANDARD)))
}

/// `mlkem768`.
pub fn mlkem768(args: &Seed) -> Exit {
    finish(seed::<64>(args.input.as_deref(), "Invalid length of ML-KEM-768 seed.").and_then(|seed| {
        let public = public(&*seed)?;
        let [seed, client, hash] = [&seed[..], &public, &hash32(&public)].map(|bytes| URL_SAFE_NO_PAD.encode(bytes));
        Ok(format!("Seed: {seed}\nClient: {client}\nHash32: {hash}"))
    }))
}

/// `mldsa65`.
pub fn mldsa65(args: &Seed) -> Exit {
    finish(seed::<32>(args.input.as_deref(), "Invalid length of ML-DSA-65 seed.").and_then(|seed| {
        let pair = PqdsaKeyPair::from_seed(&ML_DSA_65_SIGNING, &*seed).map_err(|_| UNUSABLE)?;
        let [seed, verify] = [&seed[..], pair.public_key().as_ref()].map(|bytes| URL_SAFE_NO_PAD.encode(bytes));
        Ok(format!("Seed: {seed}\nVerify: {verify}"))
    }))
}

/// `vlessenc`: two pairs of texts, of which one is to be taken.
pub fn vlessenc() -> Exit {
    finish(pair(None, &URL_SAFE_NO_PAD).and_then(|(private, point)| {
        let seed = seed::<64>(None, UNUSABLE)?;
        let block = |name: &str, private: &[u8], public: &[u8]| {
            let [private, public] = [private, public].map(|bytes| URL_SAFE_NO_PAD.encode(bytes));
            format!(
                "Authentication: {name}\n\"decryption\": \"mlkem768x25519plus.native.600s.{private}\"\n\
                 \"encryption\": \"mlkem768x25519plus.native.0rtt.{public}\"\n"
            )
        };
        let old = block("X25519, not Post-Quantum", &*private, &point);
        let new = block("ML-KEM-768, Post-Quantum", &*seed, &public(&*seed)?);
        Ok(format!("{CHOOSE}\n\n{old}\n{new}"))
    }))
}

const CHOOSE: &str =
    "Choose one Authentication to use, do not mix them. Ephemeral key exchange is Post-Quantum safe anyway.";
const UNUSABLE: &str = "the key cannot be used";

fn finish(made: Result<String, &'static str>) -> Exit {
    match made {
        Ok(text) => {
            say::out(text);
            Exit::Done
        }
        Err(why) => {
            say::err(why);
            Exit::Failed
        }
    }
}

fn labelled(private: &[u8; 32], public: &[u8], encoding: &GeneralPurpose) -> String {
    let [private, public, hash] = [&private[..], public, &hash32(public)].map(|bytes| encoding.encode(bytes));
    format!("PrivateKey: {private}\nPassword (PublicKey): {public}\nHash32: {hash}")
}

/// A pair of X25519, new or by its private key; with the bits as the curve takes them, so that it is the real private key.
fn pair(input: Option<&str>, encoding: &GeneralPurpose) -> Result<(Zeroizing<[u8; 32]>, Vec<u8>), &'static str> {
    const LENGTH: &str = "Invalid length of X25519 private key.";
    let mut private = match input.filter(|text| !text.is_empty()) {
        None => Zeroizing::new(rand::random()),
        Some(text) => bytes(text, encoding).ok_or(LENGTH)?,
    };
    private[0] &= 0xF8;
    private[31] = private[31] & 0x7F | 0x40;
    let public = public(&*private)?;
    Ok((private, public))
}

fn seed<const N: usize>(input: Option<&str>, length: &'static str) -> Result<Zeroizing<[u8; N]>, &'static str> {
    match input.filter(|text| !text.is_empty()) {
        None => Ok(Zeroizing::new(std::array::from_fn(|_| rand::random()))),
        Some(text) => bytes(text, &URL_SAFE_NO_PAD).ok_or(length),
    }
}

fn bytes<const N: usize>(text: &str, encoding: &GeneralPurpose) -> Option<Zeroizing<[u8; N]>> {
    let decoded = Zeroizing::new(encoding.decode(text).ok()?);
    decoded.as_slice().try_into().ok().map(Zeroizing::new)
}

fn public(private: &[u8]) -> Result<Vec<u8>, &'static str> {
    PrivateKey::new(private).map(|key| key.public().to_vec()).map_err(|_| UNUSABLE)
}
