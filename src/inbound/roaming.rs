//! Associations that outlive the connection by which they came.
//!
//! An XUDP client whose network changed opens another connection and begins with the id of its association. What answers
//! there is then led to the new connection, and the flow behind it, with its sockets and its place in the translation tables
//! on the way, never notices.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::BytesMut;
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio::time::{Instant, Sleep, sleep};

use crate::addr::Target;
use crate::flow::{BoxPackets, Flow, Packets};
use crate::proto::mux::GlobalId;

/// Associations by user and id.
#[derive(Clone, Default)]
pub struct Roaming(Arc<Mutex<HashMap<Key, mpsc::Sender<BoxPackets>>>>);

/// Ids are the clients' choice, so one user's must not find another's association: the user's email, or its place where it has
/// none, and its id.
type Key = (Owner, GlobalId);

/// Whose an association is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Owner {
    user: Option<Arc<str>>,
    member: u32,
}

impl Owner {
    /// Whose a flow is.
    pub(super) fn of(flow: &Flow) -> Self {
        Self { user: flow.user.clone(), member: flow.member }
    }
}

/// How long an association waits for its client (Xray's time).
const WAIT: Duration = Duration::from_secs(60);

/// Associations that are remembered; others live and die with their connections.
const MOST: usize = 4096;

impl Roaming {
    /// Takes an association that came with an id. Gives it back, made to outlive its connection, if it is new; else the one
    /// that is known goes on with it.
    pub(super) fn admit(&self, owner: Owner, id: GlobalId, mut packets: BoxPackets) -> Option<BoxPackets> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (owner, id);
        if let Some(there) = known.get(&key) {
            match there.try_send(packets) {
                // Whoever comes a third time before the second was noticed is led nowhere, and must come again.
                Ok(()) | Err(TrySendError::Full(_)) => return None,
                Err(TrySendError::Closed(back)) => packets = back,
            }
        } else if known.len() >= MOST {
            return Some(packets);
        }
        let (sender, next) = mpsc::channel(1);
        known.insert(key.clone(), sender);
        Some(Box::new(Roamer { now: Some(packets), next, wait: Box::pin(sleep(WAIT)), home: self.clone(), key }))
    }
}

/// One association, by whichever connection it has now.
struct Roamer {
    now: Option<BoxPackets>,
    next: mpsc::Receiver<BoxPackets>,
    /// Runs while there is no connection.
    wait: Pin<Box<Sleep>>,
    home: Roaming,
    key: Key,
}

impl Roamer {
    /// Judges what befell the connection: the end of the association is given on, the end of the connection alone is not.
    fn lost(&mut self, error: io::Error) -> io::Result<()> {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            return Err(error);
        }
        self.now = None;
        self.wait.as_mut().reset(Instant::now() + WAIT);
        Ok(())
    }
}

impl Packets for Roamer {
    fn poll_recv(&mut self, cx: &mut Context<'_>, buf: &mut BytesMut) -> Poll<io::Result<Target>> {
        if let Poll::Ready(Some(next)) = self.next.poll_recv(cx) {
            self.now = Some(next);
            // The channel was not asked to wake for the one after this.
            cx.waker().wake_by_ref();
        }
        if let Some(now) = &mut self.now {
            match ready!(now.poll_recv(cx, buf)) {
                Ok(target) => return Poll::Ready(Ok(target)),
                Err(error) => self.lost(error)?,
            }
        }
        ready!(self.wait.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()))
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, payload: &[u8], peer: &Target) -> Poll<io::Result<()>> {
        // What comes while nobody is there is lost, as on any network.
        let Some(now) = &mut self.now else { return Poll::Ready(Ok(())) };
        match ready!(now.poll_send(cx, payload, peer)) {
            Ok(()) => Poll::Ready(Ok(())),
            Err(error) => Poll::Ready(self.lost(error)),
        }
    }
}

impl Drop for Roamer {
    fn drop(&mut self) {
        self.next.close();
        let mut known = self.home.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Another may have taken the place already.
        if known.get(&self.key).is_some_and(mpsc::Sender::is_closed) {
            known.remove(&self.key);
        }
    }
}

impl fmt::Debug for Roaming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Roaming").finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::io::{AsyncWriteExt, DuplexStream, duplex};
    use tokio::time::advance;

    use super::*;
    use crate::flow::{recv, send};
    use crate::net::Parceled;
    use crate::proto::mux::Xudp;

    fn id() -> GlobalId {
        GlobalId::of_wire([7; 8]).unwrap()
    }

    fn owner(user: Option<&str>, member: u32) -> Owner {
        Owner { user: user.map(Into::into), member }
    }

    /// A connection that has sent one datagram, and its association; a far end that closes breaks it in the middle of a frame.
    async fn connection(text: &[u8]) -> (DuplexStream, BoxPackets) {
        let (near, mut far) = duplex(4096);
        let mut out = BytesMut::new();
        let target: Target = "10.0.0.1:53".parse().unwrap();
        crate::wire::Parcel::pack(&mut Xudp::client(Some(id())), text, &target, &mut out);
        far.write_all(&out).await.unwrap();
        (far, Box::new(Breaking(Parceled::new(near, BytesMut::new(), Xudp::server(), target))))
    }

    /// The end of the stream is that of a connection, not of the association.
    struct Breaking<P>(P);

    impl<P: Packets> Packets for Breaking<P> {
        fn poll_recv(&mut self, cx: &mut Context<'_>, buf: &mut BytesMut) -> Poll<io::Result<Target>> {
            self.0.poll_recv(cx, buf).map_err(|_| io::ErrorKind::ConnectionAborted.into())
        }

        fn poll_send(&mut self, cx: &mut Context<'_>, payload: &[u8], peer: &Target) -> Poll<io::Result<()>> {
            self.0.poll_send(cx, payload, peer)
        }
    }

    async fn heard(packets: &mut BoxPackets) -> io::Result<Vec<u8>> {
        let mut buf = BytesMut::new();
        recv(packets, &mut buf).await.map(|_| buf.to_vec())
    }

    #[tokio::test(start_paused = true)]
    async fn an_association_goes_on_by_another_connection() {
        let roaming = Roaming::default();
        let (far, first) = connection(b"one").await;
        let mut packets = roaming.admit(owner(None, 0), id(), first).unwrap();
        assert_eq!(heard(&mut packets).await.unwrap(), b"one");
        drop(far);
        advance(WAIT / 2).await;
        let later = tokio::spawn(async move { (heard(&mut packets).await.unwrap(), packets) });
        tokio::task::yield_now().await;
        let (_far, second) = connection(b"two").await;
        assert!(roaming.admit(owner(None, 0), id(), second).is_none());
        let (text, mut packets) = later.await.unwrap();
        assert_eq!(text, b"two");
        send(&mut packets, b"back", &"10.0.0.1:53".parse().unwrap()).await.unwrap();
        // Another user's is another, with or without an email.
        for other in [owner(Some("u"), 0), owner(None, 1)] {
            assert!(roaming.admit(other, id(), connection(b"x").await.1).is_some());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_is_waited_for_longer_than_a_minute_and_nothing_is_kept() {
        let roaming = Roaming::default();
        let (far, first) = connection(b"one").await;
        let mut packets = roaming.admit(owner(None, 0), id(), first).unwrap();
        assert_eq!(heard(&mut packets).await.unwrap(), b"one");
        drop(far);
        let begun = Instant::now();
        assert_eq!(heard(&mut packets).await.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(begun.elapsed().as_secs(), WAIT.as_secs());
        drop(packets);
        assert!(roaming.0.lock().unwrap().is_empty());
    }
}
