//! Sealed protocols: no fuzzer finds a key, so the input is what is sealed, and where the wire is bent.

use bytes::BytesMut;
use etemenanki::addr::Target;
use etemenanki::wire::Seal;

/// Two bytes say where the wire is bent, a third how (not at all, if it is 0); the rest is payload.
pub struct Plan<'a> {
    at: usize,
    pub by: u8,
    pub payload: &'a [u8],
}

impl<'a> Plan<'a> {
    pub fn of(data: &'a [u8]) -> Option<Self> {
        let (head, payload) = data.split_first_chunk::<3>()?;
        Some(Self { at: usize::from(u16::from_be_bytes([head[0], head[1]])), by: head[2], payload })
    }

    pub fn bend(&self, wire: &mut [u8]) {
        let len = wire.len();
        if len > 0 {
            wire[self.at % len] ^= self.by;
        }
    }

    /// What was read is what was sealed, or less of it where the wire was bent.
    pub fn judge(&self, read: Option<&[u8]>) {
        match read {
            Some(read) if self.by == 0 => assert_eq!(read, self.payload),
            Some(read) => assert!(self.payload.starts_with(read), "something that was never said"),
            None => assert_ne!(self.by, 0, "refused"),
        }
    }
}

pub fn target() -> Target {
    "a.example:443".parse().expect("a target")
}

/// All of a stream, with its end.
pub fn seal(mut sealer: impl Seal, payload: &[u8]) -> BytesMut {
    let (mut wire, mut rest) = (BytesMut::new(), payload);
    loop {
        let took = sealer.seal(rest, &mut wire);
        rest = &rest[took..];
        if rest.is_empty() {
            sealer.finish(&mut wire);
            return wire;
        }
        assert!(took > 0, "nothing was taken");
    }
}
