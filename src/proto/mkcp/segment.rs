//! Segments: data, what was taken of it, and commands.

use crate::wire::{Reader, WireError};

/// One segment of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment<'a> {
    /// Whose it is.
    pub conversation: u16,
    /// Who sent it reads no more.
    pub closing: bool,
    /// What it says.
    pub body: Body<'a>,
}

/// What a segment says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body<'a> {
    /// A piece of the stream.
    Data {
        /// When it left, by the sender's clock.
        timestamp: u32,
        /// Its number.
        number: u32,
        /// The first number that the sender does not know to be taken.
        sending_next: u32,
        /// The piece.
        payload: &'a [u8],
    },
    /// What was taken.
    Ack {
        /// The first number that would not be taken.
        window_end: u32,
        /// All before this were taken.
        receiving_next: u32,
        /// The newest timestamp of those that are listed.
        timestamp: u32,
        /// Numbers that were taken.
        numbers: Numbers<'a>,
    },
    /// A word without data.
    Command {
        /// Which.
        command: Command,
        /// As of data.
        sending_next: u32,
        /// As of what was taken.
        receiving_next: u32,
        /// Milliseconds after which the sender holds an answer for overdue.
        overdue: u32,
    },
}

/// A word without data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// The conversation is over.
    Terminate,
    /// It is not. (So is every word that is not known.)
    Ping,
}

/// Numbers as they lie in a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbers<'a>(&'a [u8]);

impl<'a> Numbers<'a> {
    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = u32> + use<'a> {
        self.0.as_chunks::<4>().0.iter().map(|number| u32::from_be_bytes(*number))
    }
}

/// The segments of a packet, as far as they are whole.
#[derive(Debug, Clone)]
pub struct Segments<'a>(Reader<'a>);

impl<'a> Segments<'a> {
    /// Of a packet without its disguise.
    #[must_use]
    pub fn new(packet: &'a [u8]) -> Self {
        Self(Reader::new(packet))
    }
}

impl<'a> Iterator for Segments<'a> {
    type Item = Segment<'a>;

    fn next(&mut self) -> Option<Segment<'a>> {
        let read = read(&mut self.0).ok();
        if read.is_none() {
            // Nobody could say where another begins.
            self.0.take_rest();
        }
        read
    }
}

/// Bytes of a segment with data in front of it.
pub(super) const DATA: usize = 18;
/// Bytes in front of the numbers.
pub(super) const ACK: usize = 17;
/// Most numbers of a segment, as V2Ray has it.
pub(super) const NUMBERS: usize = 128;

const WORD_ACK: u8 = 0;
const WORD_DATA: u8 = 1;
const WORD_TERMINATE: u8 = 2;
const WORD_PING: u8 = 3;

const CLOSING: u8 = 1;

fn read<'a>(reader: &mut Reader<'a>) -> Result<Segment<'a>, WireError> {
    let conversation = reader.take_u16()?;
    let word = reader.take_u8()?;
    let closing = reader.take_u8()? & CLOSING != 0;
    let body = match word {
        WORD_DATA => Body::Data {
            timestamp: reader.take_u32()?,
            number: reader.take_u32()?,
            sending_next: reader.take_u32()?,
            payload: reader.take_prefixed_u16()?,
        },
        WORD_ACK => Body::Ack {
            window_end: reader.take_u32()?,
            receiving_next: reader.take_u32()?,
            timestamp: reader.take_u32()?,
            numbers: {
                let count = usize::from(reader.take_u8()?);
                Numbers(reader.take_bytes(4 * count)?)
            },
        },
        word => Body::Command {
            command: if word == WORD_TERMINATE { Command::Terminate } else { Command::Ping },
            sending_next: reader.take_u32()?,
            receiving_next: reader.take_u32()?,
            overdue: reader.take_u32()?,
        },
    };
    Ok(Segment { conversation, closing, body })
}

/// What all segments of a conversation begin with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub(super) conversation: u16,
    pub(super) closing: bool,
}

fn write_head(head: Head, word: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(&head.conversation.to_be_bytes());
    out.extend_from_slice(&[word, u8::from(head.closing)]);
}

fn write_words(words: [u32; 3], out: &mut Vec<u8>) {
    words.iter().for_each(|word| out.extend_from_slice(&word.to_be_bytes()));
}

/// Appends a segment with data, which is cut where no length could tell of it.
pub(super) fn write_data(
    head: Head,
    timestamp: u32,
    number: u32,
    sending_next: u32,
    payload: &[u8],
    out: &mut Vec<u8>,
) {
    write_head(head, WORD_DATA, out);
    write_words([timestamp, number, sending_next], out);
    let len = u16::try_from(payload.len()).unwrap_or(u16::MAX);
    out.extend_from_slice(&len.to_be_bytes());
    out.extend_from_slice(payload.get(..len.into()).unwrap_or(payload));
}

/// Appends a segment of numbers that were taken; so many are listed as `listed` gives, 255 at most, each with the timestamp
/// of its data. Whether any was.
pub(super) fn write_ack(
    head: Head,
    window_end: u32,
    receiving_next: u32,
    listed: impl Iterator<Item = (u32, u32)>,
    out: &mut Vec<u8>,
) -> bool {
    write_head(head, WORD_ACK, out);
    let at = out.len() + 8;
    write_words([window_end, receiving_next, 0], out);
    out.push(0);
    let (mut count, mut newest) = (0u8, None);
    for (number, timestamp) in listed.take(u8::MAX.into()) {
        out.extend_from_slice(&number.to_be_bytes());
        if newest.is_none_or(|newest| super::order::is_before(newest, timestamp)) {
            newest = Some(timestamp);
        }
        count += 1;
    }
    if let Some(place) = out.get_mut(at..at + 5) {
        place[..4].copy_from_slice(&newest.unwrap_or_default().to_be_bytes());
        place[4] = count;
    }
    count > 0
}

/// Appends a word without data.
pub fn write_command(
    conversation: u16,
    closing: bool,
    command: Command,
    [sending_next, receiving_next, overdue]: [u32; 3],
    out: &mut Vec<u8>,
) {
    let word = match command {
        Command::Terminate => WORD_TERMINATE,
        Command::Ping => WORD_PING,
    };
    write_head(Head { conversation, closing }, word, out);
    write_words([sending_next, receiving_next, overdue], out);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const HEAD: Head = Head { conversation: 1, closing: false };

    #[test]
    fn a_known_segment() {
        let mut out = vec![];
        write_data(HEAD, 0, 7, 0, b"hello", &mut out);
        assert_eq!(out, b"\x00\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x00\x00\x05hello");
        let mut segments = Segments::new(&out);
        let body = Body::Data { timestamp: 0, number: 7, sending_next: 0, payload: b"hello" };
        assert_eq!(segments.next(), Some(Segment { conversation: 1, closing: false, body }));
        assert_eq!(segments.next(), None);
    }

    #[test]
    fn several_in_a_packet() {
        let mut out = vec![];
        let head = Head { conversation: 0xabcd, closing: true };
        assert!(write_ack(head, 40, 8, [(8, 5), (9, 7), (u32::MAX, 6)].into_iter(), &mut out));
        write_command(0xabcd, false, Command::Terminate, [1, 2, 3], &mut out);
        assert!(!write_ack(HEAD, 40, 8, std::iter::empty(), &mut out));
        out.extend_from_slice(b"\x00\x01\x09\x00\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x03");
        let read: Vec<_> = Segments::new(&out).collect();
        let Body::Ack { window_end: 40, receiving_next: 8, timestamp: 7, numbers } = &read[0].body else { panic!() };
        assert_eq!(numbers.iter().collect::<Vec<_>>(), [8, 9, u32::MAX]);
        assert!(read[0].closing && read[0].conversation == 0xabcd);
        let command = |command| Body::Command { command, sending_next: 1, receiving_next: 2, overdue: 3 };
        assert_eq!((&read[1].body, &read[3].body), (&command(Command::Terminate), &command(Command::Ping)));
        assert_eq!(read.len(), 4);
    }

    #[test]
    fn what_is_cut_is_none() {
        let mut out = vec![];
        write_data(HEAD, 1, 2, 3, b"hello", &mut out);
        let whole = out.len();
        write_ack(HEAD, 40, 8, [(8, 5), (9, 7)].into_iter(), &mut out);
        for len in 0..out.len() {
            assert_eq!(Segments::new(&out[..len]).count(), usize::from(len >= whole), "{len}");
        }
    }
}
