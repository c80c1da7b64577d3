//! Packets that come out of a tunnel.

use etemenanki::tunnel::{Packet, read, write_datagram};

/// A packet is read whole or not at all; a datagram that was read is written so that it reads the same.
pub fn packet(data: &[u8]) {
    for len in [data.len(), data.len() / 2] {
        let Some(Packet::Udp { ends, payload }) = read(&data[..len]) else { continue };
        assert!(payload.len() < len, "a payload is a part of its packet");
        let mut again = Vec::new();
        if write_datagram(ends, payload, 65_535, &mut again) {
            assert_eq!(read(&again), Some(Packet::Udp { ends, payload }));
        }
    }
}
