use proptest::prelude::*;

use super::super::testing::{crypto, initial};
use super::*;
use crate::proto::hello::tests::handshake;

fn name(hello: Option<ClientHello>) -> Option<String> {
    hello?.server_name.map(|name| name.as_str().to_owned())
}

#[test]
fn the_name_is_found_in_one_packet_of_each_version() {
    let bytes = handshake("quic.example.com", &["h3"]);
    for version in [1, 0xff00_001d, 0x6b33_43cf] {
        let packet = initial(version, 0, &crypto(0, &bytes));
        let found = Hello::default().take(&packet).unwrap();
        assert_eq!(name(found).as_deref(), Some("quic.example.com"), "{version:x}");
    }
}

#[test]
fn pieces_may_come_in_any_order_and_in_several_packets() {
    let bytes = handshake("quic.example.com", &["h3"]);
    let (a, b) = bytes.split_at(20);
    let (b, c) = b.split_at(10);
    let shuffled = [crypto(30, c), vec![1, 0, 2, 5, 0, 0, 0], crypto(0, a), crypto(20, b)].concat();
    assert_eq!(name(Hello::default().take(&initial(1, 0, &shuffled)).unwrap()).as_deref(), Some("quic.example.com"));
    let mut hello = Hello::default();
    let first = [crypto(30, c), crypto(0, a)].concat();
    assert_eq!(hello.take(&initial(1, 0, &first)), Ok(None));
    assert_eq!(hello.take(&initial(1, 0, &first)), Ok(None));
    assert_eq!(
        name(hello.take(&initial(1, 1, &crypto(18, &bytes[18..32]))).unwrap()).as_deref(),
        Some("quic.example.com")
    );
    let both = [initial(1, 0, &first), initial(1, 1, &crypto(20, b))].concat();
    assert_eq!(name(Hello::default().take(&both).unwrap()).as_deref(), Some("quic.example.com"));
}

#[test]
fn what_is_no_hello_of_a_client_is_told() {
    let bytes = handshake("quic.example.com", &["h3"]);
    let packet = initial(1, 0, &crypto(0, &bytes));
    for at in 0..packet.len() {
        let mut changed = packet.clone();
        changed[at] ^= 0x10;
        assert!(Hello::default().take(&changed).is_err(), "at {at}");
    }
    assert!(Hello::default().take(&packet[..100]).is_err());
    assert!(Hello::default().take(&initial(1, 0, &crypto(16_380, b"12345"))).is_err());
    assert!(Hello::default().take(&initial(1, 0, &[8, 0])).is_err());
    let many: Vec<u8> = (0..65).flat_map(|at| crypto(100 + 2 * at, b"x")).collect();
    assert!(Hello::default().take(&initial(1, 0, &many)).is_err());
    for other in [&b""[..], b"\x12\x34\x01\x00\x00\x01", &[0xc0; 40], b"\x40abc"] {
        assert!(Hello::default().take(other).is_err());
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>, frames: Vec<u8>) {
        let _ = Hello::default().take(&bytes);
        let _ = Hello::default().take(&[b"\xc0\x00\x00\x00\x01\x08abcdefgh\x00\x00", &bytes[..]].concat());
        let _ = Hello::default().take(&initial(1, 0, &frames));
    }
}
