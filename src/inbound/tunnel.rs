//! A socket at which a tunnel ends, and what comes out of it.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::host::Host;
use super::kind::Kind;
use crate::net::Hours;
use crate::net::tcp::canonical;
use crate::transport::quic;
use crate::tunnel::{Arrived, Line, Tunnel, begin};

/// Flows that wait to be taken; those beyond wait for the client to ask again.
const WAITING: usize = 1024;

/// Why a tunnel is attended to no more.
enum End {
    /// Its time is over.
    Over,
    /// Another one is to take its place.
    Changed,
    /// Its socket broke.
    Broken,
}

/// Serves at a socket until its hours are over. A reload that changes the tunnel itself puts another in its place, which ends
/// its flows; who its peers are called, and where flows go, changes under a tunnel that stays.
///
/// # Errors
/// Whatever the kernel says of the socket.
pub(super) async fn serve(socket: UdpSocket, hosts: &Arc<ArcSwap<Host>>, hours: &Hours) -> io::Result<()> {
    let local = canonical(socket.local_addr()?);
    let dressed = Arc::clone(hosts);
    let masks = move || match &dressed.load().inbound.kind {
        Kind::Wireguard(kind) => kind.masks(),
        _ => None,
    };
    let socket = quic::bare(socket, masks)?;
    loop {
        let host = hosts.load_full();
        let Kind::Wireguard(kind) = &host.inbound.kind else { return Ok(()) };
        let over = hours.over.child_token();
        let endpoints = vec![None; kind.settings().peers.len()];
        let line = Line { sockets: vec![Arc::clone(&socket)], endpoints, over: over.clone() };
        let (arrivals, arrived) = mpsc::channel(WAITING);
        let (tunnel, task) = begin(kind.settings(), line, Some(arrivals));
        let attended = Attended { tunnel, task, arrived, over, local };
        match attended.until(host, hosts, hours).await {
            End::Over => return Ok(()),
            End::Changed => {}
            End::Broken => return Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

/// A tunnel, and what comes out of it.
struct Attended {
    tunnel: Tunnel,
    task: JoinHandle<()>,
    arrived: mpsc::Receiver<Arrived>,
    over: CancellationToken,
    local: SocketAddr,
}

impl Attended {
    async fn until(self, mut host: Arc<Host>, hosts: &ArcSwap<Host>, hours: &Hours) -> End {
        let Self { tunnel, mut task, mut arrived, over, local } = self;
        loop {
            tokio::select! {
                biased;
                () = hours.over.cancelled() => break,
                () = hours.closing.cancelled() => {
                    // Nobody new; the tunnel itself lasts as long as a flow has it.
                    drop((tunnel, arrived));
                    tokio::select! {
                        () = hours.over.cancelled() => {}
                        _ = &mut task => return End::Over,
                    }
                    break;
                }
                _ = &mut task => return End::Broken,
                () = host.closing.cancelled() => {
                    let next = hosts.load_full();
                    if Arc::ptr_eq(&next, &host) {
                        // None takes its place: its hours end too.
                        hours.closing.cancelled().await;
                        continue;
                    }
                    if !is_alike(&host, &next) {
                        over.cancel();
                        // The next one has the socket to itself.
                        let _ = task.await;
                        return End::Changed;
                    }
                    host = next;
                }
                Some(one) = arrived.recv() => Arc::clone(&host).emerge(one, local),
            }
        }
        let _ = task.await;
        End::Over
    }
}

/// Whether the tunnel of one is that of the other.
fn is_alike(one: &Host, other: &Host) -> bool {
    match (&one.inbound.kind, &other.inbound.kind) {
        (Kind::Wireguard(one), Kind::Wireguard(other)) => one.settings() == other.settings(),
        _ => false,
    }
}
