//! The journal: one JSON object a line of what was measured, what real flows showed and what was decided.
//!
//! A [`Line`] is pure, written and read by the same types, so that what was written can be replayed. [`Journal`] is the
//! writer: it takes lines where they arise, never makes anybody wait, and writes them on a thread of its own to a file of
//! bounded size. Beside it a [`StateFile`] keeps what is known for the next process.

mod file;
mod line;
mod queue;
mod read;
mod state;
mod words;

pub use file::Limit;
pub use line::{Flow, Line, Measured, What, Word};
pub use queue::Journal;
pub use read::{Lines, Read};
pub use state::{StateError, StateFile};
pub use words::{About, EvidenceWord, FailWord, KindWord, NetworkWord};
