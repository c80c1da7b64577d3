//! How long the frames of a stream are, seen as they pass.

/// Walks over the frames of a stream: a type, a length, and so many bytes.
#[derive(Debug, Default)]
pub(super) struct Frames {
    /// Bytes of the frame that are still to come.
    left: u64,
    /// The beginning of a head that is not whole.
    head: [u8; 16],
    len: usize,
}

/// Longest frame of anything but a body, so also most bytes of a request's or an answer's head.
pub const MOST: u64 = 64 * 1024;

/// The type of a frame that is part of a body, and may have any length.
const DATA: u64 = 0;

impl Frames {
    /// Whether these bytes, which come next, begin no frame that is too long.
    pub(super) fn pass(&mut self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            if self.left > 0 {
                let passed = usize::try_from(self.left).map_or(bytes.len(), |left| left.min(bytes.len()));
                self.left -= passed as u64;
                bytes = &bytes[passed..];
                continue;
            }
            self.head[self.len] = bytes[0];
            self.len += 1;
            bytes = &bytes[1..];
            let head = &self.head[..self.len];
            let Some((kind, rest)) = number(head) else { continue };
            let Some((length, _)) = number(rest) else { continue };
            if kind != DATA && length > MOST {
                return false;
            }
            (self.left, self.len) = (length, 0);
        }
        true
    }
}

/// A number of one to eight bytes, and what is behind it, if all of it is there.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let len = 1usize << (bytes.first()? >> 6);
    let (number, rest) = bytes.split_at_checked(len)?;
    let value = number.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
    Some((value & (u64::MAX >> (2 + 64 - 8 * len)), rest))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_the_protocol_has_them() {
        // The examples of RFC 9000, A.1.
        for (bytes, expected) in [
            (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c][..], 151_288_809_941_952_652),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
            (&[0x40, 0x25], 37),
        ] {
            assert_eq!(number(bytes).unwrap(), (expected, &[][..]));
            assert!(number(&bytes[1..]).is_none() || bytes.len() > 1);
        }
        assert!(number(&[0xc2, 0]).is_none() && number(&[]).is_none());
    }

    #[test]
    fn a_long_head_is_seen_however_it_comes() {
        // A short head, a body of any length, and a head of a gigabyte.
        let mut stream = vec![0x01, 3, b'a', b'b', b'c', 0x00, 0x80, 0x02, 0, 0];
        stream.extend(vec![0xff; 0x2_0000]);
        let fair = stream.len();
        stream.extend([0x01, 0x80 | 0x3f, 0xff, 0xff, 0xff]);
        for step in [1, 2, 3, 7, 4096, stream.len()] {
            let mut frames = Frames::default();
            let passed = stream.chunks(step).take_while(|chunk| frames.pass(chunk)).count() * step;
            assert!(passed < stream.len() && passed + step >= fair, "{step}: {passed} of {fair}");
        }
        assert!(Frames::default().pass(&stream[..fair]));
    }
}
