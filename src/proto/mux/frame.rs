//! One frame: a length, who it is about, and perhaps data.

use std::ops::Range;

use bytes::{BufMut, BytesMut};

use super::global::GlobalId;
use crate::addr::{Network, Target};
use crate::proto::portfirst::{read_address, write_address};
use crate::wire::{Reader, WireError};

/// What a frame says of its session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The session.
    pub id: u16,
    /// What happens to it.
    pub kind: Kind,
}

/// What happens to a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// It begins.
    New {
        /// Stream or datagrams.
        network: Network,
        /// Where it goes.
        target: Target,
        /// By what an association is known again on another connection; without data it is not looked for, as in Xray.
        global: Option<GlobalId>,
    },
    /// It goes on.
    Keep {
        /// Whose datagram the data is; `None` means the target with which the session began.
        peer: Option<Target>,
    },
    /// It is over, both ways.
    End {
        /// Because something failed.
        error: bool,
    },
    /// Nothing; the connection is in use.
    KeepAlive,
}

/// What stands at the front of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// No whole frame yet; so many bytes more are needed at least.
    More {
        /// Bytes still missing, never 0.
        need: usize,
    },
    /// A whole frame.
    Whole {
        /// What it says.
        frame: Frame,
        /// Bytes it took.
        used: usize,
        /// Where its data lies, if it carries any.
        data: Option<Range<usize>>,
    },
}

const NEW: u8 = 1;
const KEEP: u8 = 2;
const END: u8 = 3;
const KEEP_ALIVE: u8 = 4;

const DATA: u8 = 1;
const ERROR: u8 = 2;

const TCP: u8 = 1;
const UDP: u8 = 2;

/// The shortest metadata and the longest that Xray takes.
const META: std::ops::RangeInclusive<usize> = 4..=512;

/// Looks for a frame at the front of `input`. What metadata holds beyond what is known here is passed over.
///
/// # Errors
/// [`WireError`] for what no reader can go on behind.
pub fn read_frame(input: &[u8]) -> Result<Found, WireError> {
    let mut reader = Reader::new(input);
    match read(&mut reader) {
        Ok((frame, data)) => Ok(Found::Whole { frame, used: reader.used(), data }),
        // Inside metadata this cannot happen: it is cut out first, and what is missing there was turned into a fault.
        Err(WireError::Truncated { need }) => Ok(Found::More { need: need.max(1) }),
        Err(error) => Err(error),
    }
}

fn read(reader: &mut Reader<'_>) -> Result<(Frame, Option<Range<usize>>), WireError> {
    let len = usize::from(reader.take_u16()?);
    if !META.contains(&len) {
        return Err(WireError::Malformed { what: "length of mux metadata" });
    }
    let meta = reader.take_bytes(len)?;
    let (frame, data) = read_meta(meta).map_err(|error| match error {
        WireError::Truncated { .. } => WireError::Malformed { what: "mux metadata" },
        other => other,
    })?;
    if !data {
        return Ok((frame, None));
    }
    let len = reader.take_prefixed_u16()?.len();
    Ok((frame, Some(reader.used() - len..reader.used())))
}

/// The frame, and whether data follows.
fn read_meta(meta: &[u8]) -> Result<(Frame, bool), WireError> {
    let mut reader = Reader::new(meta);
    let id = reader.take_u16()?;
    let status = reader.take_u8()?;
    let option = reader.take_u8()?;
    let data = option & DATA != 0;
    let kind = match status {
        NEW => {
            let network = match reader.take_u8()? {
                TCP => Network::Tcp,
                UDP => Network::Udp,
                _ => return Err(WireError::Malformed { what: "network of a mux session" }),
            };
            let target = read_address(&mut reader)?;
            let known = network == Network::Udp && data && reader.left() >= GlobalId::LEN;
            let global = if known { GlobalId::of_wire(reader.take_array()?) } else { None };
            Kind::New { network, target, global }
        }
        KEEP => {
            let addressed = !reader.is_empty() && reader.take_u8()? == UDP;
            Kind::Keep { peer: if addressed { Some(read_address(&mut reader)?) } else { None } }
        }
        END => Kind::End { error: option & ERROR != 0 },
        KEEP_ALIVE => Kind::KeepAlive,
        _ => return Err(WireError::Malformed { what: "status of a mux frame" }),
    };
    Ok((Frame { id, kind }, data))
}

/// Appends the frame with which a session begins. Data, here and below, has at most 65535 bytes; more is cut off.
pub fn write_new(
    id: u16,
    network: Network,
    target: &Target,
    global: Option<GlobalId>,
    data: Option<&[u8]>,
    out: &mut BytesMut,
) {
    write(id, NEW, data, out, |out| {
        out.put_u8(if network == Network::Udp { UDP } else { TCP });
        write_address(target, out);
        if let Some(global) = global {
            out.put_slice(&global.to_wire());
        }
    });
}

/// Appends data of a session; `peer` says whose datagram it is.
pub fn write_keep(id: u16, peer: Option<&Target>, data: &[u8], out: &mut BytesMut) {
    write(id, KEEP, Some(data), out, |out| {
        if let Some(peer) = peer {
            out.put_u8(UDP);
            write_address(peer, out);
        }
    });
}

/// Appends the end of a session.
pub fn write_end(id: u16, error: bool, out: &mut BytesMut) {
    out.put_u16(4);
    out.put_u16(id);
    out.put_u8(END);
    out.put_u8(if error { ERROR } else { 0 });
}

fn write(id: u16, status: u8, data: Option<&[u8]>, out: &mut BytesMut, more: impl FnOnce(&mut BytesMut)) {
    let begin = out.len();
    out.put_u16(0);
    out.put_u16(id);
    out.put_u8(status);
    out.put_u8(if data.is_some() { DATA } else { 0 });
    more(out);
    // A name has at most 253 bytes, so metadata stays far below what the length can say.
    let len = u16::try_from(out.len() - begin - 2).unwrap_or(u16::MAX);
    out[begin..begin + 2].copy_from_slice(&len.to_be_bytes());
    if let Some(data) = data {
        let len = u16::try_from(data.len()).unwrap_or(u16::MAX);
        out.put_u16(len);
        out.put_slice(&data[..usize::from(len)]);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> = text.bytes().map(|byte| (byte as char).to_digit(16).unwrap() as u8).collect();
        digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
    }

    fn target(text: &str) -> Target {
        text.parse().unwrap()
    }

    fn new(network: Network, to: &str, global: Option<GlobalId>) -> Kind {
        Kind::New { network, target: target(to), global }
    }

    /// Known answers, checked against v2ray and sing-box.
    #[test]
    fn frames_are_written_and_read_as_others_do() {
        type Case = (&'static str, u16, Kind, Option<&'static [u8]>, fn(&mut BytesMut));
        let global = || GlobalId::of_wire([0x41, 0x97, 0xcf, 0x53, 0xd7, 0xbc, 0xa3, 0xa9]);
        let cases: Vec<Case> = vec![
            (
                "001400010101010050020b6578616d706c652e636f6d000461626364",
                1,
                new(Network::Tcp, "example.com:80", None),
                Some(b"abcd"),
                |out| write_new(1, Network::Tcp, &target("example.com:80"), None, Some(b"abcd"), out),
            ),
            ("000400010201000465666768", 1, Kind::Keep { peer: None }, Some(b"efgh"), |out| {
                write_keep(1, None, b"efgh", out)
            }),
            ("000400010300", 1, Kind::End { error: false }, None, |out| write_end(1, false, out)),
            ("000400010302", 1, Kind::End { error: true }, None, |out| write_end(1, true, out)),
            (
                "00140000010102003501080808084197cf53d7bca3a900026869",
                0,
                new(Network::Udp, "8.8.8.8:53", global()),
                Some(b"hi"),
                |out| {
                    let global = GlobalId::of_wire([0x41, 0x97, 0xcf, 0x53, 0xd7, 0xbc, 0xa3, 0xa9]);
                    write_new(0, Network::Udp, &target("8.8.8.8:53"), global, Some(b"hi"), out);
                },
            ),
            (
                "000c00000201020035010808040400026869",
                0,
                Kind::Keep { peer: Some(target("8.8.4.4:53")) },
                Some(b"hi"),
                |out| write_keep(0, Some(&target("8.8.4.4:53")), b"hi", out),
            ),
        ];
        for (text, id, kind, data, write) in cases {
            let bytes = hex(text);
            let mut out = BytesMut::new();
            write(&mut out);
            assert_eq!(out, bytes, "{text}");
            let Found::Whole { frame, used, data: at } = read_frame(&bytes).unwrap() else { unreachable!("{text}") };
            assert_eq!((frame, used), (Frame { id, kind }, bytes.len()), "{text}");
            assert_eq!(at.map(|at| &bytes[at]), data, "{text}");
        }
        let Found::Whole { frame, data: None, .. } = read_frame(&hex("000400000400")).unwrap() else { unreachable!() };
        assert_eq!(frame.kind, Kind::KeepAlive);
    }

    #[test]
    fn any_part_of_a_frame_asks_for_more_and_never_for_too_much() {
        let mut bytes = BytesMut::new();
        write_new(7, Network::Udp, &target("a.example:53"), None, Some(&[9; 300]), &mut bytes);
        for end in 0..bytes.len() {
            let Found::More { need } = read_frame(&bytes[..end]).unwrap() else { unreachable!("{end}") };
            assert!(need > 0 && end + need <= bytes.len(), "{end}: {need}");
        }
        let mut two = bytes.to_vec();
        two.extend_from_slice(b"next");
        let Found::Whole { used, data: Some(data), .. } = read_frame(&two).unwrap() else { unreachable!() };
        assert_eq!((used, data.len()), (bytes.len(), 300));
    }

    #[test]
    fn unknown_metadata_is_passed_over() {
        // A stream's frame with eight bytes more; a kept one with a tail of another network.
        for text in ["0014000101010100500 10a000001 0102030405060708 0000", "0006000102010900 0000"] {
            let bytes = hex(&text.replace(' ', ""));
            let Found::Whole { used, .. } = read_frame(&bytes).unwrap() else { unreachable!("{text}") };
            assert_eq!(used, bytes.len(), "{text}");
        }
    }

    #[test]
    fn hostile_metadata_is_a_fault() {
        for text in [
            "0003000102",                 // shorter than any
            "0201",                       // longer than any
            "000400010900",               // no such status
            "000500010100ff",             // no such network
            "000a0001010101005001080808", // cut short, the data behind it does not count
            "000800010201020035ff",       // no such address
        ] {
            assert!(read_frame(&hex(&format!("{text}0000000000000000"))).is_err(), "{text}");
        }
    }
}
