#![allow(clippy::unwrap_used)]

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::sync::{Notify, mpsc};

use super::*;
use crate::flow::{Blame, BoxFuture, Packets, Stage, recv, send};
use crate::outbound::testing::{House, flow};
use crate::transport::mux::{Begun, Driver, Side, Trunk};

/// A way out whose connections end in a server of sessions.
#[derive(Debug)]
struct Far {
    dialed: AtomicUsize,
    refuses: AtomicBool,
    /// Dials wait for this where it is there.
    gate: Option<Notify>,
    begun: mpsc::UnboundedSender<Begun>,
    beside: Mutex<Vec<Target>>,
    connections: Mutex<Vec<tokio::task::JoinHandle<()>>>,
}

impl Far {
    fn new(gate: Option<Notify>) -> (Arc<Self>, mpsc::UnboundedReceiver<Begun>) {
        let (begun, sessions) = mpsc::unbounded_channel();
        let (dialed, refuses) = (AtomicUsize::new(0), AtomicBool::new(false));
        let far = Self { dialed, refuses, gate, begun, beside: Mutex::default(), connections: Mutex::default() };
        (Arc::new(far), sessions)
    }

    fn dialed(&self) -> usize {
        self.dialed.load(Ordering::Relaxed)
    }

    fn running(&self) -> usize {
        self.connections.lock().unwrap().iter().filter(|task| !task.is_finished()).count()
    }
}

impl Beneath for Far {
    fn stream<'a>(
        &'a self,
        _: &'a dyn Services,
        flow: &'a Flow,
        first: &'a [u8],
    ) -> BoxFuture<'a, Result<BoxStream, DialError>> {
        assert_eq!((flow.destination().to_string().as_str(), first), ("v1.mux.cool:9527", &b""[..]));
        Box::pin(async {
            self.dialed.fetch_add(1, Ordering::Relaxed);
            if let Some(gate) = &self.gate {
                gate.notified().await;
            }
            if self.refuses.load(Ordering::Relaxed) {
                return Err(DialError::target(Stage::Dial, io::ErrorKind::ConnectionRefused));
            }
            let (near, far) = duplex(1 << 14);
            let begun = self.begun.clone();
            let mut driver = Driver::new(Box::new(far), Trunk::new(Side::Server));
            self.connections.lock().unwrap().push(tokio::spawn(async move {
                while let Ok(Some(one)) = driver.next().await {
                    if begun.send(one).is_err() {
                        return;
                    }
                }
            }));
            Ok(Box::new(near) as BoxStream)
        })
    }

    fn packets<'a>(&'a self, _: &'a Arc<dyn Services>, flow: &'a Flow) -> BoxFuture<'a, Result<BoxPackets, DialError>> {
        self.beside.lock().unwrap().push(flow.destination().clone());
        Box::pin(async { Ok(Box::new(Silent) as BoxPackets) })
    }

    fn takes(&self, network: Network) -> bool {
        network == Network::Tcp
    }

    fn waits(&self) -> bool {
        true
    }
}

struct Silent;

impl Packets for Silent {
    fn poll_recv(&mut self, _: &mut std::task::Context<'_>, _: &mut BytesMut) -> std::task::Poll<io::Result<Target>> {
        std::task::Poll::Pending
    }

    fn poll_send(&mut self, _: &mut std::task::Context<'_>, _: &[u8], _: &Target) -> std::task::Poll<io::Result<()>> {
        std::task::Poll::Ready(Ok(()))
    }
}

const SHARING: Sharing = Sharing { streams: Some(2), datagrams: Datagrams::Shared, port_443: Port443::Reject };

async fn accept(sessions: &mut mpsc::UnboundedReceiver<Begun>) -> (SessionStream, String) {
    let Begun { seat, target, .. } = sessions.recv().await.unwrap();
    (SessionStream::accepted(seat), target.to_string())
}

#[tokio::test]
async fn flows_share_connections_as_far_as_those_have_room() {
    let (far, mut sessions) = Far::new(None);
    let mux = Mux::new(far.clone(), SHARING);
    let house = House::default();
    let mut open = vec![];
    for n in 0..3 {
        let flow = flow(&format!("{n}.example:80"));
        let mut near = mux.connect(&house, &flow, b"first").await.unwrap();
        assert!(flow.meter.is_given());
        let (mut far, target) = accept(&mut sessions).await;
        assert_eq!(target, format!("{n}.example:80"));
        let mut room = [0; 5];
        far.read_exact(&mut room).await.unwrap();
        far.write_all(b"reply").await.unwrap();
        near.read_exact(&mut room).await.unwrap();
        assert_eq!(&room, b"reply");
        open.push((near, far));
    }
    assert_eq!(far.dialed(), 2);
    open.remove(0);
    let _more = mux.connect(&house, &flow("a.example:80"), b"x").await.unwrap();
    assert_eq!(far.dialed(), 2);
    assert!(!mux.waits_for_target() && mux.carries(Network::Udp));
}

#[tokio::test]
async fn a_connection_that_dies_takes_its_own_sessions_along() {
    let (far, mut sessions) = Far::new(None);
    let mux = Mux::new(far.clone(), Sharing { streams: Some(1), ..SHARING });
    let house = House::default();
    let mut first = mux.connect(&house, &flow("a.example:80"), b"x").await.unwrap();
    let _a = accept(&mut sessions).await;
    let mut second = mux.connect(&house, &flow("b.example:80"), b"x").await.unwrap();
    let (mut b, _) = accept(&mut sessions).await;
    far.connections.lock().unwrap()[0].abort();
    assert!(first.read_u8().await.is_err());
    b.write_all(b"on").await.unwrap();
    second.read_exact(&mut [0; 2]).await.unwrap();
    let _third = mux.connect(&house, &flow("c.example:80"), b"x").await.unwrap();
    assert_eq!(accept(&mut sessions).await.1, "c.example:80");
    assert_eq!(far.dialed(), 3);
}

#[tokio::test(start_paused = true)]
async fn who_comes_meanwhile_waits_with_the_first_and_goes_on_without_it() {
    let (far, mut sessions) = Far::new(Some(Notify::new()));
    let mux = Mux::new(far.clone(), SHARING);
    let (house, a, b) = (House::default(), flow("a.example:80"), flow("b.example:80"));
    let mut first = Box::pin(mux.connect(&house, &a, b"x"));
    assert!(tokio::time::timeout(Duration::from_secs(1), &mut first).await.is_err());
    let mut second = Box::pin(mux.connect(&house, &b, b"x"));
    assert!(tokio::time::timeout(Duration::from_secs(1), &mut second).await.is_err());
    assert_eq!(far.dialed(), 1);
    drop(first);
    assert!(tokio::time::timeout(Duration::from_secs(1), &mut second).await.is_err());
    assert_eq!(far.dialed(), 2);
    far.gate.as_ref().unwrap().notify_one();
    let _second = second.await.unwrap();
    assert_eq!(accept(&mut sessions).await.1, "b.example:80");
}

#[tokio::test]
async fn a_dial_that_fails_is_the_servers_fault_and_the_next_flow_tries_again() {
    let (far, _sessions) = Far::new(None);
    let mux = Mux::new(far.clone(), SHARING);
    far.refuses.store(true, Ordering::Relaxed);
    let asking = flow("a.example:80");
    let error = mux.connect(&House::default(), &asking, b"x").await.err().unwrap();
    assert_eq!((error.stage, error.blame), (Stage::Dial, Blame::Server));
    assert!(!asking.meter.is_given());
    far.refuses.store(false, Ordering::Relaxed);
    assert!(mux.connect(&House::default(), &asking, b"x").await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_sessions_is_closed() {
    let (far, mut sessions) = Far::new(None);
    let mux = Mux::new(far.clone(), SHARING);
    let near = mux.connect(&House::default(), &flow("a.example:80"), b"x").await.unwrap();
    let (session, _) = accept(&mut sessions).await;
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert_eq!(far.running(), 1);
    drop((near, session));
    tokio::time::sleep(Duration::from_secs(33)).await;
    assert_eq!(far.running(), 0);
    let _again = mux.connect(&House::default(), &flow("a.example:80"), b"x").await.unwrap();
    assert_eq!((far.dialed(), far.running()), (2, 1));
}

#[tokio::test]
async fn datagrams_go_inside_and_port_443_goes_where_it_is_told() {
    let house: Arc<dyn Services> = Arc::new(House::default());
    let (dns, quic): (Target, Target) = ("10.0.0.1:53".parse().unwrap(), "10.0.0.2:443".parse().unwrap());
    for (port_443, inside, beside) in [(Port443::Reject, 0, 0), (Port443::Allow, 1, 0), (Port443::Skip, 0, 1)] {
        let (far, mut sessions) = Far::new(None);
        let mux = Mux::new(far.clone(), Sharing { port_443, datagrams: Datagrams::Own(4), ..SHARING });
        let mut near = mux.associate(&house, &flow("10.0.0.1:53")).await.unwrap();
        send(&mut near, b"ask", &dns).await.unwrap();
        let Begun { seat, network, target, .. } = sessions.recv().await.unwrap();
        assert_eq!((network, &target), (Network::Udp, &dns));
        let mut session = SessionPackets::accepted(seat, target);
        assert_eq!(recv(&mut session, &mut BytesMut::new()).await.unwrap(), dns);
        // Anybody may answer; and the server has shown that it heeds addresses.
        let third: Target = "10.9.9.9:9".parse().unwrap();
        send(&mut session, b"told", &third).await.unwrap();
        assert_eq!(recv(&mut near, &mut BytesMut::new()).await.unwrap(), third);
        for to in [&quic, &dns] {
            send(&mut near, b"more", to).await.unwrap();
        }
        for to in std::iter::repeat_n(&quic, inside).chain([&dns]) {
            assert_eq!(recv(&mut session, &mut BytesMut::new()).await.unwrap(), *to);
        }
        assert_eq!(*far.beside.lock().unwrap(), vec![quic.clone(); beside]);
        let refused = mux.associate(&house, &flow("10.0.0.2:443")).await.is_err();
        assert_eq!(refused, port_443 == Port443::Reject);
    }
}

#[tokio::test]
async fn each_target_has_a_session_until_the_server_has_named_an_address() {
    let house: Arc<dyn Services> = Arc::new(House::default());
    let (far, mut sessions) = Far::new(None);
    let mux = Mux::new(far, SHARING);
    let mut near = mux.associate(&house, &flow("10.0.0.1:1")).await.unwrap();
    for to in ["10.0.0.1:1", "10.0.0.2:1"] {
        send(&mut near, b"ask", &to.parse().unwrap()).await.unwrap();
        assert_eq!(sessions.recv().await.unwrap().target.to_string(), to);
    }
}

#[tokio::test]
async fn what_keeps_out_of_the_mux_leaves_beneath() {
    let (far, _sessions) = Far::new(None);
    let sharing = Sharing { streams: None, datagrams: Datagrams::Beside, port_443: Port443::Allow };
    let mux = Mux::new(far.clone(), sharing);
    let house: Arc<dyn Services> = Arc::new(House::default());
    let _packets = mux.associate(&house, &flow("10.0.0.1:443")).await.unwrap();
    assert_eq!(far.beside.lock().unwrap().len(), 1);
    assert!(mux.waits_for_target() && mux.carries(Network::Tcp) && !mux.carries(Network::Udp));
}
