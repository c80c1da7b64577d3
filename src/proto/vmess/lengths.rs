//! How long a chunk is: a number that may be masked or sealed, and padding that nobody sees the length of.

use bytes::{BufMut, BytesMut};
use shake::{ExtendableOutput, Shake128, Shake128Reader, Update, XofReader};

use super::cipher::{Cipher, TAG};
use super::kdf::kdf16;
use super::options::{Options, Security};
use crate::wire::WireError;

/// Lengths of one direction.
pub(super) struct Lengths {
    /// Where masks and lengths of padding come from. One stream serves both, so the order counts.
    stream: Option<Box<Shake128Reader>>,
    padded: bool,
    form: Form,
}

enum Form {
    Plain,
    Masked,
    Sealed(Box<Cipher>),
}

/// The keys of a connection's two directions.
#[derive(Clone, Copy)]
pub(super) struct Keys<'a> {
    /// Of this direction.
    pub(super) iv: &'a [u8; 16],
    /// Of the request; lengths are sealed with these in both.
    pub(super) request_key: &'a [u8; 16],
    pub(super) request_iv: &'a [u8; 16],
}

impl Lengths {
    pub(super) fn new(options: Options, security: Security, keys: Keys<'_>) -> Self {
        let padded = options.has(Options::PADDED);
        let form = if options.has(Options::SEALED_LENGTHS) {
            // What is not sealed at all still has its lengths sealed, with AES.
            let security = if security == Security::None { Security::Aes128Gcm } else { security };
            let key = kdf16(keys.request_key, &[b"auth_len"]);
            Form::Sealed(Box::new(Cipher::new(security, &key, keys.request_iv)))
        } else if options.has(Options::MASKED) {
            Form::Masked
        } else {
            Form::Plain
        };
        let streamed = padded || matches!(form, Form::Masked);
        let stream = streamed.then(|| Box::new(Shake128::default().chain(keys.iv).finalize_xof()));
        Self { stream, padded, form }
    }

    /// Bytes that a length takes.
    pub(super) fn size(&self) -> usize {
        if matches!(self.form, Form::Sealed(_)) { 2 + TAG } else { 2 }
    }

    fn word(&mut self) -> u16 {
        let mut word = [0; 2];
        if let Some(stream) = &mut self.stream {
            stream.read(&mut word);
        }
        u16::from_be_bytes(word)
    }

    /// How much padding the next chunk has. Must be asked for before its length.
    pub(super) fn padding(&mut self) -> usize {
        if self.padded { usize::from(self.word() % 64) } else { 0 }
    }

    /// Appends a length.
    pub(super) fn write(&mut self, len: u16, out: &mut BytesMut) {
        match &mut self.form {
            Form::Plain => out.put_u16(len),
            Form::Masked => {
                let masked = len ^ self.word();
                out.put_u16(masked);
            }
            // Counted without a tag, and where there is none this runs below zero, for the peer as well.
            Form::Sealed(cipher) => cipher.seal(&len.wrapping_sub(16).to_be_bytes(), out),
        }
    }

    /// Reads a length from its bytes, which stay as they are.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Result<u16, WireError> {
        let short = WireError::Truncated { need: self.size().saturating_sub(bytes.len()) };
        match &mut self.form {
            Form::Sealed(cipher) => {
                let mut sealed = *bytes.first_chunk::<{ 2 + TAG }>().ok_or(short)?;
                cipher.open(&mut sealed)?;
                Ok(u16::from_be_bytes([sealed[0], sealed[1]]).wrapping_add(16))
            }
            Form::Plain => bytes.first_chunk().map(|word| u16::from_be_bytes(*word)).ok_or(short),
            Form::Masked => {
                let word = u16::from_be_bytes(*bytes.first_chunk().ok_or(short)?);
                Ok(word ^ self.word())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::vectors::{IV, KEY, array, hex};
    use super::*;

    #[test]
    fn the_stream_and_the_key_are_known() {
        let (iv, key) = (array(IV), array(KEY));
        let keys = Keys { iv: &iv, request_key: &key, request_iv: &iv };
        let mut lengths = Lengths::new(Options::MASKED, Security::Aes128Gcm, keys);
        let words: Vec<u8> = (0..6).flat_map(|_| lengths.word().to_be_bytes()).collect();
        assert_eq!(words, hex("fc918e43ecc4b6aea436a3be"));
        assert_eq!(kdf16(&key, &[b"auth_len"])[..], hex("b5aa9ae1cde5868ebebf49f8fc314664"));
    }
}
