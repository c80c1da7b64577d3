//! TCP: dial the best of several addresses, listen, accept for ever.

use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream, UnixListener, UnixStream};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::socket::{self, SocketOptions};

/// Opens a connection to the first of `addresses` that answers. A later one is tried beside those still silent as the
/// options' race says, or at once when one fails; families take turns, beginning with that of the first address (RFC 8305).
///
/// # Errors
/// [`io::ErrorKind::TimedOut`] after `limit`; else the error of the first address that failed.
pub async fn dial(addresses: &[SocketAddr], options: &SocketOptions, limit: Duration) -> io::Result<TcpStream> {
    let usable = |at: &SocketAddr| options.bind.is_none_or(|ip| ip.is_ipv4() == at.is_ipv4());
    let attempt = async {
        match addresses {
            &[only] if usable(&only) => connect(only, options).await,
            // Boxed, because a flow's task is as large as its largest branch and most dials have one address.
            several => {
                let usable = several.iter().copied().filter(usable);
                Box::pin(options.race.run(usable, |to| connect(to, options))).await
            }
        }
    };
    timeout(limit, attempt).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// The same from a local address, if there is one.
///
/// # Errors
/// As [`dial`].
pub async fn dial_from(
    from: Option<IpAddr>,
    addresses: &[SocketAddr],
    options: &SocketOptions,
    limit: Duration,
) -> io::Result<TcpStream> {
    if from.is_none() {
        return dial(addresses, options, limit).await;
    }
    // Boxed, because the usual way should not carry the other options along.
    Box::pin(async { dial(addresses, &options.bound_to(from), limit).await }).await
}

/// Whether a failed dial is this machine's own fault: no files, no ports, no memory, no way out. A balancer must not hold
/// that against a server.
#[must_use]
pub fn is_ours(error: &io::Error) -> bool {
    exhausted(error)
        || matches!(error.kind(), io::ErrorKind::AddrNotAvailable | io::ErrorKind::PermissionDenied)
        || error.get_ref().is_some_and(|inner| inner.is::<Unprepared>())
}

/// There is no such socket as the options ask for, so nobody was dialed.
#[derive(Debug, thiserror::Error)]
#[error("a socket cannot be made: {0}")]
struct Unprepared(io::Error);

/// Listens on an address; see [`SocketOptions`] and the note on wildcards in `socket.rs`.
///
/// # Errors
/// Whatever the kernel says.
pub fn listen(at: SocketAddr, options: &SocketOptions) -> io::Result<TcpListener> {
    TcpListener::from_std(socket::listener(at, options)?)
}

/// Anything that accepts connections.
pub trait Accept {
    /// What it accepts.
    type Connection;

    /// Waits for the next connection and says whose it is.
    ///
    /// # Errors
    /// Whatever the kernel says.
    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<(Self::Connection, SocketAddr)>>;
}

impl Accept for TcpListener {
    type Connection = TcpStream;

    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        Self::poll_accept(self, cx).map_ok(|(stream, from)| (stream, canonical(from)))
    }
}

/// Clients on a Unix socket have no address; they count as `0.0.0.0:0`.
impl Accept for UnixListener {
    type Connection = UnixStream;

    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<(UnixStream, SocketAddr)>> {
        Self::poll_accept(self, cx).map_ok(|(stream, _)| (stream, SocketAddr::from(([0; 4], 0))))
    }
}

/// Accepts until the token falls and gives every connection to `take`, which must not block. When files or memory run out,
/// or the socket only fails, it waits, longer each time up to a second, and goes on as soon as it can: an accept loop
/// neither spins nor ends. Whom the kernel had let in already when the token fell is taken too; closing the socket would
/// reset them, though another listener may have the address by then.
pub async fn accept_all<L: Accept>(
    mut listener: L,
    token: &CancellationToken,
    mut take: impl FnMut(L::Connection, SocketAddr),
) {
    let mut pause = FIRST_PAUSE;
    let mut told: Option<Instant> = None;
    let mut cancelled = pin!(token.cancelled());
    loop {
        let accepted = tokio::select! {
            biased;
            () = &mut cancelled => break,
            accepted = poll_fn(|cx| listener.poll_accept(cx)) => accepted,
        };
        match accepted {
            Ok((connection, from)) => {
                pause = FIRST_PAUSE;
                take(connection, from);
            }
            // The client gave up while it waited; that says nothing of the next one.
            Err(error) if is_lost(&error) => tracing::debug!(%error, "a connection was lost before it was accepted"),
            Err(error) => {
                // At the brink want comes and goes with every visitor; the log must not fill at their will.
                if told.is_none_or(|at| at.elapsed() >= TOLD_FOR) {
                    tracing::warn!(%error, "cannot accept connections; trying on");
                    told = Some(Instant::now());
                }
                tokio::select! {
                    () = &mut cancelled => return,
                    () = sleep(pause) => {}
                }
                pause = (pause * 2).min(LAST_PAUSE);
            }
        }
    }
    while let Poll::Ready(Ok((connection, from))) = poll_fn(|cx| Poll::Ready(listener.poll_accept(cx))).await {
        take(connection, from);
    }
}

const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LAST_PAUSE: Duration = Duration::from_secs(1);
/// How long a warning of want holds before it is said again.
const TOLD_FOR: Duration = Duration::from_secs(60);

/// The address as IPv4 if it is one in IPv6 clothing, which a listener for both families reports. Others stay whole: one
/// of a single link leads nowhere without its scope.
#[must_use]
pub fn canonical(at: SocketAddr) -> SocketAddr {
    let ip = at.ip().to_canonical();
    if ip.is_ipv4() { SocketAddr::new(ip, at.port()) } else { at }
}

/// Errors of the accepted connection, not of the socket (accept(2) lists them).
fn is_lost(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::Interrupted
            | io::ErrorKind::NetworkDown
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::TimedOut
    )
}

fn exhausted(error: &io::Error) -> bool {
    use rustix::io::Errno;
    [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM]
        .iter()
        .any(|no| error.raw_os_error() == Some(no.raw_os_error()))
}

async fn connect(to: SocketAddr, options: &SocketOptions) -> io::Result<TcpStream> {
    let prepared = socket::outgoing(to, options);
    let socket = prepared.map_err(|error| io::Error::new(error.kind(), Unprepared(error)))?;
    TcpSocket::from_std_stream(socket).connect(to).await
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::{Arc, Mutex};

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::model::sockopt::FastOpen;
    use crate::net::{RawOption, RawValue};

    #[tokio::test]
    async fn a_refused_address_gives_way_to_the_next() {
        let listener = listen(([127, 0, 0, 1], 0).into(), &SocketOptions::default()).unwrap();
        let good = listener.local_addr().unwrap();
        // Bound without listening: connecting is refused, and nobody else can take the port.
        let dead = TcpSocket::new_v4().unwrap();
        dead.bind(([127, 0, 0, 1], 0).into()).unwrap();
        let refused = dead.local_addr().unwrap();
        let limit = Duration::from_secs(5);
        let stream = dial(&[refused, good], &SocketOptions::default(), limit).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), good);
        let error = dial(&[refused], &SocketOptions::default(), limit).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        let error = dial(&[refused, refused], &SocketOptions::default(), limit).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        assert!(!is_ours(&error));
    }

    #[tokio::test]
    async fn a_local_address_of_the_other_family_leaves_nothing_to_try() {
        let options = SocketOptions { bind: Some([127, 0, 0, 1].into()), ..SocketOptions::default() };
        let error = dial(&["[::1]:9".parse().unwrap()], &options, Duration::from_secs(5)).await.unwrap_err();
        assert!(is_ours(&error));
    }

    #[tokio::test]
    async fn an_option_that_the_kernel_does_not_know_is_our_fault() {
        let raw = RawOption { network: "tcp".to_owned(), level: 6, name: 9999, value: RawValue::Number(1) };
        let options = SocketOptions { raw: vec![raw], ..SocketOptions::default() };
        let error = dial(&[([127, 0, 0, 1], 9).into()], &options, Duration::from_secs(5)).await.unwrap_err();
        assert!(is_ours(&error) && error.to_string().contains("level 6 and opt 9999"), "{error}");
    }

    /// The whole of a transfer whose first bytes may go with the request. The first connection asks for the cookie; those
    /// after it are open for us at once, and open in truth when the first bytes leave.
    #[tokio::test]
    async fn first_bytes_may_go_with_the_request() {
        let options = SocketOptions { fast_open: FastOpen::On(16), ..SocketOptions::default() };
        let door = listen(([127, 0, 0, 1], 0).into(), &options).unwrap();
        let at = door.local_addr().unwrap();
        for round in 0..4_u8 {
            let near = async {
                let mut near = dial(&[at], &options, Duration::from_secs(5)).await.unwrap();
                near.write_all(&[round; 1000]).await.unwrap();
                let mut back = vec![];
                near.read_to_end(&mut back).await.unwrap();
                back
            };
            let far = async {
                let (mut far, _) = door.accept().await.unwrap();
                let mut heard = vec![0; 1000];
                far.read_exact(&mut heard).await.unwrap();
                far.write_all(&heard).await.unwrap();
            };
            let both = timeout(Duration::from_secs(5), async { tokio::join!(near, far) });
            assert_eq!(both.await.unwrap().0, [round; 1000]);
        }
    }

    /// Answers from a list, then waits for ever.
    struct Scripted(VecDeque<io::Result<u32>>, CancellationToken);

    impl Accept for Scripted {
        type Connection = u32;

        fn poll_accept(&mut self, _: &mut Context<'_>) -> Poll<io::Result<(u32, SocketAddr)>> {
            match self.0.pop_front() {
                Some(next) => Poll::Ready(next.map(|n| (n, SocketAddr::from(([127, 0, 0, 1], 1))))),
                None => {
                    self.1.cancel();
                    Poll::Pending
                }
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_file_table_is_waited_out() {
        let full = || Err(io::Error::from_raw_os_error(rustix::io::Errno::MFILE.raw_os_error()));
        let lost = || Err(io::ErrorKind::ConnectionAborted.into());
        let token = CancellationToken::new();
        let script = Scripted([Ok(1), lost(), full(), full(), full(), Ok(2)].into(), token.clone());
        let taken = Arc::new(Mutex::new(Vec::new()));
        let begun = Instant::now();
        accept_all(script, &token, |n, _| taken.lock().unwrap().push((n, begun.elapsed()))).await;
        let taken = taken.lock().unwrap();
        assert_eq!(taken[0], (1, Duration::ZERO));
        assert_eq!(taken[1].0, 2);
        assert!(taken[1].1 >= Duration::from_millis(70), "waited only {:?}", taken[1].1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_socket_that_only_fails_does_not_spin() {
        let broken = || Err(io::Error::from_raw_os_error(rustix::io::Errno::INVAL.raw_os_error()));
        let token = CancellationToken::new();
        let script = Scripted([broken(), broken(), broken(), Ok(1)].into(), token.clone());
        let begun = Instant::now();
        let mut taken = None;
        accept_all(script, &token, |_, _| taken = Some(begun.elapsed())).await;
        assert!(taken >= Some(Duration::from_millis(70)), "{taken:?}");
    }

    #[test]
    fn a_scope_survives() {
        let link_local: SocketAddr = "[fe80::1%7]:53".parse().unwrap();
        assert_eq!(canonical(link_local), link_local);
        assert_eq!(canonical("[::ffff:10.0.0.1]:53".parse().unwrap()), "10.0.0.1:53".parse().unwrap());
    }
}
