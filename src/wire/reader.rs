//! A checked cursor over bytes from a peer.

use super::error::WireError;

/// Reads typed values from the front of a slice; every read is checked, none panics. Integers are big-endian.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    input: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Begins at the front of `input`.
    #[must_use]
    pub fn new(input: &'a [u8]) -> Self {
        Self { input, at: 0 }
    }

    /// How many bytes were read so far.
    #[must_use]
    pub fn used(&self) -> usize {
        self.at
    }

    /// How many bytes are left.
    #[must_use]
    pub fn left(&self) -> usize {
        self.input.len() - self.at
    }

    /// Whether everything was read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.left() == 0
    }

    /// The bytes not yet read, without reading them.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        &self.input[self.at..]
    }

    /// The next byte, without reading it.
    #[must_use]
    pub fn peek(&self) -> Option<u8> {
        self.input.get(self.at).copied()
    }

    /// Reads `len` bytes.
    ///
    /// # Errors
    /// [`WireError::Truncated`] says how many are missing.
    pub fn take_bytes(&mut self, len: usize) -> Result<&'a [u8], WireError> {
        let missing = len.saturating_sub(self.left());
        if missing > 0 {
            return Err(WireError::Truncated { need: missing });
        }
        let bytes = &self.input[self.at..self.at + len];
        self.at += len;
        Ok(bytes)
    }

    /// Reads everything that is left.
    pub fn take_rest(&mut self) -> &'a [u8] {
        let rest = self.rest();
        self.at = self.input.len();
        rest
    }

    /// Reads a fixed number of bytes by value.
    ///
    /// # Errors
    /// [`WireError::Truncated`] says how many are missing.
    pub fn take_array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take_bytes(N)?);
        Ok(array)
    }

    /// Reads one byte.
    ///
    /// # Errors
    /// [`WireError::Truncated`] at the end.
    pub fn take_u8(&mut self) -> Result<u8, WireError> {
        self.take_array().map(u8::from_be_bytes)
    }

    /// Reads two bytes, big-endian.
    ///
    /// # Errors
    /// [`WireError::Truncated`] near the end.
    pub fn take_u16(&mut self) -> Result<u16, WireError> {
        self.take_array().map(u16::from_be_bytes)
    }

    /// Reads three bytes, big-endian (TLS lengths).
    ///
    /// # Errors
    /// [`WireError::Truncated`] near the end.
    pub fn take_u24(&mut self) -> Result<u32, WireError> {
        self.take_array().map(|[a, b, c]| u32::from_be_bytes([0, a, b, c]))
    }

    /// Reads four bytes, big-endian.
    ///
    /// # Errors
    /// [`WireError::Truncated`] near the end.
    pub fn take_u32(&mut self) -> Result<u32, WireError> {
        self.take_array().map(u32::from_be_bytes)
    }

    /// Reads eight bytes, big-endian.
    ///
    /// # Errors
    /// [`WireError::Truncated`] near the end.
    pub fn take_u64(&mut self) -> Result<u64, WireError> {
        self.take_array().map(u64::from_be_bytes)
    }

    /// Reads a length byte and as many bytes.
    ///
    /// # Errors
    /// [`WireError::Truncated`] near the end.
    pub fn take_prefixed_u8(&mut self) -> Result<&'a [u8], WireError> {
        let len = self.take_u8()?;
        self.take_bytes(len.into())
    }

    /// Reads a two-byte length and as many bytes.
    ///
    /// # Errors
    /// [`WireError::Truncated`] near the end.
    pub fn take_prefixed_u16(&mut self) -> Result<&'a [u8], WireError> {
        let len = self.take_u16()?;
        self.take_bytes(len.into())
    }

    /// Reads up to and over the first `end`; gives what stood before it.
    ///
    /// # Errors
    /// [`WireError::TooLong`] if `max` bytes hold no `end`, else [`WireError::Truncated`].
    pub fn take_until(&mut self, end: u8, max: usize) -> Result<&'a [u8], WireError> {
        let rest = self.rest();
        let window = &rest[..rest.len().min(max.saturating_add(1))];
        match window.iter().position(|&byte| byte == end) {
            Some(len) => {
                self.at += len + 1;
                Ok(&rest[..len])
            }
            None if window.len() > max => Err(WireError::TooLong),
            None => Err(WireError::Truncated { need: 1 }),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn values_come_in_order_and_the_rest_stays() {
        let mut reader = Reader::new(&[1, 0, 2, 0, 0, 3, 3, b'a', b'b', b'c', 9]);
        assert_eq!(reader.take_u8(), Ok(1));
        assert_eq!(reader.take_u16(), Ok(2));
        assert_eq!(reader.take_u24(), Ok(3));
        assert_eq!(reader.take_prefixed_u8(), Ok(&b"abc"[..]));
        assert_eq!((reader.used(), reader.rest()), (10, &[9][..]));
    }

    #[test]
    fn short_input_says_what_is_missing_and_reads_nothing() {
        let mut reader = Reader::new(&[0, 5, 1]);
        assert_eq!(reader.take_u64(), Err(WireError::Truncated { need: 5 }));
        assert_eq!(reader.used(), 0);
        assert_eq!(reader.take_prefixed_u16(), Err(WireError::Truncated { need: 4 }));
    }

    #[test]
    fn ended_text_is_bounded() {
        assert_eq!(Reader::new(b"id\0x").take_until(0, 8), Ok(&b"id"[..]));
        assert_eq!(Reader::new(b"id").take_until(0, 8), Err(WireError::Truncated { need: 1 }));
        assert_eq!(Reader::new(b"longer\0").take_until(0, 3), Err(WireError::TooLong));
        assert_eq!(Reader::new(b"abc\0").take_until(0, 3), Ok(&b"abc"[..]));
    }
}
