//! XUDP: the datagrams of one association as session 0 of a connection of its own.

use bytes::BytesMut;

use super::frame::{Found, Kind, read_frame, write_keep, write_new};
use super::global::GlobalId;
use crate::addr::{Network, Target};
use crate::wire::{Parcel, Unpacked, WireError};

/// One association with the address at each datagram, both ways.
#[derive(Debug)]
pub struct Xudp {
    side: Side,
}

#[derive(Debug)]
enum Side {
    /// Before its first datagram.
    Quiet { global: Option<GlobalId> },
    /// Behind it.
    Client,
    /// `first` is the target with which the client began.
    Server { first: Option<Target> },
}

/// The only session.
const ID: u16 = 0;

/// Xray drops what does not fit one of its buffers beside the longest metadata.
const LONGEST: usize = 8192 - 666;

impl Xudp {
    /// The client's side; the first datagram packed begins the session.
    #[must_use]
    pub fn client(global: Option<GlobalId>) -> Self {
        Self { side: Side::Quiet { global } }
    }

    /// The server's side.
    #[must_use]
    pub fn server() -> Self {
        Self { side: Side::Server { first: None } }
    }
}

impl Parcel for Xudp {
    type Peer = Target;

    fn pack(&mut self, payload: &[u8], peer: &Target, out: &mut BytesMut) -> bool {
        if payload.len() > LONGEST {
            return false;
        }
        if let Side::Quiet { global } = self.side {
            write_new(ID, Network::Udp, peer, global, Some(payload), out);
            self.side = Side::Client;
        } else {
            write_keep(ID, Some(peer), payload, out);
        }
        true
    }

    fn unpack(&mut self, input: &mut [u8]) -> Result<Unpacked<Target>, WireError> {
        let (frame, used, data) = match read_frame(input)? {
            Found::More { need } => return Ok(Unpacked::More { need }),
            Found::Whole { frame, used, data } => (frame, used, data),
        };
        let peer = match (frame.kind, &mut self.side) {
            (Kind::KeepAlive, _) => return Ok(Unpacked::Nothing { used }),
            (Kind::New { network: Network::Udp, target, .. }, Side::Server { first: first @ None }) => {
                *first = Some(target.clone());
                Some(target)
            }
            (Kind::Keep { peer }, Side::Server { first: Some(first) }) => Some(peer.unwrap_or_else(|| first.clone())),
            (Kind::Keep { peer }, Side::Quiet { .. } | Side::Client) => peer,
            _ => return Ok(Unpacked::End),
        };
        Ok(match data {
            Some(at) => Unpacked::Packet { used, at, peer },
            None => Unpacked::Nothing { used },
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn target(text: &str) -> Target {
        text.parse().unwrap()
    }

    /// Unpacks all there is, shown in pieces.
    fn unpacked(mut parcel: Xudp, bytes: &[u8], piece: usize) -> Vec<(Vec<u8>, Option<Target>)> {
        let (mut held, mut found) = (Vec::new(), vec![]);
        for piece in bytes.chunks(piece) {
            held.extend_from_slice(piece);
            loop {
                match parcel.unpack(&mut held).unwrap() {
                    Unpacked::More { need } => {
                        assert!(need > 0);
                        break;
                    }
                    Unpacked::Packet { used, at, peer } => {
                        found.push((held[at].to_vec(), peer));
                        held.drain(..used);
                    }
                    Unpacked::Nothing { used } => drop(held.drain(..used)),
                    Unpacked::End => return found,
                }
            }
        }
        found
    }

    #[test]
    fn the_first_datagram_begins_and_all_carry_their_address() {
        let mut client = Xudp::client(GlobalId::new(&[0; 32], "udp:127.0.0.1:12345"));
        let mut out = BytesMut::new();
        assert!(client.pack(b"hi", &target("8.8.8.8:53"), &mut out));
        assert!(client.pack(b"hi", &target("8.8.4.4:53"), &mut out));
        let mut hex = String::new();
        out.iter().for_each(|byte| hex += &format!("{byte:02x}"));
        let known = "00140000010102003501080808084197cf53d7bca3a90002 6869 000c00000201020035010808040400026869";
        assert_eq!(hex, known.replace(' ', ""));
        assert!(!client.pack(&[0; LONGEST + 1], &target("8.8.4.4:53"), &mut out));
        for piece in 1..=out.len() {
            let found = unpacked(Xudp::server(), &out, piece);
            let expected = [(b"hi".to_vec(), Some(target("8.8.8.8:53"))), (b"hi".to_vec(), Some(target("8.8.4.4:53")))];
            assert_eq!(found, expected, "pieces of {piece}");
        }
    }

    #[test]
    fn an_association_without_an_id_leaves_its_place_empty() {
        let mut out = BytesMut::new();
        assert!(Xudp::client(None).pack(b"", &target("a.example:1"), &mut out));
        assert!(matches!(read_frame(&out).unwrap(), Found::Whole { frame, .. }
            if matches!(frame.kind, Kind::New { global: None, .. })));
        assert_eq!(unpacked(Xudp::server(), &out, 1), [(vec![], Some(target("a.example:1")))]);
    }

    #[test]
    fn answers_may_name_nobody_and_end_with_anything_else() {
        // Alive, kept without and with address, ended, and what must not be read any more.
        let answers = [
            &[0, 4, 0, 0, 4, 0][..],
            &[0, 4, 0, 0, 2, 1, 0, 1, b'a'],
            &[0, 12, 0, 0, 2, 1, 2, 0, 9, 1, 10, 0, 0, 1, 0, 1, b'b'],
            &[0, 4, 0, 0, 3, 0],
            &[0, 4, 0, 0, 2, 1, 0, 1, b'c'],
        ]
        .concat();
        for piece in 1..=answers.len() {
            let found = unpacked(Xudp::client(None), &answers, piece);
            assert_eq!(
                found,
                [(b"a".to_vec(), None), (b"b".to_vec(), Some(target("10.0.0.1:9")))],
                "pieces of {piece}"
            );
        }
    }

    #[test]
    fn a_server_hears_nobody_before_the_beginning_and_nobody_twice() {
        let keep = [0, 4, 0, 0, 2, 1, 0, 1, b'a'];
        assert_eq!(Xudp::server().unpack(&mut keep.clone()).unwrap(), Unpacked::End);
        let mut new = BytesMut::new();
        write_new(ID, Network::Udp, &target("10.0.0.1:9"), None, Some(b"x"), &mut new);
        let mut server = Xudp::server();
        assert!(matches!(server.unpack(&mut new).unwrap(), Unpacked::Packet { .. }));
        assert_eq!(server.unpack(&mut new).unwrap(), Unpacked::End);
    }
}
