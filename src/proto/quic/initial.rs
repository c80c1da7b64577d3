//! One datagram: the Initial packets in it, opened, and their CRYPTO frames.

use super::keys::{Keys, Version};
use crate::wire::{Reader, WireError};

/// What is known of the client of a connection.
pub(super) struct Client {
    keys: Keys,
    version: Version,
}

/// Longest connection id.
const ID: usize = 20;

const NOT: WireError = WireError::Malformed { what: "QUIC packet" };

/// Opens all Initial packets of a client in a datagram, and gives each piece of its handshake with its place. `client` is
/// found out by the first packet.
pub(super) fn pieces(
    datagram: &[u8],
    client: &mut Option<Client>,
    mut take: impl FnMut(usize, &[u8]) -> Result<(), WireError>,
) -> Result<(), WireError> {
    let mut rest = datagram;
    let mut any = false;
    while let Some(packet) = packet(&mut rest, client)? {
        if let Some((mut payload, at, number, header)) = packet {
            let Some(client) = client else { return Err(NOT) };
            let plain = client.keys.open(number, &header, &mut payload[at..]).ok_or(NOT)?;
            frames(plain, &mut take)?;
            any = true;
        }
    }
    if any { Ok(()) } else { Err(NOT) }
}

/// A packet with its header's protection taken off: its bytes, where its payload begins, its number and its header.
type Opened = (Vec<u8>, usize, u32, Vec<u8>);

/// Takes one packet off a datagram; what is no Initial packet is stepped over. `None` at the end.
fn packet(rest: &mut &[u8], client: &mut Option<Client>) -> Result<Option<Option<Opened>>, WireError> {
    let whole = *rest;
    let mut reader = Reader::new(whole);
    let Ok(first) = reader.take_u8() else { return Ok(None) };
    // Padding, or a packet with a short header, which can only be the last.
    if first & 0x80 == 0 {
        return Ok(None);
    }
    let version = reader.take_u32().ok().and_then(Version::of).ok_or(NOT)?;
    if first & 0x40 == 0 {
        return Err(NOT);
    }
    let id = reader.take_prefixed_u8().map_err(|_| NOT)?;
    let own = reader.take_prefixed_u8().map_err(|_| NOT)?;
    if id.len() > ID || own.len() > ID {
        return Err(NOT);
    }
    let kind = (first >> 4) & 3;
    let initial = kind == version.initial();
    if initial {
        let token = number(&mut reader)?;
        reader.take_bytes(token).map_err(|_| NOT)?;
    } else if kind == version.initial().wrapping_sub(1) & 3 {
        // A Retry has no length, and no client sends one.
        return Err(NOT);
    }
    let len = number(&mut reader)?;
    let at = reader.used();
    reader.take_bytes(len).map_err(|_| NOT)?;
    *rest = reader.rest();
    if !initial {
        return Ok(Some(None));
    }
    if client.is_none() {
        *client = Keys::new(version, id).map(|keys| Client { keys, version });
    }
    let Some(client) = client.as_ref().filter(|client| client.version == version) else { return Err(NOT) };
    let mut packet = whole[..at + len].to_vec();
    let sample = packet.get(at + 4..).and_then(<[u8]>::first_chunk::<16>).ok_or(NOT)?;
    let mask = client.keys.mask(sample);
    packet[0] ^= mask[0] & 0x0f;
    let width = usize::from(packet[0] & 3) + 1;
    let mut value = 0;
    for (byte, mask) in packet[at..at + width].iter_mut().zip(&mask[1..]) {
        *byte ^= mask;
        value = value << 8 | u32::from(*byte);
    }
    let header = packet[..at + width].to_vec();
    Ok(Some(Some((packet, at + width, value, header))))
}

/// Gives each piece of the handshake in an opened packet.
pub(super) fn frames(
    plain: &[u8],
    take: &mut impl FnMut(usize, &[u8]) -> Result<(), WireError>,
) -> Result<(), WireError> {
    let mut reader = Reader::new(plain);
    while let Ok(kind) = reader.take_u8() {
        match kind {
            PADDING | PING => {}
            ACK | ACK_ECN => {
                let _ = (number(&mut reader)?, number(&mut reader)?);
                let ranges = number(&mut reader)?;
                let _ = number(&mut reader)?;
                for _ in 0..ranges {
                    let _ = (number(&mut reader)?, number(&mut reader)?);
                }
                if kind == ACK_ECN {
                    let _ = (number(&mut reader)?, number(&mut reader)?, number(&mut reader)?);
                }
            }
            CRYPTO => {
                let at = number(&mut reader)?;
                let len = number(&mut reader)?;
                take(at, reader.take_bytes(len).map_err(|_| NOT)?)?;
            }
            // Whoever closes says nothing more that counts.
            CLOSE => return Ok(()),
            _ => return Err(NOT),
        }
    }
    Ok(())
}

const PADDING: u8 = 0;
const PING: u8 = 1;
const ACK: u8 = 2;
const ACK_ECN: u8 = 3;
const CRYPTO: u8 = 6;
const CLOSE: u8 = 0x1c;

/// Reads a number of one to eight bytes (RFC 9000 16).
fn number(reader: &mut Reader<'_>) -> Result<usize, WireError> {
    let first = reader.take_u8().map_err(|_| NOT)?;
    let more = reader.take_bytes((1 << (first >> 6)) - 1).map_err(|_| NOT)?;
    let value = more.iter().fold(u64::from(first & 0x3f), |value, byte| value << 8 | u64::from(*byte));
    usize::try_from(value).map_err(|_| NOT)
}
