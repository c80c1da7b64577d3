//! Datagrams of one target, each with its length in front.

use bytes::{BufMut, BytesMut};

use super::answer::{ANSWER, length};
use crate::addr::Target;
use crate::wire::{Parcel, Reader, Unpacked, WireError};

/// Both directions of an association with one target. A client's holds its id, so it is never shown.
pub struct Lengths {
    /// What stands in front of the first datagram.
    head: Vec<u8>,
    /// The peer's answer stands in front of its first datagram, and was not seen yet.
    answer: bool,
}

impl Lengths {
    /// A client's, with the header of the request.
    #[must_use]
    pub fn client(header: Vec<u8>) -> Self {
        Self { head: header, answer: true }
    }

    /// A server's.
    #[must_use]
    pub fn server() -> Self {
        Self { head: ANSWER.to_vec(), answer: false }
    }
}

impl Parcel for Lengths {
    type Peer = Target;

    fn pack(&mut self, payload: &[u8], _: &Target, out: &mut BytesMut) -> bool {
        let Ok(len) = u16::try_from(payload.len()) else { return false };
        out.extend_from_slice(&std::mem::take(&mut self.head));
        out.put_u16(len);
        out.extend_from_slice(payload);
        true
    }

    fn unpack(&mut self, input: &mut [u8]) -> Result<Unpacked<Target>, WireError> {
        let read = if self.answer {
            length(input).map(|used| Unpacked::Nothing { used })
        } else {
            let mut reader = Reader::new(input);
            reader.take_prefixed_u16().map(|payload| {
                let used = 2 + payload.len();
                Unpacked::Packet { used, at: 2..used, peer: None }
            })
        };
        match read {
            Ok(taken) => {
                self.answer = false;
                Ok(taken)
            }
            Err(WireError::Truncated { need }) => Ok(Unpacked::More { need }),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_go_both_ways_behind_header_and_answer() {
        let peer = "10.0.0.1:53".parse().unwrap();
        let (mut client, mut server) = (Lengths::client(b"head".to_vec()), Lengths::server());
        let mut out = BytesMut::new();
        assert!(client.pack(b"ask", &peer, &mut out) && client.pack(b"", &peer, &mut out));
        assert_eq!(&out[..], b"head\x00\x03ask\x00\x00");
        let mut asked = out.split_off(4);
        assert_eq!(server.unpack(&mut asked[..2]), Ok(Unpacked::More { need: 3 }));
        assert_eq!(server.unpack(&mut asked), Ok(Unpacked::Packet { used: 5, at: 2..5, peer: None }));
        let mut out = BytesMut::new();
        assert!(server.pack(b"tell", &peer, &mut out) && !server.pack(&[0; 65_536], &peer, &mut out));
        assert_eq!(&out[..], b"\x00\x00\x00\x04tell");
        assert_eq!(client.unpack(&mut out[..1]), Ok(Unpacked::More { need: 1 }));
        assert_eq!(client.unpack(&mut out), Ok(Unpacked::Nothing { used: 2 }));
        assert_eq!(client.unpack(&mut out[2..]), Ok(Unpacked::Packet { used: 6, at: 2..6, peer: None }));
        assert!(Lengths::client(vec![]).unpack(&mut [7, 0]).is_err());
    }
}
