//! The record layer (RFC 8446, section 5): one key, one direction.

use aws_lc_rs::aead::{Aad, Algorithm, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::error::Unspecified;
use bytes::BytesMut;

use crate::wire::WireError;

/// Type of a record that does nothing.
pub const CHANGE_CIPHER_SPEC: u8 = 20;
/// Type of an alert.
pub const ALERT: u8 = 21;
/// Type of handshake messages.
pub const HANDSHAKE: u8 = 22;
/// Type of payload, and of everything that is protected.
pub const APPLICATION_DATA: u8 = 23;

/// Bytes in front of a record.
pub const HEADER: usize = 5;
/// Bytes behind what is protected; all three ciphers have the same.
pub const TAG: usize = 16;
/// Most bytes that a record carries.
pub const CONTENT: usize = 1 << 14;
/// Longest body of a protected record.
const BODY: usize = CONTENT + 256;

/// A record's type and the length of its body.
///
/// # Errors
/// [`WireError::Truncated`] while it is not all there, [`WireError::Malformed`] if that is no record.
pub fn header(input: &[u8]) -> Result<(u8, usize), WireError> {
    let Some([kind, major, _, high, low]) = input.first_chunk() else {
        return Err(WireError::Truncated { need: HEADER - input.len() });
    };
    if !(CHANGE_CIPHER_SPEC..=APPLICATION_DATA).contains(kind) || *major != 3 {
        return Err(WireError::Malformed { what: "TLS record" });
    }
    let len = usize::from(u16::from_be_bytes([*high, *low]));
    if len > BODY { Err(WireError::TooLong) } else { Ok((*kind, len)) }
}

/// The key of one direction, which counts its records.
pub struct RecordKey {
    key: LessSafeKey,
    iv: [u8; 12],
    count: u64,
}

impl RecordKey {
    pub(super) fn new(cipher: &'static Algorithm, key: &[u8], iv: [u8; 12]) -> Result<Self, Unspecified> {
        Ok(Self { key: LessSafeKey::new(UnboundKey::new(cipher, key)?), iv, count: 0 })
    }

    /// Records so far.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Appends one record with `content` in it. `padding` zeros hide how much that is.
    ///
    /// # Errors
    /// If the record would be too long; then nothing is appended.
    pub fn seal(&mut self, kind: u8, content: &[u8], padding: usize, out: &mut BytesMut) -> Result<(), Unspecified> {
        let inner = content.len() + 1 + padding;
        let body = u16::try_from(inner + TAG).ok().filter(|_| inner <= CONTENT + 1).ok_or(Unspecified)?.to_be_bytes();
        let header = [APPLICATION_DATA, 3, 3, body[0], body[1]];
        let start = out.len();
        out.reserve(HEADER + inner + TAG);
        out.extend_from_slice(&header);
        out.extend_from_slice(content);
        out.extend_from_slice(&[kind]);
        out.resize(start + HEADER + inner, 0);
        let nonce = self.nonce();
        match self.key.seal_in_place_separate_tag(nonce, Aad::from(header), &mut out[start + HEADER..]) {
            Ok(tag) => {
                out.extend_from_slice(tag.as_ref());
                Ok(())
            }
            Err(error) => {
                out.truncate(start);
                Err(error)
            }
        }
    }

    /// Opens a whole record where it lies, and gives its true type and how many bytes of content stand behind the header.
    ///
    /// # Errors
    /// [`WireError::Denied`] if it was not sealed with this key, [`WireError::Malformed`] if it holds nothing at all.
    pub fn open(&mut self, record: &mut [u8]) -> Result<(u8, usize), WireError> {
        let Some((header, body)) = record.split_first_chunk_mut::<HEADER>() else {
            return Err(WireError::Truncated { need: HEADER });
        };
        let nonce = self.nonce();
        let inner = self
            .key
            .open_in_place(nonce, Aad::from(&header[..]), body)
            .map_err(|_| WireError::Denied { what: "a TLS record" })?;
        let Some(len) = inner.iter().rposition(|byte| *byte != 0) else {
            return Err(WireError::Malformed { what: "TLS record" });
        };
        if len > CONTENT { Err(WireError::TooLong) } else { Ok((inner[len], len)) }
    }

    fn nonce(&mut self) -> Nonce {
        let mut nonce = self.iv;
        for (byte, count) in nonce[4..].iter_mut().zip(self.count.to_be_bytes()) {
            *byte ^= count;
        }
        self.count += 1;
        Nonce::assume_unique_for_key(nonce)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use aws_lc_rs::aead::AES_128_GCM;

    use super::*;

    fn key() -> RecordKey {
        RecordKey::new(&AES_128_GCM, &[7; 16], [9; 12]).unwrap()
    }

    #[test]
    fn records_open_in_their_order_only() {
        let (mut ours, mut theirs) = (key(), key());
        let mut wire = BytesMut::new();
        ours.seal(HANDSHAKE, b"hello", 0, &mut wire).unwrap();
        let first = wire.len();
        ours.seal(APPLICATION_DATA, b"", 100, &mut wire).unwrap();
        assert_eq!((first, wire.len() - first), (HEADER + 6 + TAG, HEADER + 101 + TAG));
        let mut second = wire.split_off(first);
        assert_eq!(theirs.open(&mut wire).unwrap(), (HANDSHAKE, 5));
        assert_eq!(&wire[HEADER..HEADER + 5], b"hello");
        assert_eq!(theirs.open(&mut second.clone()).unwrap(), (APPLICATION_DATA, 0));
        assert_eq!(theirs.open(&mut second), Err(WireError::Denied { what: "a TLS record" }));
    }

    #[test]
    fn what_is_no_record_is_refused() {
        assert_eq!(header(&[23, 3, 3, 0x41, 0]), Ok((23, BODY)));
        assert_eq!(header(&[23, 3, 3, 0x41, 1]), Err(WireError::TooLong));
        assert_eq!(header(&[23, 3, 3]), Err(WireError::Truncated { need: 2 }));
        assert_eq!(header(b"GET / "), Err(WireError::Malformed { what: "TLS record" }));
        let mut wire = BytesMut::new();
        assert!(key().seal(HANDSHAKE, &[0; CONTENT], 1, &mut wire).is_err() && wire.is_empty());
        key().seal(0, &[], 3, &mut wire).unwrap();
        assert_eq!(key().open(&mut wire), Err(WireError::Malformed { what: "TLS record" }));
        assert!(key().open(&mut [23, 3, 3, 0, 2, 1, 1]).is_err());
    }
}
