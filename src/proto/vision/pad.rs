//! The writing half.

use bytes::{BufMut, BytesMut};
use rand::RngExt;
use rand::rngs::SmallRng;

use super::command::{CONTINUE, DIRECT, END, FIRST, LONGEST};
use super::filter::Filter;
use crate::wire::{Next, Seal};

/// How much padding there is: below the first number a block is filled up, to the third and less than the second more;
/// other blocks get less than the fourth.
pub type Seed = [u32; 4];

/// What Xray takes where nothing is written.
pub const SEED: Seed = [900, 500, 900, 256];

/// Pads the first blocks, and says how the half goes on behind the last of them. It holds the user's id, so it is never
/// shown.
pub struct Pad {
    /// Gone once padding has ended.
    padding: Option<Box<Padding>>,
    next: Next,
}

struct Padding {
    /// A header that stands in front of everything.
    head: Vec<u8>,
    /// The id in front of the first block.
    id: Option<[u8; 16]>,
    filter: Filter,
    seed: Seed,
    rng: SmallRng,
}

/// Most bytes that count as one write.
const WRITE: usize = 4 * LONGEST;

/// How the records begin behind which a direction may leave the outer TLS.
const RECORD: &[u8] = &[0x17, 3, 3];

impl Pad {
    /// With `head` in front of all, and the id in front of the first block.
    #[must_use]
    pub fn new(head: Vec<u8>, id: [u8; 16], filter: Filter, seed: Seed, rng: SmallRng) -> Self {
        let padding = Padding { head, id: Some(id), filter, seed, rng };
        Self { padding: Some(Box::new(padding)), next: Next::Framed }
    }
}

impl Seal for Pad {
    fn seal(&mut self, plain: &[u8], out: &mut BytesMut) -> usize {
        let Some(padding) = &mut self.padding else { return 0 };
        out.extend_from_slice(&std::mem::take(&mut padding.head));
        if plain.is_empty() {
            if padding.id.is_some() {
                // It hides the length of the header.
                padding.block(CONTINUE, &[], true, out);
            }
            return 0;
        }
        let taken = plain.len().min(WRITE);
        self.next = padding.write(&plain[..taken], taken == plain.len(), out);
        if self.next != Next::Framed {
            self.padding = None;
        }
        taken
    }

    fn next(&self) -> Next {
        self.next
    }
}

impl Padding {
    /// Pads one write, and says how the half goes on behind it.
    fn write(&mut self, plain: &[u8], whole: bool, out: &mut BytesMut) -> Next {
        plain.chunks(LONGEST).for_each(|part| self.filter.look(part));
        let seen = self.filter.seen();
        let records = whole && are_records(plain);
        let mut ended = false;
        let mut long = seen.tls;
        let mut rest = plain;
        while !rest.is_empty() {
            let (block, later) = rest.split_at(block_len(rest));
            rest = later;
            if seen.tls && records && block.len() >= 6 && block.starts_with(RECORD) {
                (ended, long) = (true, false);
                self.block(if rest.is_empty() { over(seen.direct) } else { CONTINUE }, block, true, out);
            } else if !seen.answered && seen.left <= 1 {
                self.block(END, block, long, out);
                out.extend_from_slice(rest);
                return Next::Bare;
            } else {
                self.block(if ended && rest.is_empty() { over(seen.direct) } else { CONTINUE }, block, long, out);
            }
        }
        match (ended, seen.direct) {
            (false, _) => Next::Framed,
            (true, false) => Next::Bare,
            (true, true) => Next::Direct,
        }
    }

    fn block(&mut self, command: u8, content: &[u8], long: bool, out: &mut BytesMut) {
        let [below, more, up_to, other] = self.seed;
        let len = u32::try_from(content.len()).unwrap_or(u32::MAX);
        let mut any = |below: u32| if below == 0 { 0 } else { self.rng.random_range(0..below) };
        let padding =
            if long && len < below { any(more).saturating_add(up_to).saturating_sub(len) } else { any(other) };
        let padding = usize::try_from(padding).unwrap_or(usize::MAX).min(LONGEST - FIRST - content.len());
        if let Some(id) = self.id.take() {
            out.extend_from_slice(&id);
        }
        out.put_u8(command);
        // Both are below the length of a block, so nothing is cut.
        out.put_u16(u16::try_from(content.len()).unwrap_or(u16::MAX));
        out.put_u16(u16::try_from(padding).unwrap_or(u16::MAX));
        out.extend_from_slice(content);
        out.put_bytes(0, padding);
    }
}

/// The command of the last block.
fn over(direct: bool) -> u8 {
    if direct { DIRECT } else { END }
}

/// How much of what is left goes into the next block: all where it fits beside its head, else up to where the last record
/// in it begins, or half.
fn block_len(rest: &[u8]) -> usize {
    let part = rest.len().min(LONGEST);
    if part < LONGEST - FIRST {
        return part;
    }
    let record = rest[..part].windows(RECORD.len()).rposition(|window| window == RECORD);
    record.filter(|at| (FIRST..=LONGEST - FIRST).contains(at)).unwrap_or(LONGEST / 2)
}

/// Whether all of this is whole records of application data.
fn are_records(mut bytes: &[u8]) -> bool {
    while let [0x17, 3, 3, high, low, rest @ ..] = bytes {
        let len = usize::from(u16::from_be_bytes([*high, *low]));
        match rest.get(len..) {
            Some(later) if len > 0 => bytes = later,
            _ => return false,
        }
        if bytes.is_empty() {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests;
