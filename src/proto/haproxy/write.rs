//! The header of our own.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The two forms of the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// One line of text.
    V1,
    /// Binary.
    V2,
}

/// The header for a connection of `client` to `server`. Where one of them is IPv6, both are written as such; a client
/// without an address, such as one on a Unix socket, is unknown.
#[must_use]
pub fn header(form: Form, client: SocketAddr, server: SocketAddr) -> Vec<u8> {
    match form {
        Form::V1 if client.ip().is_unspecified() => b"PROXY UNKNOWN\r\n".to_vec(),
        Form::V2 if client.ip().is_unspecified() => [&SIGNATURE[..], &[LOCAL, 0, 0, 0]].concat(),
        Form::V1 => text(client, server),
        Form::V2 => binary(client, server),
    }
}

/// First bytes of version 2, which no other protocol begins with.
pub(super) const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
/// Version 2, and "on behalf of a client".
pub(super) const PROXIED: u8 = 0x21;
/// Version 2, and on nobody's behalf.
pub(super) const LOCAL: u8 = 0x20;
/// TCP over IPv4, TCP over IPv6.
pub(super) const STREAM_V4: u8 = 0x11;
pub(super) const STREAM_V6: u8 = 0x21;

fn text(client: SocketAddr, server: SocketAddr) -> Vec<u8> {
    let (family, from, to) = match (client.ip(), server.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => ("TCP4", from.to_string(), to.to_string()),
        (from, to) => ("TCP6", v6(from).to_string(), v6(to).to_string()),
    };
    format!("PROXY {family} {from} {to} {} {}\r\n", client.port(), server.port()).into_bytes()
}

fn binary(client: SocketAddr, server: SocketAddr) -> Vec<u8> {
    let mut addresses = Vec::with_capacity(36);
    let kind = match (client.ip(), server.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            addresses.extend_from_slice(&from.octets());
            addresses.extend_from_slice(&to.octets());
            STREAM_V4
        }
        (from, to) => {
            addresses.extend_from_slice(&v6(from).octets());
            addresses.extend_from_slice(&v6(to).octets());
            STREAM_V6
        }
    };
    addresses.extend_from_slice(&client.port().to_be_bytes());
    addresses.extend_from_slice(&server.port().to_be_bytes());
    let length = if kind == STREAM_V4 { 12_u16 } else { 36 };
    [&SIGNATURE[..], &[PROXIED, kind], &length.to_be_bytes(), &addresses].concat()
}

fn v6(ip: IpAddr) -> Ipv6Addr {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn made(form: Form, client: &str, server: &str) -> Vec<u8> {
        header(form, client.parse().unwrap(), server.parse().unwrap())
    }

    #[test]
    fn the_line_of_version_1() {
        let line = made(Form::V1, "192.0.2.1:56324", "192.0.2.2:443");
        assert_eq!(line, b"PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\n");
        let line = made(Form::V1, "192.0.2.1:1", "[2001:db8::1]:443");
        assert_eq!(line, b"PROXY TCP6 ::ffff:192.0.2.1 2001:db8::1 1 443\r\n");
    }

    #[test]
    fn the_bytes_of_version_2() {
        let bytes = made(Form::V2, "192.0.2.1:256", "192.0.2.2:443");
        assert_eq!(bytes, b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\x02\x01\xc0\0\x02\x02\x01\0\x01\xbb");
        assert_eq!(made(Form::V1, "0.0.0.0:0", "192.0.2.2:443"), b"PROXY UNKNOWN\r\n");
        assert_eq!(made(Form::V2, "0.0.0.0:0", "192.0.2.2:443"), b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0");
        let bytes = made(Form::V2, "[2001:db8::2]:1", "[2001:db8::1]:443");
        assert_eq!((bytes[13], bytes[15], bytes.len()), (0x21, 36, 16 + 36));
    }
}
