//! What is read of TLS in the clear.

use etemenanki::proto::hello::{ClientHello, handshake_message};
use etemenanki::proto::sniff;
use etemenanki::wire::WireError;

/// A ClientHello, in records and bare.
pub fn hello(data: &[u8]) {
    let _ = ClientHello::from_handshake(data);
    let whole = ClientHello::from_records(data);
    if let Ok(message) = handshake_message(data) {
        assert!(message.len() <= data.len());
        assert!(!matches!(whole, Err(WireError::Truncated { .. })), "the message is whole");
    }
    // What is no TLS does not become it with more bytes, nor does a hello become another.
    for len in [data.len() / 2, data.len().saturating_sub(1)] {
        match ClientHello::from_records(&data[..len]) {
            Err(WireError::Truncated { need }) => assert!(need > 0),
            other => assert_eq!(other, whole),
        }
    }
}

/// The first bytes of a stream.
pub fn sniff(data: &[u8]) {
    for len in [0, data.len() / 2, data.len()] {
        let _ = sniff::stream(&data[..len]);
    }
}
