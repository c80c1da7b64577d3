//! The keys of Initial packets, which follow from what stands in them (RFC 9001 5.2, RFC 9369 3.3).

use aes::Aes128;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Prk, Salt};

/// A version whose Initial packets can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    Draft29,
    One,
    Two,
}

impl Version {
    pub(super) fn of(number: u32) -> Option<Self> {
        match number {
            0xff00_001d => Some(Self::Draft29),
            1 => Some(Self::One),
            0x6b33_43cf => Some(Self::Two),
            _ => None,
        }
    }

    /// The bits by which its Initial packets are known.
    pub(super) fn initial(self) -> u8 {
        if self == Self::Two { 1 } else { 0 }
    }

    fn salt(self) -> &'static [u8; 20] {
        match self {
            Self::Draft29 => b"\xaf\xbf\xec\x28\x99\x93\xd2\x4c\x9e\x97\x86\xf1\x9c\x61\x11\xe0\x43\x90\xa8\x99",
            Self::One => b"\x38\x76\x2c\xf7\xf5\x59\x34\xb3\x4d\x17\x9a\xe6\xa4\xc8\x0c\xad\xcc\xbb\x7f\x0a",
            Self::Two => b"\x0d\xed\xe3\xde\xf7\x00\xa6\xdb\x81\x93\x81\xbe\x6e\x26\x9d\xcb\xf9\xbd\x2e\xd9",
        }
    }

    fn labels(self) -> [&'static str; 3] {
        match self {
            Self::Draft29 | Self::One => ["quic key", "quic iv", "quic hp"],
            Self::Two => ["quicv2 key", "quicv2 iv", "quicv2 hp"],
        }
    }
}

/// The keys of a client.
pub(super) struct Keys {
    pub(super) aead: LessSafeKey,
    pub(super) iv: [u8; 12],
    header: Aes128,
}

impl Keys {
    /// Of the client that began with this connection id of its server's.
    pub(super) fn new(version: Version, id: &[u8]) -> Option<Self> {
        let common = Salt::new(HKDF_SHA256, version.salt()).extract(id);
        let client = Prk::new_less_safe(HKDF_SHA256, &expand::<32>(&common, "client in")?);
        let [key, iv, header] = version.labels();
        Some(Self {
            aead: LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &expand::<16>(&client, key)?).ok()?),
            iv: expand(&client, iv)?,
            header: Aes128::new(&expand::<16>(&client, header)?.into()),
        })
    }

    /// What hides the first byte and the number of a packet from which this sample was taken.
    pub(super) fn mask(&self, sample: &[u8; 16]) -> [u8; 16] {
        let mut block = (*sample).into();
        self.header.encrypt_block(&mut block);
        block.into()
    }

    /// Opens a payload where it lies.
    pub(super) fn open<'a>(&self, number: u32, header: &[u8], payload: &'a mut [u8]) -> Option<&'a mut [u8]> {
        let nonce = Nonce::assume_unique_for_key(self.nonce(number));
        self.aead.open_in_place(nonce, Aad::from(header), payload).ok()
    }

    pub(super) fn nonce(&self, number: u32) -> [u8; 12] {
        let mut nonce = self.iv;
        for (to, from) in nonce[8..].iter_mut().zip(number.to_be_bytes()) {
            *to ^= from;
        }
        nonce
    }
}

/// HKDF-Expand-Label of TLS 1.3, without context.
fn expand<const N: usize>(prk: &Prk, label: &str) -> Option<[u8; N]> {
    struct Len(usize);

    impl KeyType for Len {
        fn len(&self) -> usize {
            self.0
        }
    }

    let (len, label_len) = (u16::try_from(N).ok()?, u8::try_from(6 + label.len()).ok()?);
    let info = [&len.to_be_bytes()[..], &[label_len], b"tls13 ", label.as_bytes(), &[0]];
    let mut out = [0; N];
    prk.expand(&info, Len(N)).and_then(|okm| okm.fill(&mut out)).ok()?;
    Some(out)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// RFC 9001 A.1 and RFC 9369 A.1.
    #[test]
    fn the_known_answers() {
        let id = [0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08];
        let one = Keys::new(Version::One, &id).unwrap();
        assert_eq!(one.iv, *b"\xfa\x04\x4b\x2f\x42\xa3\xfd\x3b\x46\xfb\x25\x5c");
        let sample = *b"\xd1\xb1\xc9\x8d\xd7\x68\x9f\xb8\xec\x11\xd2\x42\xb1\x23\xdc\x9b";
        assert_eq!(one.mask(&sample)[..5], *b"\x43\x7b\x9a\xec\x36");
        let two = Keys::new(Version::Two, &id).unwrap();
        assert_eq!(two.iv, *b"\x91\xf7\x3e\x23\x51\xd8\xfa\x91\x66\x0e\x90\x9f");
    }
}
