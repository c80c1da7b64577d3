//! The task that runs a tunnel.

use std::future::poll_fn;
use std::io::{self, IoSliceMut};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use quinn::udp::RecvMeta;
use quinn::{AsyncUdpSocket, UdpPoller};
use smoltcp::time::Instant;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;

use super::ask::Ask;
use super::core::Core;
use super::ends::Ends;
use super::outbox::Place;

/// How often WireGuard's timers are looked at.
const BEAT: Duration = Duration::from_millis(200);

/// Buffers that are filled by one call.
const BATCH: usize = 8;

/// Looks and datagrams taken before the sockets have their turn.
const TURN: usize = 256;

/// Buffers for what comes.
struct Inbox {
    bytes: Vec<u8>,
    each: usize,
    meta: [RecvMeta; BATCH],
}

impl Inbox {
    fn new(sockets: &[Arc<dyn AsyncUdpSocket>]) -> Self {
        // Where the kernel joins messages, it gives up to 64 KiB of them at once.
        let joined = sockets.iter().any(|socket| socket.max_receive_segments() > 1);
        let each = if joined { 65_536 } else { 2_048 };
        Self { bytes: vec![0; each * BATCH], each, meta: [RecvMeta::default(); BATCH] }
    }

    /// Receives by the first socket that has something: which one, and how many buffers were filled.
    fn poll(&mut self, cx: &mut Context<'_>, sockets: &[Arc<dyn AsyncUdpSocket>]) -> Poll<io::Result<(usize, usize)>> {
        let mut bufs = self.bytes.chunks_exact_mut(self.each).map(IoSliceMut::new);
        let mut bufs: [IoSliceMut<'_>; BATCH] =
            std::array::from_fn(|_| bufs.next().unwrap_or_else(|| IoSliceMut::new(&mut [])));
        for (number, socket) in sockets.iter().enumerate() {
            if let Poll::Ready(count) = socket.poll_recv(cx, &mut bufs, &mut self.meta) {
                return Poll::Ready(count.map(|count| (number, count)));
            }
        }
        Poll::Pending
    }

    fn take(&mut self, core: &mut Core, socket: usize, count: usize, now: Instant) {
        for (buf, meta) in self.bytes.chunks_exact_mut(self.each).zip(&self.meta).take(count) {
            let place = Place { socket, at: meta.addr };
            let Some(filled) = buf.get_mut(..meta.len) else { continue };
            filled.chunks_mut(meta.stride.max(1)).for_each(|message| core.take(place, message, now));
        }
    }
}

/// What a tunnel is asked for, and what it is given.
pub(super) struct Queues {
    pub(super) asked: mpsc::UnboundedReceiver<Ask>,
    pub(super) looked: mpsc::UnboundedReceiver<Ends>,
    pub(super) leaving: mpsc::Receiver<(Ends, Bytes)>,
}

/// Runs until nobody has the tunnel any more, or a socket breaks.
pub(super) async fn run(
    mut core: Core,
    sockets: Vec<Arc<dyn AsyncUdpSocket>>,
    over: CancellationToken,
    mut queues: Queues,
) {
    let mut inbox = Inbox::new(&sockets);
    let mut pollers: Vec<Option<Pin<Box<dyn UdpPoller>>>> = sockets.iter().map(|_| None).collect();
    let mut beat = interval(BEAT);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    core.greet();
    loop {
        let due = core.next().map(|next| Duration::from(next - Instant::now().min(next)));
        tokio::select! {
            came = poll_fn(|cx| inbox.poll(cx, &sockets)) => match came {
                Ok((socket, count)) => inbox.take(&mut core, socket, count, Instant::now()),
                Err(error) => {
                    tracing::debug!(%error, "a tunnel's socket broke");
                    return core.over();
                }
            },
            looked = queues.looked.recv() => {
                let Some(ends) = looked else { return };
                let now = Instant::now();
                core.look(ends, now);
                for _ in 0..TURN {
                    let Ok(ends) = queues.looked.try_recv() else { break };
                    core.look(ends, now);
                }
            }
            Some(ask) = queues.asked.recv() => core.ask(ask, Instant::now()),
            Some((ends, payload)) = queues.leaving.recv() => {
                core.datagram(ends, &payload);
                for _ in 0..TURN {
                    let Ok((ends, payload)) = queues.leaving.try_recv() else { break };
                    core.datagram(ends, &payload);
                }
            }
            () = sleep(due.unwrap_or(Duration::MAX)), if due.is_some() => core.pass(Instant::now()),
            _ = beat.tick() => core.tick(),
            () = over.cancelled() => return core.over(),
        }
        while let Some(full) = core.out.flush(&sockets) {
            let (Some(poller), Some(socket)) = (pollers.get_mut(full), sockets.get(full)) else { return };
            let poller = poller.get_or_insert_with(|| Arc::clone(socket).create_io_poller());
            if poll_fn(|cx| poller.as_mut().poll_writable(cx)).await.is_err() {
                return core.over();
            }
        }
    }
}
