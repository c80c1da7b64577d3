//! The server of mux.cool: one connection whose sessions are flows of their own.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;

use super::roaming::{Owner, Roaming};
use crate::addr::{Network, Target};
use crate::flow::{BoxPackets, BoxStream, Flow, Meter, Sink};
use crate::transport::mux::{Begun, Driver, SessionPackets, SessionStream, Side, Trunk};

/// How often a connection without sessions is looked for; one that had none between two looks is closed (Xray's time).
const LOOK: Duration = Duration::from_secs(60);

/// One connection to be served.
pub(super) struct Server<'a> {
    /// Where sessions go.
    pub(super) sink: &'a Arc<dyn Sink>,
    /// Once it falls, no session begins.
    pub(super) closing: &'a CancellationToken,
    /// Associations that outlive their connections.
    pub(super) roaming: &'a Roaming,
    /// Streams are a fault, as where Vision wraps the connection.
    pub(super) datagrams_only: bool,
}

impl Server<'_> {
    /// Serves the sessions of a connection until it ends. `flow` is what they have in common.
    ///
    /// # Errors
    /// When the peer writes what is no frame, or what it must not ask for.
    pub(super) async fn run(&self, flow: &Flow, io: BoxStream) -> io::Result<()> {
        let trunk = Trunk::new(Side::Server);
        let mut driver = Driver::new(io, trunk.clone());
        let mut look = interval_at(Instant::now() + LOOK, LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut last = None;
        loop {
            tokio::select! {
                begun = driver.next() => match begun? {
                    Some(begun) => self.begin(flow, begun)?,
                    None => return Ok(()),
                },
                () = self.closing.cancelled(), if !trunk.is_closed() => trunk.close(),
                _ = look.tick() => {
                    if trunk.close_idle(last) {
                        driver.close().await;
                        return Ok(());
                    }
                    last = trunk.sessions().1;
                }
            }
        }
    }

    fn begin(&self, flow: &Flow, begun: Begun) -> io::Result<()> {
        let Begun { seat, network, target, global } = begun;
        if network == Network::Udp {
            let flow = of(flow, network, target.clone());
            let packets: BoxPackets = Box::new(SessionPackets::accepted(seat, target));
            let packets = match global {
                Some(global) => self.roaming.admit(Owner::of(&flow), global, packets),
                None => Some(packets),
            };
            if let Some(packets) = packets {
                tokio::spawn(self.sink.packets(flow, packets));
            }
        } else if self.datagrams_only {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "a stream where only datagrams are allowed"));
        } else {
            tokio::spawn(self.sink.stream(of(flow, network, target), Box::new(SessionStream::accepted(seat))));
        }
        Ok(())
    }
}

/// The flow of a session: whose it is, and bytes counted for itself.
fn of(flow: &Flow, network: Network, target: Target) -> Flow {
    Flow { network, target, meter: Arc::<Meter>::default(), ..flow.clone() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use bytes::BytesMut;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio::task::JoinHandle;

    use super::*;
    use crate::flow::{recv, send};
    use crate::inbound::testing::{Flows, common, sink, visitor};
    use crate::proto::mux::{write_end, write_keep, write_new};

    fn target(text: &str) -> Target {
        text.parse().unwrap()
    }

    struct Running {
        far: DuplexStream,
        flows: Flows,
        closing: CancellationToken,
        task: JoinHandle<io::Result<()>>,
    }

    fn start(datagrams_only: bool) -> Running {
        let (near, far) = duplex(64 * 1024);
        let (sink, flows) = sink();
        let closing = CancellationToken::new();
        let flow = visitor().flow(&common(), Network::Tcp, target("v1.mux.cool:9527"), Some("u".into()));
        let until = closing.clone();
        let task = tokio::spawn(async move {
            let roaming = Roaming::default();
            let server = Server { sink: &sink, closing: &until, roaming: &roaming, datagrams_only };
            server.run(&flow, Box::new(near)).await
        });
        Running { far, flows, closing, task }
    }

    fn new(id: u16, network: Network, to: &str, data: &[u8]) -> BytesMut {
        let mut out = BytesMut::new();
        write_new(id, network, &target(to), None, Some(data), &mut out);
        out
    }

    async fn said(far: &mut DuplexStream, write: impl FnOnce(&mut BytesMut)) {
        let mut expected = BytesMut::new();
        write(&mut expected);
        let mut got = vec![0; expected.len()];
        far.read_exact(&mut got).await.unwrap();
        assert_eq!(got, expected);
    }

    #[tokio::test]
    async fn streams_and_associations_share_a_connection() {
        let mut running = start(false);
        let far = &mut running.far;
        far.write_all(&new(1, Network::Tcp, "a.example:80", b"ask")).await.unwrap();
        far.write_all(&new(2, Network::Udp, "10.0.0.1:53", b"one")).await.unwrap();
        let (flow, mut io, _held) = running.flows.stream().await;
        assert_eq!(
            (flow.network, flow.target, flow.user.as_deref()),
            (Network::Tcp, target("a.example:80"), Some("u"))
        );
        let mut asked = [0; 3];
        io.read_exact(&mut asked).await.unwrap();
        assert_eq!(&asked, b"ask");
        io.write_all(b"answer").await.unwrap();
        said(far, |out| write_keep(1, None, b"answer", out)).await;

        let (flow, mut packets, _held) = running.flows.packets().await;
        assert_eq!((flow.network, &flow.target), (Network::Udp, &target("10.0.0.1:53")));
        let mut more = BytesMut::new();
        write_keep(2, Some(&target("10.0.0.2:53")), b"two", &mut more);
        write_keep(2, None, b"three", &mut more);
        far.write_all(&more).await.unwrap();
        for (text, to) in [(&b"one"[..], "10.0.0.1:53"), (b"two", "10.0.0.2:53"), (b"three", "10.0.0.1:53")] {
            let mut buf = BytesMut::new();
            assert_eq!(recv(&mut packets, &mut buf).await.unwrap(), target(to));
            assert_eq!(buf, text);
        }
        // Anybody may answer.
        send(&mut packets, b"back", &target("10.9.9.9:9")).await.unwrap();
        said(far, |out| write_keep(2, Some(&target("10.9.9.9:9")), b"back", out)).await;

        // Each session ends once, whoever ends it.
        io.shutdown().await.unwrap();
        drop(io);
        said(far, |out| write_end(1, false, out)).await;
        let mut end = BytesMut::new();
        write_end(2, false, &mut end);
        far.write_all(&end).await.unwrap();
        let gone = recv(&mut packets, &mut BytesMut::new()).await.unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::UnexpectedEof);
        drop(packets);
        // A session that nobody began is answered; those that were are not, though frames come late.
        let mut late = BytesMut::new();
        write_keep(1, None, b"late", &mut late);
        write_keep(9, None, b"never", &mut late);
        far.write_all(&late).await.unwrap();
        said(far, |out| write_end(9, true, out)).await;
        running.far.shutdown().await.unwrap();
        running.task.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_flow_that_fails_ends_its_session_alone() {
        let mut running = start(false);
        running.far.write_all(&new(1, Network::Tcp, "a.example:80", b"")).await.unwrap();
        running.far.write_all(&new(2, Network::Tcp, "b.example:80", b"x")).await.unwrap();
        let (_, io, _held) = running.flows.stream().await;
        drop(io);
        said(&mut running.far, |out| write_end(1, true, out)).await;
        let (_, mut io, _held) = running.flows.stream().await;
        assert_eq!(io.read_u8().await.unwrap(), b'x');
        // The end of the connection is that of all its sessions.
        running.far.shutdown().await.unwrap();
        assert!(io.read_u8().await.is_err());
    }

    #[tokio::test]
    async fn a_stream_breaks_a_connection_for_datagrams() {
        let mut running = start(true);
        running.far.write_all(&new(0, Network::Udp, "10.0.0.1:53", b"x")).await.unwrap();
        let (_, mut packets, _held) = running.flows.packets().await;
        assert!(recv(&mut packets, &mut BytesMut::new()).await.is_ok());
        running.far.write_all(&new(1, Network::Tcp, "a.example:80", b"x")).await.unwrap();
        assert_eq!(running.task.await.unwrap().unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert!(running.flows.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_without_sessions_is_closed_after_a_minute_or_two() {
        let mut running = start(false);
        let begun = Instant::now();
        running.far.write_all(&new(1, Network::Tcp, "a.example:80", b"x")).await.unwrap();
        let (_, io, _held) = running.flows.stream().await;
        tokio::time::advance(Duration::from_secs(600)).await;
        assert!(!running.task.is_finished());
        drop(io);
        running.task.await.unwrap().unwrap();
        let quiet = begun.elapsed().as_secs() - 600;
        assert!((60..=120).contains(&quiet), "{quiet} seconds");
    }

    #[tokio::test]
    async fn once_the_inbound_closes_no_session_begins() {
        let mut running = start(false);
        running.far.write_all(&new(1, Network::Tcp, "a.example:80", b"x")).await.unwrap();
        let (_, mut io, _held) = running.flows.stream().await;
        running.closing.cancel();
        tokio::task::yield_now().await;
        running.far.write_all(&new(2, Network::Tcp, "b.example:80", b"x")).await.unwrap();
        said(&mut running.far, |out| write_end(2, true, out)).await;
        io.write_all(b"on").await.unwrap();
        said(&mut running.far, |out| write_keep(1, None, b"on", out)).await;
    }

    #[tokio::test]
    async fn what_is_no_frame_ends_the_connection() {
        let mut running = start(false);
        running.far.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        assert_eq!(running.task.await.unwrap().unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
