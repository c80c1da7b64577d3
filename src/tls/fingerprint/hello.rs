//! Reading hellos: those that were written here or by rustls, and a server's.

use rustls::NamedGroup;

use super::draft::{KEY_SHARE, VERSIONS, message, prefixed};
use crate::wire::{Reader, WireError};

/// The parts of a ClientHello.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hello<'a> {
    /// Version, random, session id, suites and compression, as they stand.
    front: &'a [u8],
    /// The suites alone.
    pub(super) suites: &'a [u8],
    /// Kinds and contents, in order.
    pub(super) extensions: Vec<(u16, &'a [u8])>,
}

const COOKIE: u16 = 44;

impl<'a> Hello<'a> {
    /// Reads a handshake message.
    pub(super) fn read(message: &'a [u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(message);
        reader.take_bytes(4)?;
        let body = reader.rest();
        let mut reader = Reader::new(body);
        reader.take_bytes(2 + 32)?;
        reader.take_prefixed_u8()?;
        let suites = reader.take_prefixed_u16()?;
        reader.take_prefixed_u8()?;
        Ok(Self { front: &body[..reader.used()], suites, extensions: extensions(&mut reader)? })
    }

    pub(super) fn extension(&self, kind: u16) -> Option<&'a [u8]> {
        self.extensions.iter().find(|(found, _)| *found == kind).map(|(_, content)| *content)
    }
}

/// The second hello of a connection: our first one with what `second`, which rustls wrote, has to say anew.
pub(super) fn again(first: &[u8], second: &[u8]) -> Result<Vec<u8>, WireError> {
    let (first, second) = (Hello::read(first)?, Hello::read(second)?);
    let mut list = Vec::with_capacity(2048);
    let mut push = |kind: u16, content: &[u8]| {
        list.extend_from_slice(&kind.to_be_bytes());
        list.extend(prefixed(content));
    };
    for &(kind, content) in &first.extensions {
        if kind == KEY_SHARE {
            push(kind, second.extension(kind).unwrap_or(content));
            if let Some(cookie) = second.extension(COOKIE) {
                push(COOKIE, cookie);
            }
        } else {
            push(kind, content);
        }
    }
    Ok(message(&[first.front, &prefixed(&list)].concat()))
}

/// What a server chose, as far as rustls must be set up for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) tls13: bool,
    /// The group of its key share; absent also where it asks for another hello.
    pub(super) group: Option<NamedGroup>,
}

const HANDSHAKE: u8 = 22;
const SERVER_HELLO: u8 = 2;
const TLS13: [u8; 2] = [3, 4];
/// The random value by which a second hello is asked for (RFC 8446 4.1.3).
const RETRY: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11,
    0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

/// The handshake message at the front of a record, if it is a whole ServerHello.
pub(super) fn server_hello(record: &[u8]) -> Option<&[u8]> {
    let (head, body) = record.split_first_chunk::<5>()?;
    let &[kind, high, middle, low] = body.first_chunk::<4>()?;
    let len = u32::from_be_bytes([0, high, middle, low]);
    let message = body.get(..4 + usize::try_from(len).ok()?)?;
    (head[0] == HANDSHAKE && kind == SERVER_HELLO).then_some(message)
}

impl Answer {
    /// Reads a ServerHello.
    pub(super) fn read(message: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(message);
        reader.take_bytes(4 + 2)?;
        let random = reader.take_array::<32>()?;
        reader.take_prefixed_u8()?;
        reader.take_bytes(2 + 1)?;
        let found = if reader.is_empty() { Vec::new() } else { extensions(&mut reader)? };
        let content = |kind: u16| found.iter().find(|(found, _)| *found == kind).map(|(_, content)| *content);
        let group = content(KEY_SHARE).filter(|_| random != RETRY).and_then(|share| share.first_chunk());
        Ok(Self {
            tls13: content(VERSIONS) == Some(&TLS13),
            group: group.map(|group| NamedGroup::from(u16::from_be_bytes(*group))),
        })
    }
}

/// A list of extensions with its length in front.
fn extensions<'a>(reader: &mut Reader<'a>) -> Result<Vec<(u16, &'a [u8])>, WireError> {
    let mut rest = Reader::new(reader.take_prefixed_u16()?);
    let mut found = Vec::new();
    while !rest.is_empty() {
        found.push((rest.take_u16()?, rest.take_prefixed_u16()?));
    }
    Ok(found)
}
