//! The header of SOCKS5 datagrams (RFC 1928 section 7).

use super::address::{read_address, write_address};
use crate::addr::Target;
use crate::wire::{Reader, WireError};

/// Splits a datagram into its address and its payload, which may be empty.
///
/// # Errors
/// [`WireError`] for what is no such datagram, and for fragments: nobody sends them, and passing one on as a whole
/// datagram would be wrong.
pub fn read_datagram(datagram: &[u8]) -> Result<(Target, &[u8]), WireError> {
    let mut reader = Reader::new(datagram);
    let [_, _, fragment] = reader.take_array()?;
    if fragment != 0 {
        return Err(WireError::Denied { what: "a fragmented datagram" });
    }
    let target = read_address(&mut reader)?;
    Ok((target, reader.take_rest()))
}

/// Appends the header for a payload to or from `target`.
pub fn write_header(target: &Target, out: &mut Vec<u8>) {
    out.extend_from_slice(&[0, 0, 0]);
    write_address(target, out);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn datagrams_read_and_write_alike() {
        let target: Target = "a.example:53".parse().unwrap();
        let mut out = Vec::new();
        write_header(&target, &mut out);
        assert_eq!(out, b"\0\0\0\x03\x09a.example\0\x35");
        out.extend_from_slice(b"data");
        assert_eq!(read_datagram(&out), Ok((target, &b"data"[..])));
    }

    #[test]
    fn fragments_are_refused_and_empty_payloads_are_not() {
        assert!(read_datagram(b"\0\0\x01\x01\x7f\0\0\x01\0\x35x").is_err());
        assert_eq!(read_datagram(b"\0\0\0\x01\x7f\0\0\x01\0\x35").unwrap().1, b"");
        assert!(read_datagram(b"\0\0\0").is_err());
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            let _ = read_datagram(&bytes);
        }
    }
}
