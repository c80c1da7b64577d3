//! Payloads that are done with, for the next ones: a busy connection asks the allocator for nothing.

/// Payloads without bytes.
#[derive(Debug, Default)]
pub(super) struct Spare(Vec<Vec<u8>>);

/// A beat of ours rarely has more.
const KEPT: usize = 256;

impl Spare {
    /// An empty payload.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.0.pop().unwrap_or_default()
    }

    /// Keeps one for later.
    pub(super) fn give(&mut self, mut payload: Vec<u8>) {
        if self.0.len() < KEPT && payload.capacity() > 0 {
            payload.clear();
            self.0.push(payload);
        }
    }

    /// Gives all back to the allocator.
    pub(super) fn empty(&mut self) {
        self.0 = Vec::new();
    }
}
