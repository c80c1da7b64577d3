//! An address as VLESS, VMess and mux.cool write it: port, type, host. The types have other numbers than those of SOCKS5.

use std::net::IpAddr;

use bytes::BufMut;

use super::socks::host_of;
use crate::addr::{Host, Target};
use crate::wire::{Reader, WireError};

const V4: u8 = 1;
const DOMAIN: u8 = 2;
const V6: u8 = 3;

/// Reads an address. A name that is an IP literal counts as the address it is, as in [`super::socks::read_address`].
///
/// # Errors
/// [`WireError`] for an unknown type and for text that is no host name.
pub fn read_address(reader: &mut Reader<'_>) -> Result<Target, WireError> {
    let port = reader.take_u16()?;
    let host = match reader.take_u8()? {
        V4 => IpAddr::from(reader.take_array::<4>()?).into(),
        V6 => IpAddr::from(reader.take_array::<16>()?).into(),
        DOMAIN => host_of(reader.take_prefixed_u8()?)?,
        _ => return Err(WireError::Malformed { what: "address type" }),
    };
    Ok(Target::new(host, port))
}

/// Appends an address. Names have at most 253 bytes, so all of them fit.
pub fn write_address(target: &Target, out: &mut impl BufMut) {
    out.put_u16(target.port);
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
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn each_form_is_read_as_it_was_written() {
        for (text, hex) in [
            ("1.2.3.4:80", &[0, 80, 1, 1, 2, 3, 4][..]),
            ("a.example:443", b"\x01\xbb\x02\x09a.example"),
            ("[::1]:1", &[0, 1, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
        ] {
            let target: Target = text.parse().unwrap();
            let mut out = Vec::new();
            write_address(&target, &mut out);
            assert_eq!(out, hex, "{text}");
            assert_eq!(read_address(&mut Reader::new(&out)).unwrap(), target);
        }
        assert!(read_address(&mut Reader::new(&[0, 1, 4, 0])).is_err());
    }
}
