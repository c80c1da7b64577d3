//! Headers of records, and what hides them.

use super::ctr::Ctr;

/// How much of a connection is hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It looks as it is.
    Native,
    /// Public keys of the handshake look random.
    Xorpub,
    /// Everything looks random.
    Random,
}

/// Bytes of a header.
pub(super) const HEADER: usize = 5;

/// The longest record of TLS 1.3.
const MOST: usize = 16_640;

/// The header of a record with so many sealed bytes.
pub(super) fn header(len: u16) -> [u8; HEADER] {
    let [high, low] = len.to_be_bytes();
    [23, 3, 3, high, low]
}

/// How many bytes follow a header, if it is one.
pub(super) fn length(header: [u8; HEADER]) -> Option<usize> {
    let len = follows(header);
    (17..=MOST).contains(&len).then_some(len)
}

fn follows(header: [u8; HEADER]) -> usize {
    match header {
        [23, 3, 3, high, low] => u16::from_be_bytes([high, low]).into(),
        _ => 0,
    }
}

/// Hides the headers of records that pass, wherever they are cut, and leaves their bodies alone.
pub(super) struct Hidden {
    ctr: Ctr,
    /// Bytes of a body that are still to come.
    skip: usize,
    header: [u8; HEADER],
    had: usize,
}

impl Hidden {
    pub(super) fn new(ctr: Ctr) -> Self {
        Self { ctr, skip: 0, header: [0; HEADER], had: 0 }
    }

    /// A header by itself, where records are whole.
    pub(super) fn whole(&mut self, header: &mut [u8]) {
        self.ctr.apply(header);
    }

    /// Records of somebody else, on their way out.
    pub(super) fn hide(&mut self, bytes: &mut [u8]) {
        self.pass(bytes, |ctr, part, header| {
            header.copy_from_slice(part);
            ctr.apply(part);
        });
    }

    /// The same on their way in.
    pub(super) fn show(&mut self, bytes: &mut [u8]) {
        self.pass(bytes, |ctr, part, header| {
            ctr.apply(part);
            header.copy_from_slice(part);
        });
    }

    fn pass(&mut self, mut bytes: &mut [u8], each: fn(&mut Ctr, &mut [u8], &mut [u8])) {
        while !bytes.is_empty() {
            let skipped = self.skip.min(bytes.len());
            self.skip -= skipped;
            let len = (HEADER - self.had).min(bytes.len() - skipped);
            let (part, rest) = bytes[skipped..].split_at_mut(len);
            each(&mut self.ctr, part, &mut self.header[self.had..self.had + len]);
            self.had += len;
            if self.had == HEADER {
                (self.skip, self.had) = (follows(self.header), 0);
            }
            bytes = rest;
        }
    }
}
