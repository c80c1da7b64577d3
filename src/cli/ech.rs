//! Bytes of encrypted client hellos and of certificates, as far as the verb `tls` needs them.

use crate::proto::vless::encryption::PrivateKey;
use crate::wire::Reader;

/// The version in RFC 9849, and its numbers for X25519 with HKDF of SHA-256.
const VERSION: u16 = 0xFE0D;
const KEM: u16 = 0x0020;
/// HKDF with SHA-256, SHA-384 and SHA-512, each with AES-128-GCM, AES-256-GCM and ChaCha20-Poly1305.
const HASHES: [u16; 3] = [1, 2, 3];
const CIPHERS: [u16; 3] = [1, 2, 3];

/// New server keys, for hellos that show `name`: a private key and its config, each behind its length.
pub fn draw(name: &str) -> Result<Vec<u8>, String> {
    let name_len = u8::try_from(name.len()).map_err(|_| "the name is longer than 255 bytes")?;
    let private: [u8; 32] = rand::random();
    let public = PrivateKey::new(&private).map_err(|error| error.to_string())?.public().to_vec();
    let mut inner = vec![0];
    inner.extend_from_slice(&KEM.to_be_bytes());
    prefixed(&public, &mut inner);
    let suites = HASHES.iter().flat_map(|hash| CIPHERS.iter().map(move |cipher| [*hash, *cipher]));
    prefixed(&suites.flatten().flat_map(u16::to_be_bytes).collect::<Vec<u8>>(), &mut inner);
    // The longest name is not said.
    inner.extend_from_slice(&[0, name_len]);
    inner.extend_from_slice(name.as_bytes());
    prefixed(&[], &mut inner);
    let mut config = VERSION.to_be_bytes().to_vec();
    prefixed(&inner, &mut config);
    let mut keys = vec![];
    prefixed(&private, &mut keys);
    prefixed(&config, &mut keys);
    Ok(keys)
}

/// The configs of server keys, as clients take them.
pub fn list(keys: &[u8]) -> Option<Vec<u8>> {
    let (mut reader, mut configs) = (Reader::new(keys), vec![]);
    while !reader.is_empty() {
        reader.take_prefixed_u16().ok()?;
        configs.extend_from_slice(reader.take_prefixed_u16().ok()?);
    }
    let mut list = vec![];
    (!configs.is_empty()).then(|| prefixed(&configs, &mut list))?;
    Some(list)
}

fn prefixed(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u16).to_be_bytes());
    out.extend_from_slice(bytes);
}

/// The common name of a certificate's subject, empty if it has none; nothing if this is no certificate.
pub fn common_name(cert: &[u8]) -> Option<String> {
    let (_, cert) = element(&mut Reader::new(cert), Some(SEQUENCE))?;
    let (_, signed) = element(&mut Reader::new(cert), Some(SEQUENCE))?;
    let mut signed = Reader::new(signed);
    if signed.peek() == Some(VERSIONED) {
        element(&mut signed, None)?;
    }
    // Number, algorithm, issuer, validity.
    for _ in 0..4 {
        element(&mut signed, None)?;
    }
    let (_, subject) = element(&mut signed, Some(SEQUENCE))?;
    let (mut subject, mut name) = (Reader::new(subject), String::new());
    while !subject.is_empty() {
        let (_, set) = element(&mut subject, None)?;
        let (_, pair) = element(&mut Reader::new(set), Some(SEQUENCE))?;
        let mut pair = Reader::new(pair);
        let (_, kind) = element(&mut pair, None)?;
        let (_, text) = element(&mut pair, None)?;
        if kind == COMMON_NAME {
            name = String::from_utf8_lossy(text).into_owned();
        }
    }
    Some(name)
}

const SEQUENCE: u8 = 0x30;
const VERSIONED: u8 = 0xA0;
const COMMON_NAME: &[u8] = &[0x55, 4, 3];

/// An element of DER: its tag and its content.
fn element<'a>(reader: &mut Reader<'a>, wanted: Option<u8>) -> Option<(u8, &'a [u8])> {
    let tag = reader.take_u8().ok().filter(|tag| wanted.is_none_or(|wanted| wanted == *tag))?;
    let len = match reader.take_u8().ok()? {
        short @ ..=0x7F => usize::from(short),
        0x81 => reader.take_u8().ok()?.into(),
        0x82 => reader.take_u16().ok()?.into(),
        _ => return None,
    };
    Some((tag, reader.take_bytes(len).ok()?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn keys_hold_the_config_that_clients_take() {
        let keys = draw("front.example").unwrap();
        let list = list(&keys).unwrap();
        let mut reader = Reader::new(&list);
        let configs = reader.take_prefixed_u16().unwrap();
        assert!(reader.is_empty() && keys.ends_with(configs));
        let mut config = Reader::new(configs);
        assert_eq!(config.take_u16(), Ok(VERSION));
        let inner = config.take_prefixed_u16().unwrap();
        assert!(config.is_empty() && inner.windows(13).any(|part| part == b"front.example"));
        assert_eq!(super::list(b""), None);
        assert_eq!(super::list(&keys[1..]), None);
        assert!(draw(&"x".repeat(256)).is_err());
    }

    #[test]
    fn what_is_no_certificate_has_no_name() {
        for bytes in [&b""[..], b"text", &[0x30, 0x80], &[0x30, 2, 0x30, 9], &[0x30, 0x82, 0xFF]] {
            assert_eq!(common_name(bytes), None);
        }
    }
}
