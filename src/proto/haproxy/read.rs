//! The header of a proxy in front of us.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::write::{LOCAL, PROXIED, SIGNATURE, STREAM_V4, STREAM_V6};
use crate::wire::{Handshake, Reader, Step, WireError, whole};

/// Reads one header of either version; gives the client, unless the proxy speaks for itself or does not know.
#[derive(Debug, Default)]
pub struct ReadHeader;

/// Longest line of version 1, its end included (the specification's figure).
const MAX_LINE: usize = 107;
/// Most bytes behind the fixed part of version 2; real proxies add a few hundred bytes of details.
const MAX_BODY: u16 = 4096;

impl Handshake for ReadHeader {
    type Output = Option<SocketAddr>;

    fn step(&mut self, input: &[u8], _: &mut Vec<u8>) -> Result<Step<Self::Output>, WireError> {
        whole(input, |reader| match reader.peek() {
            Some(b'P') => line(reader),
            Some(b'\r') => binary(reader),
            None => Err(WireError::Truncated { need: 1 }),
            Some(_) => Err(HEADER),
        })
    }
}

const HEADER: WireError = WireError::Malformed { what: "PROXY header" };

fn line(reader: &mut Reader<'_>) -> Result<Option<SocketAddr>, WireError> {
    let start = b"PROXY ";
    let there = reader.rest();
    if there.iter().zip(start).any(|(a, b)| a != b) {
        return Err(HEADER);
    }
    let line = reader.take_until(b'\n', MAX_LINE - 1)?;
    let text = std::str::from_utf8(line).ok().and_then(|line| line.strip_suffix('\r')).ok_or(HEADER)?;
    let mut words = text.split(' ').skip(1);
    let family = words.next().ok_or(HEADER)?;
    let mut word = || words.next().ok_or(HEADER);
    match family {
        "UNKNOWN" => Ok(None),
        "TCP4" | "TCP6" => {
            let (from, to) = (address(word()?, family)?, address(word()?, family)?);
            let (port, own) = (word()?.parse().map_err(|_| HEADER)?, word()?.parse::<u16>());
            if own.is_err() || to.is_ipv4() != from.is_ipv4() || words.next().is_some() {
                return Err(HEADER);
            }
            Ok(Some(SocketAddr::new(from.to_canonical(), port)))
        }
        _ => Err(HEADER),
    }
}

fn address(text: &str, family: &str) -> Result<IpAddr, WireError> {
    let parsed = if family == "TCP4" {
        text.parse::<Ipv4Addr>().map(IpAddr::from)
    } else {
        text.parse::<Ipv6Addr>().map(IpAddr::from)
    };
    parsed.map_err(|_| HEADER)
}

fn binary(reader: &mut Reader<'_>) -> Result<Option<SocketAddr>, WireError> {
    let there = reader.rest();
    if there.iter().zip(SIGNATURE).any(|(a, b)| a != b) {
        return Err(HEADER);
    }
    reader.take_bytes(SIGNATURE.len())?;
    let [command, kind] = reader.take_array()?;
    if command != LOCAL && command != PROXIED {
        return Err(HEADER);
    }
    let len = reader.take_u16()?;
    if len > MAX_BODY {
        return Err(WireError::TooLong);
    }
    let mut body = Reader::new(reader.take_bytes(len.into())?);
    let short = |_| HEADER;
    let ip: IpAddr = match kind {
        _ if command == LOCAL => return Ok(None),
        STREAM_V4 => {
            let from: [u8; 4] = body.take_array().map_err(short)?;
            body.take_bytes(4).map_err(short)?;
            from.into()
        }
        STREAM_V6 => {
            let from: [u8; 16] = body.take_array().map_err(short)?;
            body.take_bytes(16).map_err(short)?;
            from.into()
        }
        // Unix sockets and datagrams say nothing that counts here.
        _ => return Ok(None),
    };
    let port = body.take_u16().map_err(short)?;
    body.take_u16().map_err(short)?;
    Ok(Some(SocketAddr::new(ip.to_canonical(), port)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::write::{Form, header};
    use super::*;
    use crate::wire::testing::any_split;

    fn read(input: &[u8]) -> Option<Result<Option<SocketAddr>, WireError>> {
        any_split(|| ReadHeader, input).result
    }

    fn client(text: &str) -> Option<Result<Option<SocketAddr>, WireError>> {
        Some(Ok(Some(text.parse().unwrap())))
    }

    #[test]
    fn what_we_write_we_read() {
        for (from, to) in [("192.0.2.1:56324", "192.0.2.2:443"), ("[2001:db8::2]:1", "[2001:db8::1]:443")] {
            for form in [Form::V1, Form::V2] {
                let wire = header(form, from.parse().unwrap(), to.parse().unwrap());
                let outcome = any_split(|| ReadHeader, &[&wire[..], b"\x16\x03\x01"].concat());
                assert_eq!((outcome.result, outcome.used), (client(from), wire.len()));
            }
        }
    }

    #[test]
    fn a_proxy_may_speak_for_itself_or_not_know() {
        assert_eq!(read(b"PROXY UNKNOWN\r\n"), Some(Ok(None)));
        assert_eq!(read(b"PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n"), Some(Ok(None)));
        assert_eq!(read(b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0"), Some(Ok(None)));
        assert_eq!(read(b"\r\n\r\n\0\r\nQUIT\n\x21\x31\0\x02xx"), Some(Ok(None)));
    }

    #[test]
    fn mapped_addresses_are_told_plain_and_details_are_passed_over() {
        assert_eq!(read(b"PROXY TCP6 ::ffff:192.0.2.1 2001:db8::1 1 443\r\n"), client("192.0.2.1:1"));
        let wire = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0f\xc0\0\x02\x01\xc0\0\x02\x02\x01\0\x01\xbb\x03\0\0";
        assert_eq!(read(wire), client("192.0.2.1:256"));
    }

    #[test]
    fn anything_else_is_refused() {
        for bad in [
            &b"GET / HTTP/1.1\r\n"[..],
            b"PROXZ",
            b"PROXY TCP4 192.0.2.1 192.0.2.2 1\r\n",
            b"PROXY TCP4 192.0.2.1 192.0.2.2 1 65536\r\n",
            b"PROXY TCP4 ::1 ::1 1 2\r\n",
            b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2 3\r\n",
            b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\n",
            b"\r\n\r\n\0\r\nQUIX",
            b"\r\n\r\n\0\r\nQUIT\n\x11\x11\0\0",
            b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x02xx",
            b"\r\n\r\n\0\r\nQUIT\n\x21\x11\xff\xff",
        ] {
            assert!(matches!(read(bad), Some(Err(_))), "{}", String::from_utf8_lossy(bad));
        }
        let endless = [&b"PROXY TCP4 "[..], &[b'1'; 200]].concat();
        assert_eq!(read(&endless), Some(Err(WireError::TooLong)));
    }
}
