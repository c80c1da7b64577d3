#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

/// A ClientHello message with a server name and protocols, as a handshake message.
pub(crate) fn handshake(name: &str, alpn: &[&str]) -> Vec<u8> {
    let mut extensions = Vec::new();
    // Something unknown first.
    extension(&mut extensions, 0x0a0a, &[0]);
    let entry = [&[0][..], &with_u16(name.as_bytes())].concat();
    extension(&mut extensions, SERVER_NAME, &with_u16(&entry));
    if !alpn.is_empty() {
        let list: Vec<u8> = alpn.iter().flat_map(|p| [&[len8(p.len())][..], p.as_bytes()].concat()).collect();
        extension(&mut extensions, ALPN, &with_u16(&list));
    }
    let body =
        [&[3, 3][..], &[b'r'; 32], &[32], &[b's'; 32], &[0, 2, 0x13, 1], &[1, 0], &with_u16(&extensions)].concat();
    [&[1, 0][..], &with_u16(&body)].concat()
}

/// The message in records of at most `size` bytes.
pub(crate) fn records(message: &[u8], size: usize) -> Vec<u8> {
    message.chunks(size).flat_map(|part| [&[22, 3, 1][..], &with_u16(part)].concat()).collect()
}

fn len8(len: usize) -> u8 {
    u8::try_from(len).unwrap()
}

fn with_u16(bytes: &[u8]) -> Vec<u8> {
    [&u16::try_from(bytes.len()).unwrap().to_be_bytes()[..], bytes].concat()
}

fn extension(out: &mut Vec<u8>, kind: u16, value: &[u8]) {
    out.extend_from_slice(&kind.to_be_bytes());
    out.extend_from_slice(&with_u16(value));
}

#[test]
fn name_and_protocols_are_read() {
    let hello =
        ClientHello::from_records(&records(&handshake("Shop.Example.com", &["h2", "http/1.1"]), 16384)).unwrap();
    assert_eq!(hello.server_name.unwrap().as_str(), "shop.example.com");
    assert_eq!(hello.alpn, [b"h2".to_vec(), b"http/1.1".to_vec()]);
}

#[test]
fn split_records_are_put_together_and_short_ones_wait() {
    let message = handshake("shop.example.com", &["h2"]);
    for size in [1, 2, 5, 100] {
        let wire = records(&message, size);
        assert!(ClientHello::from_records(&wire).is_ok(), "records of {size}");
        for end in 0..wire.len() {
            let short = ClientHello::from_records(&wire[..end]);
            assert!(matches!(short, Err(WireError::Truncated { .. })), "{end} of records of {size}: {short:?}");
        }
    }
    assert!(ClientHello::from_handshake(&message).is_ok());
}

#[test]
fn names_that_are_no_host_names_are_ignored() {
    for name in ["192.0.2.99", "2001:db8::1", "", "a..b", "-a.example", "a b.example", "1.2.3", "a/b", &"a".repeat(64)]
    {
        let hello = ClientHello::from_records(&records(&handshake(name, &[]), 16384)).unwrap();
        assert_eq!(hello.server_name, None, "{name}");
    }
    let hello = ClientHello::from_records(&records(&handshake("_dns.x1.example", &[]), 16384)).unwrap();
    assert!(hello.server_name.is_some());
}

#[test]
fn what_is_no_hello_is_known_at_once() {
    for other in [
        &b"GET / HTTP/1.1"[..],
        b"SSH-2.0",
        b"\x16\x02",
        b"\x16\x03\x01\x00\x00",
        b"\x16\x03\x01\xff\xff",
        b"\x16\x03\x01\x00\x04\x02\x00\x00\x00",
        b"\x16\x03\x01\x00\x04\x01\xff\x00\x00",
        b"\x17\x03\x03",
    ] {
        let read = ClientHello::from_records(other);
        assert!(!matches!(read, Err(WireError::Truncated { .. })) && read.is_err(), "{other:?}: {read:?}");
    }
    // A hello whose inside is cut is broken, however many bytes follow.
    let mut cut = handshake("shop.example.com", &[]);
    // The first extension is longer than all that follows.
    let at = cut.len() - 28;
    cut[at] += 1;
    assert!(matches!(ClientHello::from_handshake(&cut), Err(WireError::Malformed { .. })));
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
        let _ = ClientHello::from_records(&bytes);
        let _ = ClientHello::from_handshake(&bytes);
        let _ = ClientHello::from_body(&bytes);
    }

    #[test]
    fn a_damaged_hello_never_panics(at in 0usize..150, byte: u8) {
        let mut wire = records(&handshake("shop.example.com", &["h2"]), 60);
        if let Some(place) = wire.get_mut(at) {
            *place = byte;
        }
        let _ = ClientHello::from_records(&wire);
    }
}
