//! ClientHellos that look like a browser's.
//!
//! rustls writes its own hello and cannot be asked for another. So a connection begins here: the hello is written in the
//! browser's shape and sent, the first answer is read, and only then rustls is started, with the random values and keys that
//! went out. What it takes for its own hello is replaced by ours wherever it counts: in the transcript, by way of the
//! hashes of its provider. Answers to what only a browser understands end a connection; the next hello leaves that out.
//! All of it is public interface of rustls but the order in which it asks for random values, and that is checked each time.

mod brotli;
mod browsers;
mod choice;
mod draft;
mod hello;
mod keys;
mod provider;
mod script;
mod shape;
mod shaped;

#[cfg(test)]
mod ja4;
#[cfg(test)]
mod tests;

pub(super) use script::{Proof, judge};
pub(super) use shaped::Shaped;
