//! Relay buffers that nobody owns while nothing moves.
//!
//! A buffer is borrowed for one turn and kept only while it holds bytes that the other side did not take yet. The free
//! lists are per thread, so borrowing costs no lock; a buffer that comes back on another thread joins that one's list.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

/// Size of every buffer: four full TLS records, and large enough that a system call's own cost no longer shows.
pub const SIZE: usize = 64 * 1024;

/// Free buffers kept by a thread; more are given back to the allocator.
const KEPT: usize = 8;

thread_local! {
    static FREE: RefCell<Vec<Box<[u8]>>> = const { RefCell::new(Vec::new()) };
}

/// A borrowed buffer of [`SIZE`] bytes with whatever its last user left in it. Goes back when dropped.
#[derive(Debug)]
pub struct Buffer(Box<[u8]>);

impl Buffer {
    /// Takes a free buffer, or makes one.
    #[must_use]
    pub fn take() -> Self {
        let free = FREE.try_with(|free| free.borrow_mut().pop()).ok().flatten();
        Self(free.unwrap_or_else(|| vec![0; SIZE].into_boxed_slice()))
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let buffer = std::mem::take(&mut self.0);
        // At the end of a thread its list is gone already; then the buffer just goes too.
        let _ = FREE.try_with(|free| {
            let mut free = free.borrow_mut();
            if free.len() < KEPT {
                free.push(buffer);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_comes_back_and_the_list_is_bounded() {
        let mut buffer = Buffer::take();
        buffer[0] = 7;
        let place = buffer.as_ptr();
        drop(buffer);
        assert_eq!(Buffer::take().as_ptr(), place);
        drop((0..2 * KEPT).map(|_| Buffer::take()).collect::<Vec<_>>());
        assert_eq!(FREE.with(|free| free.borrow().len()), KEPT);
    }
}
