//! Datagrams in a stream, each with the address of its peer.

use bytes::{BufMut, BytesMut};

use crate::addr::Target;
use crate::proto::socks::{read_address, write_address};
use crate::wire::{Parcel, Reader, Unpacked, WireError};

/// Both directions of an association. A client's holds its token, so it is never shown.
#[derive(Default)]
pub struct Frames {
    /// What stands in front of the first datagram.
    head: Vec<u8>,
}

/// Longest payload of a datagram: what Xray's reader takes (`proxy/trojan`). Longer ones are read all the same.
const LONGEST: usize = 8192;

const END: &[u8; 2] = b"\r\n";

impl Frames {
    /// With these bytes in front of the first.
    #[must_use]
    pub fn after(head: Vec<u8>) -> Self {
        Self { head }
    }
}

impl Parcel for Frames {
    type Peer = Target;

    fn pack(&mut self, payload: &[u8], peer: &Target, out: &mut BytesMut) -> bool {
        let Some(len) = u16::try_from(payload.len()).ok().filter(|_| payload.len() <= LONGEST) else { return false };
        out.extend_from_slice(&std::mem::take(&mut self.head));
        write_address(peer, out);
        out.put_u16(len);
        out.extend_from_slice(END);
        out.extend_from_slice(payload);
        true
    }

    fn unpack(&mut self, input: &mut [u8]) -> Result<Unpacked<Target>, WireError> {
        let mut reader = Reader::new(input);
        match read(&mut reader) {
            Ok((peer, len)) => {
                let used = reader.used();
                Ok(Unpacked::Packet { used, at: used - len..used, peer: Some(peer) })
            }
            Err(WireError::Truncated { need }) => Ok(Unpacked::More { need }),
            Err(error) => Err(error),
        }
    }
}

fn read(reader: &mut Reader<'_>) -> Result<(Target, usize), WireError> {
    let peer = read_address(reader)?;
    let len = usize::from(reader.take_u16()?);
    // Whatever it is, as with Xray.
    reader.take_bytes(END.len())?;
    reader.take_bytes(len)?;
    Ok((peer, len))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn each_datagram_names_its_peer() {
        let (one, two): (Target, Target) = ("1.2.3.4:53".parse().unwrap(), "a.example:443".parse().unwrap());
        let mut frames = Frames::after(b"head".to_vec());
        let mut out = BytesMut::new();
        assert!(frames.pack(b"ask", &one, &mut out) && frames.pack(b"", &two, &mut out));
        assert_eq!(&out[..], b"head\x01\x01\x02\x03\x04\x00\x35\x00\x03\r\nask\x03\x09a.example\x01\xbb\x00\x00\r\n");
        let mut wire = out.split_off(4);
        for len in 0..14 {
            let more = Frames::default().unpack(&mut wire[..len]).unwrap();
            assert!(matches!(more, Unpacked::More { need } if need <= 14 - len), "{len}: {more:?}");
        }
        assert_eq!(frames.unpack(&mut wire), Ok(Unpacked::Packet { used: 14, at: 11..14, peer: Some(one.clone()) }));
        let rest = Unpacked::Packet { used: 17, at: 17..17, peer: Some(two) };
        assert_eq!(frames.unpack(&mut wire[14..]), Ok(rest));
        assert!(!frames.pack(&[0; LONGEST + 1], &one, &mut out));
        wire[9] = b' ';
        assert!(matches!(frames.unpack(&mut wire), Ok(Unpacked::Packet { used: 14, .. })), "any two bytes end a line");
    }
}
