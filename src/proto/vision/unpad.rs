//! The reading half.

use subtle::ConstantTimeEq;

use super::command::{CONTINUE, DIRECT, END, FIRST, HEAD, LONGEST};
use super::filter::Filter;
use crate::wire::{Next, Open, Opened, Reader, WireError};

/// Takes the padding off, and says how the half goes on behind the last padded block. It holds the user's id, so it is
/// never shown.
pub struct Unpad {
    id: [u8; 16],
    filter: Filter,
    state: State,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// The id tells whether anything is padded at all.
    Begin,
    /// Between two blocks.
    Head,
    Content(Block),
    Padding {
        left: u16,
        command: u8,
    },
}

/// What is left of a block.
#[derive(Debug, Clone, Copy)]
struct Block {
    left: u16,
    padding: u16,
    command: u8,
    /// It is no longer than blocks are, and comes as one piece.
    whole: bool,
}

impl Unpad {
    /// Of a peer that puts this id in front of its first block.
    #[must_use]
    pub fn new(id: [u8; 16], filter: Filter) -> Self {
        Self { id, filter, state: State::Begin }
    }

    fn begin(&mut self, input: &[u8]) -> Opened {
        let shown = input.len().min(self.id.len());
        if !bool::from(input[..shown].ct_eq(&self.id[..shown])) {
            return Opened::Over { used: 0, next: Next::Bare };
        }
        if input.len() < FIRST {
            return Opened::More { need: FIRST - input.len() };
        }
        self.state = State::Head;
        nothing(self.id.len())
    }

    fn head(&mut self, input: &[u8]) -> Result<Opened, WireError> {
        let mut reader = Reader::new(input);
        let command = reader.take_u8()?;
        if command > DIRECT {
            return Err(WireError::Malformed { what: "command of a padded block" });
        }
        let (left, padding) = (reader.take_u16()?, reader.take_u16()?);
        let whole = usize::from(left) <= LONGEST;
        self.state = State::Content(Block { left, padding, command, whole });
        Ok(nothing(HEAD))
    }

    /// A block's content comes as one piece where it is no longer than blocks are: the other half decides by what is seen
    /// here, and that must not hang on how the bytes were split on their way.
    fn content(&mut self, input: &[u8], block: Block) -> Result<Opened, WireError> {
        let Block { left, padding, command, whole } = block;
        if left == 0 {
            self.state = State::Padding { left: padding, command };
            return self.padding(input, padding, command);
        }
        let wanted = usize::from(left);
        let len = wanted.min(input.len());
        if len < wanted && whole {
            return Ok(Opened::More { need: wanted - len });
        }
        if len == 0 {
            return Ok(Opened::More { need: 1 });
        }
        self.filter.look(&input[..len]);
        let left = left - u16::try_from(len).unwrap_or(left);
        self.state =
            if left == 0 { State::Padding { left: padding, command } } else { State::Content(Block { left, ..block }) };
        Ok(Opened::Plain { used: len, at: 0..len })
    }

    fn padding(&mut self, input: &[u8], left: u16, command: u8) -> Result<Opened, WireError> {
        if left > 0 {
            let len = usize::from(left).min(input.len());
            if len == 0 {
                return Ok(Opened::More { need: 1 });
            }
            self.state = State::Padding { left: left - u16::try_from(len).unwrap_or(left), command };
            return Ok(nothing(len));
        }
        match command {
            CONTINUE => {
                self.state = State::Head;
                self.head(input)
            }
            END => Ok(Opened::Over { used: 0, next: Next::Bare }),
            _ => Ok(Opened::Over { used: 0, next: Next::Direct }),
        }
    }
}

fn nothing(used: usize) -> Opened {
    Opened::Plain { used, at: 0..0 }
}

impl Open for Unpad {
    fn open(&mut self, input: &mut [u8]) -> Result<Opened, WireError> {
        let opened = match self.state {
            State::Begin => Ok(self.begin(input)),
            State::Head => self.head(input),
            State::Content(block) => self.content(input, block),
            State::Padding { left, command } => self.padding(input, left, command),
        };
        match opened {
            Err(WireError::Truncated { need }) => Ok(Opened::More { need }),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests;
