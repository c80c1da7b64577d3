//! Moving bytes between two sockets inside the kernel (Linux `splice`).
//!
//! A pipe is taken when bytes are about to move and given back as soon as it is empty, so an idle tunnel holds two files
//! and no pipe. The free pipes are per thread, as buffers are.

use std::io;
use std::task::{Context, Poll};

use tokio::net::TcpStream;

#[cfg(target_os = "linux")]
pub use linux::Pipe;

#[cfg(not(target_os = "linux"))]
pub use elsewhere::Pipe;

#[cfg(target_os = "linux")]
mod linux {
    use std::cell::RefCell;
    use std::os::fd::OwnedFd;
    use std::task::ready;

    use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
    use tokio::io::Interest;

    use super::{Context, Poll, TcpStream, io};

    /// Bytes moved by one call at most, and the size asked for a pipe: past this a larger pipe gains nothing.
    const CHUNK: usize = 256 * 1024;

    /// Free pipes kept by a thread.
    const KEPT: usize = 4;

    thread_local! {
        static FREE: RefCell<Vec<Ends>> = const { RefCell::new(Vec::new()) };
    }

    #[derive(Debug)]
    struct Ends {
        read: OwnedFd,
        write: OwnedFd,
    }

    /// A pipe and how many bytes are in it. Given back when dropped empty, closed when dropped full.
    #[derive(Debug)]
    pub struct Pipe {
        ends: Option<Ends>,
        held: usize,
    }

    impl Pipe {
        /// Takes a free pipe, or makes one; `None` if there is none to be had, which is a reason to copy instead.
        pub fn take() -> Option<Self> {
            let free = FREE.try_with(|free| free.borrow_mut().pop()).ok().flatten();
            let ends = match free {
                Some(ends) => ends,
                None => {
                    let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).ok()?;
                    // A smaller pipe works as well.
                    let _ = fcntl_setpipe_size(&write, CHUNK);
                    Ends { read, write }
                }
            };
            Some(Self { ends: Some(ends), held: 0 })
        }

        /// Bytes in the pipe.
        pub fn held(&self) -> usize {
            self.held
        }

        /// Moves what the socket holds into the empty pipe. 0 is the end of the stream.
        pub fn poll_fill(&mut self, from: &TcpStream, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
            loop {
                ready!(from.poll_read_ready(cx))?;
                let moved = from.try_io(Interest::READABLE, || match &self.ends {
                    Some(ends) => Ok(splice(from, None, &ends.write, None, CHUNK, flags())?),
                    None => Ok(0),
                });
                match moved {
                    Ok(moved) => {
                        self.held += moved;
                        return Poll::Ready(Ok(moved));
                    }
                    Err(error) if again(&error) => {}
                    Err(error) => return Poll::Ready(Err(error)),
                }
            }
        }

        /// Moves what the pipe holds into the socket.
        pub fn poll_drain(&mut self, to: &TcpStream, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
            loop {
                ready!(to.poll_write_ready(cx))?;
                let moved = to.try_io(Interest::WRITABLE, || match &self.ends {
                    Some(ends) => Ok(splice(&ends.read, None, to, None, self.held, flags())?),
                    None => Ok(0),
                });
                match moved {
                    Ok(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                    Ok(moved) => {
                        self.held -= moved.min(self.held);
                        return Poll::Ready(Ok(moved));
                    }
                    Err(error) if again(&error) => {}
                    Err(error) => return Poll::Ready(Err(error)),
                }
            }
        }
    }

    impl Drop for Pipe {
        fn drop(&mut self) {
            let Some(ends) = self.ends.take().filter(|_| self.held == 0) else { return };
            let _ = FREE.try_with(|free| {
                let mut free = free.borrow_mut();
                if free.len() < KEPT {
                    free.push(ends);
                }
            });
        }
    }

    fn flags() -> SpliceFlags {
        SpliceFlags::MOVE | SpliceFlags::NONBLOCK
    }

    fn again(error: &io::Error) -> bool {
        matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
    }
}

/// Elsewhere there is no pipe to be had, and the relay copies.
#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use super::{Context, Poll, TcpStream, io};

    /// Cannot be made.
    #[derive(Debug)]
    pub enum Pipe {}

    impl Pipe {
        /// There is none.
        pub fn take() -> Option<Self> {
            None
        }

        /// Bytes in the pipe.
        pub fn held(&self) -> usize {
            match *self {}
        }

        /// Moves what the socket holds into the empty pipe.
        pub fn poll_fill(&mut self, _: &TcpStream, _: &mut Context<'_>) -> Poll<io::Result<usize>> {
            match *self {}
        }

        /// Moves what the pipe holds into the socket.
        pub fn poll_drain(&mut self, _: &TcpStream, _: &mut Context<'_>) -> Poll<io::Result<usize>> {
            match *self {}
        }
    }
}
