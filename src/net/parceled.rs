//! Datagrams inside a byte stream, as an association.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::BytesMut;

use super::scratch::{Intake, Scratch, poll_drain};
use crate::addr::Target;
use crate::flow::{Packets, Stream};
use crate::wire::{Parcel, Unpacked};

/// An association whose datagrams travel in a stream. `pack` writes, `unpack` reads; many protocols take one value for both.
pub struct Parceled<S, P> {
    io: S,
    parcel: P,
    peer: Target,
    intake: Option<Intake>,
    out: Option<Scratch>,
    /// Something was written and not flushed.
    dirty: bool,
}

/// Things without a datagram that are passed over before other tasks get their turn.
const EMPTY: usize = 64;

impl<S: Stream, P: Parcel<Peer = Target>> Parceled<S, P> {
    /// Puts a parcel around a stream of which `held` was read already. Datagrams without an address of their own come from
    /// `peer`.
    pub fn new(io: S, held: BytesMut, parcel: P, peer: Target) -> Self {
        let intake = (!held.is_empty()).then(|| Intake::holding(&held));
        Self { io, parcel, peer, intake, out: None, dirty: false }
    }

    fn poll_out(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(poll_drain(&mut self.out, &mut self.io, cx))?;
        if self.dirty {
            ready!(Pin::new(&mut self.io).poll_flush(cx))?;
            self.dirty = false;
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: Stream, P: Parcel<Peer = Target>> Packets for Parceled<S, P> {
    fn poll_recv(&mut self, cx: &mut Context<'_>, buf: &mut BytesMut) -> Poll<io::Result<Target>> {
        if self.dirty
            && let Poll::Ready(sent) = self.poll_out(cx)
        {
            sent?;
        }
        for _ in 0..EMPTY {
            let input = self.intake.as_mut().map_or(&mut [][..], Intake::rest);
            match self.parcel.unpack(input)? {
                Unpacked::More { need } => {
                    let intake = self.intake.get_or_insert_with(Intake::take);
                    match intake.poll_read(&mut self.io, need.max(1), cx) {
                        Poll::Pending => {
                            if intake.is_empty() {
                                self.intake = None;
                            }
                            return Poll::Pending;
                        }
                        Poll::Ready(came) => {
                            if came? == 0 {
                                return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
                            }
                        }
                    }
                }
                Unpacked::Packet { used, at, peer } => {
                    if let Some(intake) = &mut self.intake {
                        let at = intake.use_up(used, at);
                        buf.extend_from_slice(intake.slice(at));
                        if intake.is_empty() {
                            self.intake = None;
                        }
                    }
                    return Poll::Ready(Ok(peer.unwrap_or_else(|| self.peer.clone())));
                }
                Unpacked::Nothing { used } => {
                    if let Some(intake) = &mut self.intake {
                        intake.use_up(used, 0..0);
                    }
                }
                Unpacked::End => return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, payload: &[u8], peer: &Target) -> Poll<io::Result<()>> {
        ready!(self.poll_out(cx))?;
        let out = self.out.get_or_insert_with(Scratch::take);
        if !self.parcel.pack(payload, peer, out) {
            tracing::trace!("a datagram was too large");
        }
        self.dirty = true;
        // What the sink does not take now waits, and the next call goes on with it.
        if let Poll::Ready(sent) = self.poll_out(cx) {
            sent?;
        }
        Poll::Ready(Ok(()))
    }
}

/// Parcels may hold keys.
impl<S: fmt::Debug, P> fmt::Debug for Parceled<S, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parceled").field("io", &self.io).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;
    use crate::flow::{recv, send};

    /// A length byte and as many bytes; zero is nothing, 255 the end.
    struct Short;

    impl Parcel for Short {
        type Peer = Target;

        fn pack(&mut self, payload: &[u8], _: &Target, out: &mut BytesMut) -> bool {
            let Ok(len) = u8::try_from(payload.len()) else { return false };
            out.extend_from_slice(&[len]);
            out.extend_from_slice(payload);
            true
        }

        fn unpack(&mut self, input: &mut [u8]) -> Result<Unpacked<Target>, crate::wire::WireError> {
            Ok(match input.first().map(|len| usize::from(*len)) {
                None => Unpacked::More { need: 1 },
                Some(0) => Unpacked::Nothing { used: 1 },
                Some(255) => Unpacked::End,
                Some(len) if input.len() <= len => Unpacked::More { need: len + 1 - input.len() },
                Some(len) => Unpacked::Packet { used: len + 1, at: 1..len + 1, peer: None },
            })
        }
    }

    #[tokio::test]
    async fn datagrams_keep_their_borders_in_any_pieces() {
        let (near, mut far) = duplex(3);
        let peer: Target = "10.0.0.1:5".parse().unwrap();
        let mut way = Parceled::new(near, BytesMut::from(&b"\x02ab\x00\x01"[..]), Short, peer.clone());
        let writing = tokio::spawn(async move {
            far.write_all(b"c\x05defgh\xff").await.unwrap();
            let mut said = [0; 6];
            far.read_exact(&mut said).await.unwrap();
            said
        });
        for expected in ["ab", "c", "defgh"] {
            let mut buf = BytesMut::new();
            assert_eq!(recv(&mut way, &mut buf).await.unwrap(), peer);
            assert_eq!(&buf[..], expected.as_bytes());
        }
        send(&mut way, b"hello", &peer).await.unwrap();
        // The stream takes three bytes at a time: receiving goes on with what waits.
        let mut buf = BytesMut::new();
        let end = recv(&mut way, &mut buf).await.unwrap_err();
        assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
        assert!(send(&mut way, &[0; 300], &peer).await.is_ok());
        assert_eq!(&writing.await.unwrap(), b"\x05hello");
    }
}
