//! Halves of protocols that have something to say once and are bare behind it.

use bytes::BytesMut;

use super::error::WireError;
use super::seal::{Next, Open, Opened, Seal};

/// Fixed bytes in front of the first payload; the half is bare behind them. Headers hold secrets, so it is never shown.
pub struct Preface {
    head: Vec<u8>,
    said: bool,
}

/// Most payload that leaves in one piece with the bytes in front of it, so that all of it fits one TLS record.
pub const TOGETHER: usize = 15 * 1024;

impl Preface {
    /// Of these bytes.
    #[must_use]
    pub fn new(head: Vec<u8>) -> Self {
        Self { head, said: false }
    }
}

impl Seal for Preface {
    fn seal(&mut self, plain: &[u8], out: &mut BytesMut) -> usize {
        out.extend_from_slice(&std::mem::take(&mut self.head));
        self.said = true;
        let joined = plain.len().min(TOGETHER);
        out.extend_from_slice(&plain[..joined]);
        joined
    }

    fn next(&self) -> Next {
        if self.said { Next::Bare } else { Next::Framed }
    }
}

/// Nothing in front: the half is bare from the beginning.
#[derive(Debug, Clone, Copy)]
pub struct Unframed;

impl Open for Unframed {
    fn open(&mut self, _: &mut [u8]) -> Result<Opened, WireError> {
        Ok(Opened::Over { used: 0, next: Next::Bare })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_go_in_front_of_the_first_payload_and_alone_where_there_is_none() {
        let mut out = BytesMut::new();
        let mut preface = Preface::new(b"head".to_vec());
        assert_eq!((preface.next(), preface.seal(b"payload", &mut out), preface.next()), (Next::Framed, 7, Next::Bare));
        assert_eq!(&out[..], b"headpayload");
        out.clear();
        let mut preface = Preface::new(b"head".to_vec());
        assert_eq!((preface.seal(b"", &mut out), preface.next()), (0, Next::Bare));
        assert_eq!(&out[..], b"head");
        out.clear();
        assert_eq!(Preface::new(vec![0; 8]).seal(&[1; 20_000], &mut out), TOGETHER);
    }
}
