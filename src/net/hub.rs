//! One UDP socket shared by many clients: what each of them sends becomes an association of its own.

use std::collections::HashMap;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio_util::sync::CancellationToken;

use super::udp::Datagrams;

/// One client of a shared socket. The client is forgotten when this is dropped.
#[derive(Debug)]
pub struct Session {
    socket: Arc<Datagrams>,
    client: SocketAddr,
    queue: mpsc::Receiver<Datagram>,
}

/// What came, and from where.
type Datagram = (SocketAddr, Bytes);

/// Whose a datagram is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Client {
    /// Whoever sits at this address.
    Address(SocketAddr),
    /// Whoever uses this session, from whichever address.
    Session(u64),
}

impl Session {
    /// Where the client sits.
    #[must_use]
    pub fn client(&self) -> SocketAddr {
        self.client
    }

    /// Where the socket is bound.
    ///
    /// # Errors
    /// Whatever the kernel says.
    pub fn local(&self) -> io::Result<SocketAddr> {
        self.socket.local()
    }

    /// From now on the client sits here.
    pub fn follow(&mut self, client: SocketAddr) {
        self.client = client;
    }

    /// Appends the client's next datagram to `buf`, and says from where it came.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] once the socket is closed.
    pub fn poll_recv(&mut self, cx: &mut Context<'_>, buf: &mut BytesMut) -> Poll<io::Result<SocketAddr>> {
        match ready!(self.queue.poll_recv(cx)) {
            Some((from, datagram)) => {
                buf.extend_from_slice(&datagram);
                Poll::Ready(Ok(from))
            }
            None => Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
        }
    }

    /// The same for a datagram that is there already, as the first of a session is.
    pub fn try_recv(&mut self, buf: &mut BytesMut) -> bool {
        let Ok((_, datagram)) = self.queue.try_recv() else { return false };
        buf.extend_from_slice(&datagram);
        true
    }

    /// Sends one datagram to the client.
    ///
    /// # Errors
    /// When the socket is broken.
    pub fn poll_send(&self, cx: &mut Context<'_>, payload: &[u8]) -> Poll<io::Result<()>> {
        self.socket.poll_send(cx, payload, self.client)
    }
}

/// Datagrams that wait for a slow association; more are dropped.
const QUEUE: usize = 64;

/// Clients at a time. Beyond this, those that came to an end are looked for, and new ones are turned away if there are
/// none: sources can be forged, and each costs a table entry and a task.
const CLIENTS: usize = 16 * 1024;

/// Clients turned away before ended ones are looked for again: a look at a full table costs far more than a datagram.
const PATIENCE: u32 = 1024;

/// Clients before ended ones are looked for the first time.
const SWEEP: usize = 64;

/// Datagrams are cut from pieces of this size: small, since one datagram that waits keeps its whole piece.
const CHUNK: usize = 16 * 1024;

/// How long a shared socket is served.
#[derive(Debug, Clone, Default)]
pub struct Hours {
    /// From here on nobody new is taken; those who are inside stay.
    pub closing: CancellationToken,
    /// From here on nobody is served.
    pub over: CancellationToken,
}

/// Receives until its hours are over, all who stayed after closing have gone, or the socket breaks. `name` says whose a
/// datagram is, which it may change, or that it is nobody's; `take` is given every new client. Neither may block.
///
/// # Errors
/// When the socket breaks.
pub async fn share(
    socket: Arc<Datagrams>,
    hours: &Hours,
    mut name: impl FnMut(&mut [u8], SocketAddr) -> Option<Client>,
    mut take: impl FnMut(Session),
) -> io::Result<()> {
    let mut clients: HashMap<Client, mpsc::Sender<Datagram>> = HashMap::new();
    let mut sweep_at = SWEEP;
    let mut turned_away = 0u32;
    let mut closing = pin!(hours.closing.cancelled());
    let mut over = pin!(hours.over.cancelled());
    let mut open = true;
    let mut buf = BytesMut::with_capacity(CHUNK);
    loop {
        if !open {
            clients.retain(|_, queue| !queue.is_closed());
            if clients.is_empty() {
                return Ok(());
            }
        }
        let from = tokio::select! {
            biased;
            () = &mut over => return Ok(()),
            () = &mut closing, if open => {
                open = false;
                continue;
            }
            from = poll_fn(|cx| socket.poll_recv(cx, &mut buf)) => from?,
        };
        let mut datagram = buf.split();
        let Some(client) = name(&mut datagram, from) else { continue };
        let datagram = (from, datagram.freeze());
        let datagram = match clients.get(&client) {
            None => datagram,
            Some(queue) => match queue.try_send(datagram) {
                Err(TrySendError::Closed(datagram)) => datagram,
                // A full queue drops the datagram, as a router would.
                Ok(()) | Err(TrySendError::Full(_)) => continue,
            },
        };
        if !open {
            continue;
        }
        let full = clients.len() >= CLIENTS;
        if clients.len() >= sweep_at && (!full || turned_away.is_multiple_of(PATIENCE)) {
            clients.retain(|_, queue| !queue.is_closed());
            sweep_at = (2 * clients.len()).clamp(SWEEP, CLIENTS);
        }
        if clients.len() >= CLIENTS {
            turned_away = turned_away.wrapping_add(1);
            tracing::debug!(%from, "too many clients on one socket");
            continue;
        }
        let (sender, queue) = mpsc::channel(QUEUE);
        // The queue is new, so it has room.
        let _ = sender.try_send(datagram);
        clients.insert(client, sender);
        take(Session { socket: Arc::clone(&socket), client: from, queue });
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::future::poll_fn;

    use super::*;
    use crate::net::socket::SocketOptions;
    use tokio::net::UdpSocket;

    async fn recv(session: &mut Session) -> Vec<u8> {
        let mut buf = BytesMut::new();
        poll_fn(|cx| session.poll_recv(cx, &mut buf)).await.unwrap();
        buf.to_vec()
    }

    #[tokio::test]
    async fn every_client_has_its_own_session() {
        let socket = Arc::new(Datagrams::bind(([127, 0, 0, 1], 0).into(), &SocketOptions::default()).unwrap());
        let hub = socket.local().unwrap();
        let hours = Hours::default();
        let (sender, mut sessions) = mpsc::unbounded_channel();
        let (sharing, until) = (Arc::clone(&socket), hours.clone());
        let task = tokio::spawn(async move {
            share(sharing, &until, |_, from| Some(Client::Address(from)), |new| sender.send(new).unwrap()).await
        });

        let a = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let b = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        a.send_to(b"a1", hub).await.unwrap();
        let mut of_a = sessions.recv().await.unwrap();
        b.send_to(b"b1", hub).await.unwrap();
        let mut of_b = sessions.recv().await.unwrap();
        a.send_to(b"a2", hub).await.unwrap();
        assert_eq!(of_a.client(), a.local_addr().unwrap());
        assert_eq!((recv(&mut of_a).await, recv(&mut of_a).await), (b"a1".to_vec(), b"a2".to_vec()));
        assert_eq!(recv(&mut of_b).await, b"b1");
        poll_fn(|cx| of_b.poll_send(cx, b"back")).await.unwrap();
        assert_eq!(b.recv(&mut [0; 8]).await.unwrap(), 4);

        // One that ended begins anew with the next datagram.
        drop(of_a);
        a.send_to(b"a3", hub).await.unwrap();
        let mut again = sessions.recv().await.unwrap();
        assert_eq!(recv(&mut again).await, b"a3");

        // After closing those who are inside are served, and nobody else.
        hours.closing.cancel();
        tokio::task::yield_now().await;
        UdpSocket::bind("127.0.0.1:0").await.unwrap().send_to(b"c1", hub).await.unwrap();
        a.send_to(b"a4", hub).await.unwrap();
        assert_eq!(recv(&mut again).await, b"a4");
        assert!(sessions.try_recv().is_err());

        hours.over.cancel();
        task.await.unwrap().unwrap();
        let mut buf = BytesMut::new();
        let end = poll_fn(|cx| again.poll_recv(cx, &mut buf)).await.unwrap_err();
        assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[tokio::test]
    async fn datagrams_share_memory() {
        let socket = Arc::new(Datagrams::bind(([127, 0, 0, 1], 0).into(), &SocketOptions::default()).unwrap());
        let hub = socket.local().unwrap();
        let (sender, mut sessions) = mpsc::unbounded_channel();
        let task = tokio::spawn(async move {
            let name = |_: &mut [u8], from| Some(Client::Address(from));
            share(socket, &Hours::default(), name, |new| sender.send(new).unwrap()).await
        });
        let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        for _ in 0..40 {
            client.send_to(&[7; 1000], hub).await.unwrap();
        }
        let mut session = sessions.recv().await.unwrap();
        let (mut pieces, mut end, mut kept) = (0, 0, vec![]);
        for _ in 0..40 {
            let (_, datagram) = session.queue.recv().await.unwrap();
            pieces += usize::from(datagram.as_ptr() as usize != end);
            end = datagram.as_ptr() as usize + datagram.len();
            kept.push(datagram);
        }
        assert!(pieces <= 3, "{pieces} pieces");
        task.abort();
    }

    #[tokio::test]
    async fn a_closed_socket_goes_with_its_last_client() {
        let socket = Arc::new(Datagrams::bind(([127, 0, 0, 1], 0).into(), &SocketOptions::default()).unwrap());
        let hours = Hours::default();
        hours.closing.cancel();
        share(socket, &hours, |_, from| Some(Client::Address(from)), |_| {}).await.unwrap();
    }

    #[tokio::test]
    async fn a_session_with_a_name_is_one_from_wherever_it_comes() {
        let socket = Arc::new(Datagrams::bind(([127, 0, 0, 1], 0).into(), &SocketOptions::default()).unwrap());
        let hub = socket.local().unwrap();
        let (sender, mut sessions) = mpsc::unbounded_channel();
        let task = tokio::spawn(async move {
            let name = |datagram: &mut [u8], _| datagram.first().map(|first| Client::Session((*first).into()));
            share(socket, &Hours::default(), name, |new| sender.send(new).unwrap()).await
        });
        let a = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let b = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        a.send_to(b"", hub).await.unwrap();
        a.send_to(b"1 from a", hub).await.unwrap();
        let mut one = sessions.recv().await.unwrap();
        b.send_to(b"1 from b", hub).await.unwrap();
        a.send_to(b"2", hub).await.unwrap();
        assert_eq!(sessions.recv().await.unwrap().client(), a.local_addr().unwrap());
        assert_eq!((recv(&mut one).await, recv(&mut one).await), (b"1 from a".to_vec(), b"1 from b".to_vec()));
        one.follow(b.local_addr().unwrap());
        poll_fn(|cx| one.poll_send(cx, b"back")).await.unwrap();
        assert_eq!(b.recv(&mut [0; 8]).await.unwrap(), 4);
        task.abort();
    }
}
