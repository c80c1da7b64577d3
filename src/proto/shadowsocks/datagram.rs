//! Datagrams of the old generation: each has its own salt, and one seal around address and payload.

use std::ops::Range;

use bytes::BytesMut;

use super::method::Key;
use super::stream::subkey;
use crate::addr::Target;
use crate::proto::socks::{read_address, write_address};
use crate::wire::{Reader, WireError};

/// Every datagram is sealed with nonce 0, under a key of its own.
const NONCE: [u8; 24] = [0; 24];

/// Appends a datagram to or from `peer`. The salt must be fresh and as long as the key.
///
/// # Errors
/// [`WireError`] for a key that does not fit its method.
pub fn seal_datagram(
    key: &Key,
    salt: &[u8],
    peer: &Target,
    payload: &[u8],
    out: &mut BytesMut,
) -> Result<(), WireError> {
    let aead = subkey(key, salt)?;
    out.extend_from_slice(salt);
    let from = out.len();
    write_address(peer, out);
    out.extend_from_slice(payload);
    aead.seal(&NONCE[..aead.nonce_len()], out, from);
    Ok(())
}

/// Opens a datagram where it lies; gives its peer and where its payload is.
///
/// # Errors
/// [`WireError`] for what was not sealed with this key.
pub fn open_datagram(key: &Key, datagram: &mut [u8]) -> Result<(Target, Range<usize>), WireError> {
    let len = key.method().key_len();
    let missing = len.saturating_sub(datagram.len());
    if missing > 0 {
        return Err(WireError::Truncated { need: missing });
    }
    let (salt, sealed) = datagram.split_at_mut(len);
    let aead = subkey(key, salt)?;
    let plain = aead.open(&NONCE[..aead.nonce_len()], sealed)?;
    let mut reader = Reader::new(plain);
    let peer = read_address(&mut reader)?;
    Ok((peer, len + reader.used()..len + plain.len()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::super::method::Method;
    use super::*;

    const METHODS: [Method; 4] = [Method::Aes128, Method::Aes256, Method::Chacha20, Method::Xchacha20];

    #[test]
    fn the_known_answer() {
        let key = Key::of_password(Method::Aes128, b"password");
        let salt: Vec<u8> = (0..16).collect();
        let mut out = BytesMut::new();
        seal_datagram(&key, &salt, &"www.example.com:443".parse().unwrap(), b"hello", &mut out).unwrap();
        let expected = "000102030405060708090a0b0c0d0e0f5f219c0377573b3edb51a4874fda619bc2b862f930048ef81cf2bc6f774d4d5685c04cb\
                        faebbf968";
        assert_eq!(out.iter().map(|byte| format!("{byte:02x}")).collect::<String>(), expected);
    }

    #[test]
    fn datagrams_of_every_method_come_back_and_changed_ones_do_not() {
        let peer: Target = "[2001:db8::1]:53".parse().unwrap();
        for method in METHODS {
            let key = Key::of_password(method, b"p");
            let mut out = BytesMut::new();
            seal_datagram(&key, &vec![7; method.key_len()], &peer, b"payload", &mut out).unwrap();
            for at in 0..out.len() {
                let mut changed = out.clone();
                changed[at] ^= 1;
                assert!(open_datagram(&key, &mut changed).is_err(), "{method:?} at {at}");
            }
            assert!(open_datagram(&Key::of_password(method, b"q"), &mut out.clone()).is_err());
            let (from, at) = open_datagram(&key, &mut out).unwrap();
            assert_eq!((from, &out[at]), (peer.clone(), &b"payload"[..]));
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(mut bytes: Vec<u8>) {
            for method in METHODS {
                let _ = open_datagram(&Key::of_password(method, b"p"), &mut bytes);
            }
        }
    }
}
