//! Byte streams, which nest in any order.

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::net::{TcpStream, UnixStream};

/// One direction of a stream, seen from its user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    /// What is read from it.
    Read,
    /// What is written to it.
    Write,
}

/// A byte stream. Layers that only pass bytes on hand both questions to the layer below.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {
    /// The socket, if right now the bytes of this half are exactly the socket's bytes: nothing held back, nothing
    /// transformed. A relay that gets `Some` from both sides may let the kernel move the rest.
    fn raw(&self, _half: Half) -> Option<&TcpStream> {
        None
    }

    /// Whether [`Stream::go_plain`] would be possible once it is asked: the bytes pass through TLS 1.3 of ours and nothing
    /// else. Vision asks before it begins, since what comes later cannot be taken back.
    fn may_go_plain(&self) -> bool {
        false
    }

    /// Stop transforming this half, if the layer can; whatever was read too far is served first.
    fn go_plain(&mut self, _half: Half) -> bool {
        false
    }
}

/// A stream of any nesting.
pub type BoxStream = Box<dyn Stream>;

impl Stream for TcpStream {
    fn raw(&self, _half: Half) -> Option<&TcpStream> {
        Some(self)
    }
}

impl Stream for UnixStream {}

impl Stream for DuplexStream {}

impl<S: Stream + ?Sized> Stream for Box<S> {
    fn raw(&self, half: Half) -> Option<&TcpStream> {
        (**self).raw(half)
    }

    fn may_go_plain(&self) -> bool {
        (**self).may_go_plain()
    }

    fn go_plain(&mut self, half: Half) -> bool {
        (**self).go_plain(half)
    }
}
