//! Bytes on their way in or out of a layer, in memory that nobody owns while nothing moves.

use std::cell::RefCell;
use std::io;
use std::ops::{Deref, DerefMut, Range};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::BytesMut;
use tokio::io::{AsyncRead, ReadBuf};

use super::pool::{Buffer, SIZE};
use crate::flow::Stream;

/// Most that waits in front of a slow sink before more is sealed.
pub(super) const FULL: usize = SIZE;

/// A kept buffer has at least this much room, and one with more than [`LARGE`] is given back to the allocator.
const ROOM: usize = FULL + 4 * 1024;
const LARGE: usize = 4 * ROOM;
const KEPT: usize = 8;

thread_local! {
    static FREE: RefCell<Vec<BytesMut>> = const { RefCell::new(Vec::new()) };
}

/// A borrowed buffer that grows. Goes back when dropped.
#[derive(Debug)]
pub struct Scratch(BytesMut);

impl Scratch {
    /// Takes a free buffer, or makes one; it is empty.
    pub fn take() -> Self {
        let free = FREE.try_with(|free| free.borrow_mut().pop()).ok().flatten();
        Self(free.unwrap_or_else(|| BytesMut::with_capacity(ROOM)))
    }
}

impl Deref for Scratch {
    type Target = BytesMut;

    fn deref(&self) -> &BytesMut {
        &self.0
    }
}

impl DerefMut for Scratch {
    fn deref_mut(&mut self) -> &mut BytesMut {
        &mut self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let mut buffer = std::mem::take(&mut self.0);
        buffer.clear();
        // What `advance` cut off in front comes back with this, since nobody else holds the memory.
        buffer.reserve(ROOM);
        if buffer.capacity() > LARGE {
            return;
        }
        // At the end of a thread its list is gone already; then the buffer just goes too.
        let _ = FREE.try_with(|free| {
            let mut free = free.borrow_mut();
            if free.len() < KEPT {
                free.push(buffer);
            }
        });
    }
}

/// Bytes that were read and not used yet.
#[derive(Debug)]
pub struct Intake {
    room: Room,
    /// The first byte that was not used, and the end of what was read.
    at: usize,
    end: usize,
}

/// Almost all frames fit a pooled buffer; a few protocols allow twice that.
#[derive(Debug)]
enum Room {
    Pooled(Buffer),
    Large(Box<[u8]>),
}

impl Room {
    fn bytes(&mut self) -> &mut [u8] {
        match self {
            Self::Pooled(buffer) => buffer,
            Self::Large(large) => large,
        }
    }
}

impl Intake {
    /// With nothing in it.
    pub fn take() -> Self {
        Self { room: Room::Pooled(Buffer::take()), at: 0, end: 0 }
    }

    /// With these bytes in it.
    pub fn holding(bytes: &[u8]) -> Self {
        let mut intake = Self::take();
        intake.make_room(bytes.len());
        intake.room.bytes()[..bytes.len()].copy_from_slice(bytes);
        intake.end = bytes.len();
        intake
    }

    /// The bytes that were not used.
    pub fn rest(&mut self) -> &mut [u8] {
        let (at, end) = (self.at, self.end);
        &mut self.room.bytes()[at..end]
    }

    /// Whether all were used.
    pub fn is_empty(&self) -> bool {
        self.at == self.end
    }

    /// Marks bytes as used, and says where a range of them lies for [`Intake::slice`].
    pub fn use_up(&mut self, used: usize, at: Range<usize>) -> Range<usize> {
        let range = self.at + at.start..self.at + at.end;
        self.at = (self.at + used).min(self.end);
        range
    }

    /// Bytes by place, valid until more is read.
    pub fn slice(&mut self, range: Range<usize>) -> &[u8] {
        &self.room.bytes()[range]
    }

    /// Makes room for so many bytes behind those that were not used, and for more where it costs nothing.
    fn make_room(&mut self, need: usize) {
        let (at, end) = (self.at, self.end);
        let size = self.room.bytes().len();
        if at == end {
            (self.at, self.end) = (0, 0);
        } else if size - end < need.max(SIZE / 8) && at > 0 {
            self.room.bytes().copy_within(at..end, 0);
            (self.at, self.end) = (0, end - at);
        }
        if size - self.end < need {
            let mut large = vec![0; self.end + need + SIZE].into_boxed_slice();
            let held = self.end;
            large[..held].copy_from_slice(&self.room.bytes()[..held]);
            self.room = Room::Large(large);
        }
    }

    /// Reads once, with room for at least `need` bytes; gives how many came.
    pub fn poll_read<S>(&mut self, io: &mut S, need: usize, cx: &mut Context<'_>) -> Poll<io::Result<usize>>
    where
        S: AsyncRead + Unpin + ?Sized,
    {
        self.make_room(need);
        let end = self.end;
        let mut read = ReadBuf::new(&mut self.room.bytes()[end..]);
        ready!(Pin::new(io).poll_read(cx, &mut read))?;
        let came = read.filled().len();
        self.end += came;
        Poll::Ready(Ok(came))
    }
}

/// Writes all of `out`, and gives the buffer back once it is empty.
pub fn poll_drain<S>(out: &mut Option<Scratch>, io: &mut S, cx: &mut Context<'_>) -> Poll<io::Result<()>>
where
    S: Stream + ?Sized,
{
    while let Some(bytes) = out {
        if bytes.is_empty() {
            *out = None;
            break;
        }
        let written = ready!(Pin::new(&mut *io).poll_write(cx, bytes))?;
        if written == 0 {
            return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
        }
        bytes::Buf::advance(&mut **bytes, written);
    }
    Poll::Ready(Ok(()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    #[tokio::test]
    async fn unused_bytes_stay_while_room_is_made() {
        let mut intake = Intake::holding(b"abcdef");
        assert_eq!(intake.use_up(2, 0..1), 0..1);
        let mut more: &[u8] = &[b'g'; 100];
        assert_eq!(poll_fn(|cx| intake.poll_read(&mut more, 2 * SIZE, cx)).await.unwrap(), 100);
        assert_eq!(&intake.rest()[..5], b"cdefg");
        let used = intake.use_up(3, 1..3);
        assert_eq!(intake.slice(used), b"de");
        let mut more: &[u8] = &[b'h'; 3 * SIZE];
        while !more.is_empty() {
            assert_ne!(poll_fn(|cx| intake.poll_read(&mut more, 1, cx)).await.unwrap(), 0);
        }
        assert_eq!((intake.rest().len(), intake.rest()[0]), (101 + 3 * SIZE, b'f'));
    }

    #[test]
    fn a_scratch_comes_back_with_all_its_room() {
        let mut scratch = Scratch::take();
        scratch.extend_from_slice(&[0; 1000]);
        bytes::Buf::advance(&mut *scratch, 900);
        drop(scratch);
        let again = Scratch::take();
        assert!(again.is_empty() && again.capacity() >= ROOM);
    }
}
