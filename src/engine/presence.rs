//! A running flow in the members it leaves by: it is counted there, and tells what it shows of them.

use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::addr::{DomainName, Network, Target};
use crate::balance::{Evidence, InUse};
use crate::flow::{BoxPackets, BoxStream, Half, Meter, Packets, Stream};

/// One flow in all balancers it went through, the innermost first. Counted until dropped.
#[derive(Debug)]
pub(super) struct Presence {
    of: Box<[InUse]>,
    network: Network,
    answered: bool,
}

/// How long bytes must have gone unanswered for a flow's end to speak against its member.
const SILENCE: Duration = Duration::from_secs(5);

/// What a flow must have received for its speed to say anything.
const BULK: u64 = 1_000_000;

impl Presence {
    /// None where no balancer chose.
    pub(super) fn new(of: Vec<InUse>, network: Network) -> Option<Self> {
        (!of.is_empty()).then(|| Self { of: of.into(), network, answered: false })
    }

    /// Tells of the first answer, once. To be asked whenever something may have moved; it costs one load.
    pub(super) fn look(&mut self, meter: &Meter) {
        if self.answered || meter.down() == 0 {
            return;
        }
        self.answered = true;
        if let Some(time) = meter.answered() {
            self.saw(Evidence::Answered(time));
        }
    }

    /// Tells what the whole flow showed. `idle` says that it ended since nothing moved.
    pub(super) fn end(self, meter: &Meter, idle: bool) {
        if meter.unanswered(Instant::now()).is_some_and(|time| idle || time >= SILENCE) {
            self.saw(Evidence::Silent);
        }
        if meter.down() >= BULK
            && let Some(time) = meter.receiving()
        {
            self.saw(Evidence::Received { bytes: meter.down(), time });
        }
    }

    fn saw(&self, what: Evidence) {
        self.of.iter().for_each(|member| member.saw(self.network, what));
    }
}

/// A stream or an association that holds its flow's presence, for those who only want the stream.
pub(super) struct Attended<T> {
    inner: T,
    presence: Option<Presence>,
    meter: Arc<Meter>,
}

impl<T> Attended<T> {
    pub(super) fn new(inner: T, presence: Presence, meter: &Arc<Meter>) -> Self {
        Self { inner, presence: Some(presence), meter: Arc::clone(meter) }
    }

    fn look(&mut self) {
        if let Some(presence) = &mut self.presence {
            presence.look(&self.meter);
        }
    }
}

impl<T> Drop for Attended<T> {
    fn drop(&mut self) {
        if let Some(presence) = self.presence.take() {
            presence.end(&self.meter, false);
        }
    }
}

impl AsyncRead for Attended<BoxStream> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        // The relay has counted by now what the last turn gave it.
        self.look();
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl AsyncWrite for Attended<BoxStream> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

impl Stream for Attended<BoxStream> {
    fn raw(&self, half: Half) -> Option<&TcpStream> {
        self.inner.raw(half)
    }

    fn may_go_plain(&self) -> bool {
        self.inner.may_go_plain()
    }

    fn go_plain(&mut self, half: Half) -> bool {
        self.inner.go_plain(half)
    }
}

impl Packets for Attended<BoxPackets> {
    fn poll_recv(&mut self, cx: &mut Context<'_>, buf: &mut BytesMut) -> Poll<io::Result<Target>> {
        self.look();
        self.inner.poll_recv(cx, buf)
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, payload: &[u8], peer: &Target) -> Poll<io::Result<()>> {
        self.inner.poll_send(cx, payload, peer)
    }

    fn address_of(&self, name: &DomainName) -> Option<IpAddr> {
        self.inner.address_of(name)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Mutex;

    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;
    use crate::addr::OutboundId;
    use crate::balance::{Balancer, Ear, Exit, Member, Seen, Strategy};

    /// A balancer of one member, and what it heard of it.
    fn group() -> (Arc<Balancer>, Arc<Mutex<Vec<Seen>>>) {
        let member = Member { tag: "m".into(), hop: OutboundId(0).into(), udp: true, weight: 1 };
        let balancer = Arc::new(Balancer::new("b".into(), vec![member], Strategy::Random, Exit::None));
        let heard = Arc::<Mutex<Vec<Seen>>>::default();
        let hears = Arc::clone(&heard);
        balancer.listen(Ear::new(move |seen| hears.lock().unwrap().push(seen)));
        (balancer, heard)
    }

    fn presence(of: &Arc<Balancer>) -> Presence {
        Presence::new(vec![of.enter(0)], Network::Tcp).unwrap()
    }

    #[tokio::test]
    async fn the_first_answer_is_told_once_and_a_large_flow_tells_its_speed() {
        let (balancer, heard) = group();
        let (mut presence, meter, begun) = (presence(&balancer), Meter::default(), Instant::now());
        let at = |millis| begun + Duration::from_millis(millis);
        meter.moved(1, 0, at(100));
        presence.look(&meter);
        meter.moved(0, 1, at(130));
        presence.look(&meter);
        meter.moved(0, BULK, at(1130));
        presence.look(&meter);
        presence.end(&meter, false);
        let what: Vec<_> = heard.lock().unwrap().iter().map(|seen| seen.what).collect();
        let millis = Duration::from_millis;
        let received = Evidence::Received { bytes: BULK + 1, time: millis(1000) };
        assert_eq!(what, [Evidence::Answered(millis(30)), received]);
    }

    #[tokio::test(start_paused = true)]
    async fn silence_speaks_against_a_member_after_five_seconds_or_an_idle_end() {
        for (sent, wait, idle, silent) in
            [(1, 6, false, true), (1, 4, false, false), (1, 2, true, true), (0, 60, true, false)]
        {
            let (balancer, heard) = group();
            let meter = Meter::default();
            meter.moved(sent, 0, Instant::now());
            tokio::time::sleep(Duration::from_secs(wait)).await;
            presence(&balancer).end(&meter, idle);
            assert_eq!(heard.lock().unwrap().len(), usize::from(silent), "{sent} {wait} {idle}");
        }
        // A small flow that was answered shows nothing more at its end.
        let (balancer, heard) = group();
        let meter = Meter::default();
        meter.moved(1, 1, Instant::now());
        tokio::time::sleep(Duration::from_secs(60)).await;
        presence(&balancer).end(&meter, true);
        assert!(heard.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn whoever_only_wants_the_stream_holds_the_presence_with_it() {
        let (balancer, heard) = group();
        let (mut far, near) = duplex(64);
        let meter = Arc::new(Meter::default());
        let mut near = Attended::new(Box::new(near) as BoxStream, presence(&balancer), &meter);
        near.write_all(b"ask").await.unwrap();
        far.write_all(b"answer").await.unwrap();
        let mut got = [0; 6];
        near.read_exact(&mut got).await.unwrap();
        meter.moved(3, 6, Instant::now());
        drop(far);
        assert_eq!((near.read(&mut got).await.unwrap(), balancer.counted(0)), (0, (1, 1)));
        assert!(matches!(heard.lock().unwrap()[0].what, Evidence::Answered(_)));
        drop(near);
        assert_eq!(balancer.counted(0), (1, 0));
    }
}
