//! An address as SOCKS5 writes it: type, host, port. Trojan and Shadowsocks use the same form.

use std::net::IpAddr;

use bytes::BufMut;

use crate::addr::{Host, Target};
use crate::wire::{Reader, WireError};

const V4: u8 = 1;
const DOMAIN: u8 = 3;
const V6: u8 = 4;

/// Reads an address. A name that is an IP literal, with brackets or without, counts as the address it is: browsers send
/// such names, and rules for addresses must see them.
///
/// # Errors
/// [`WireError`] for an unknown type and for text that is no host name.
pub fn read_address(reader: &mut Reader<'_>) -> Result<Target, WireError> {
    let host = match reader.take_u8()? {
        V4 => IpAddr::from(reader.take_array::<4>()?).into(),
        V6 => IpAddr::from(reader.take_array::<16>()?).into(),
        DOMAIN => host_of(reader.take_prefixed_u8()?)?,
        _ => return Err(WireError::Malformed { what: "address type" }),
    };
    Ok(Target::new(host, reader.take_u16()?))
}

/// Appends an address. Names have at most 253 bytes, so all of them fit.
pub fn write_address(target: &Target, out: &mut impl BufMut) {
    match &target.host {
        Host::Ip(IpAddr::V4(ip)) => {
            out.put_u8(V4);
            out.put_slice(&ip.octets());
        }
        Host::Ip(IpAddr::V6(ip)) => {
            out.put_u8(V6);
            out.put_slice(&ip.octets());
        }
        Host::Domain(name) => {
            let name = name.as_str().as_bytes();
            out.put_u8(DOMAIN);
            out.put_u8(u8::try_from(name.len()).unwrap_or(u8::MAX));
            out.put_slice(name);
        }
    }
    out.put_u16(target.port);
}

pub(crate) fn host_of(name: &[u8]) -> Result<Host, WireError> {
    let bad = WireError::Malformed { what: "host name" };
    str::from_utf8(name).ok().and_then(|text| Host::parse(text).ok()).ok_or(bad)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8]) -> Result<Target, WireError> {
        read_address(&mut Reader::new(bytes))
    }

    #[test]
    fn addresses_read_and_write_alike() {
        for text in ["10.1.2.3:80", "[2001:db8::1]:443", "a_b.example:65535"] {
            let target: Target = text.parse().unwrap();
            let mut out = Vec::new();
            write_address(&target, &mut out);
            assert_eq!(read(&out), Ok(target));
        }
    }

    #[test]
    fn literals_in_the_name_field_are_addresses() {
        for text in ["2001:db8::8", "[2001:db8::8]", "192.0.2.1"] {
            let bytes = [&[3, u8::try_from(text.len()).unwrap()][..], text.as_bytes(), &[0, 80]].concat();
            assert!(read(&bytes).unwrap().host.ip().is_some(), "{text}");
        }
    }

    #[test]
    fn odd_names_and_types_are_refused() {
        assert!(matches!(read(b"\x03\x00\x00\x50"), Err(WireError::Malformed { .. })));
        assert!(matches!(read(b"\x03\x03a b\x00\x50"), Err(WireError::Malformed { .. })));
        assert!(matches!(read(b"\x03\x01\xff\x00\x50"), Err(WireError::Malformed { .. })));
        assert!(matches!(read(b"\x02\x01\xff\x00\x50"), Err(WireError::Malformed { .. })));
        assert!(matches!(read(b"\x01\x7f"), Err(WireError::Truncated { .. })));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            let _ = read(&bytes);
        }
    }
}
