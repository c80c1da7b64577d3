use std::net::{IpAddr, SocketAddr};
use std::task::{Context, Waker};

use bytes::BytesMut;
use hickory_proto::op::{Message, Query};
use hickory_proto::rr::{Name, RecordType};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UdpSocket};
use tokio::sync::Notify;
use tokio::time::timeout;

use super::super::freedom::Redirect;
use super::*;
use crate::addr::{DomainName, Target};
use crate::flow::{BoxFuture, Told, Via, Wanted, recv, send};
use crate::geo::Lists;
use crate::model::protocol::{DnsOut, NonIpQuery};

/// Knows `kept.example` at once, `gone.example` does not exist, and everything else is there once it was told so.
#[derive(Clone, Default)]
struct House {
    question: bool,
    gate: Arc<Notify>,
}

impl Services for House {
    fn resolve<'a>(&'a self, _: &'a DomainName) -> BoxFuture<'a, Result<Arc<[IpAddr]>, DialError>> {
        Box::pin(async { Err(DialError::us(Stage::Resolve, io::ErrorKind::Unsupported)) })
    }

    fn tell<'a>(&'a self, name: &'a DomainName, wanted: Wanted) -> BoxFuture<'a, Told> {
        Box::pin(async move {
            let ip: IpAddr = if wanted == Wanted::V4 { [10, 0, 0, 1].into() } else { "2001:db8::1".parse().unwrap() };
            match name.as_str() {
                "kept.example" => {}
                "gone.example" => return Told { ips: Arc::default(), ttl: 0, code: 3 },
                "many.example" => return Told { ips: vec![ip; 200].into(), ttl: 60, code: 0 },
                _ => self.gate.notified().await,
            }
            Told { ips: [ip].into(), ttl: 60, code: 0 }
        })
    }

    fn is_question(&self) -> bool {
        self.question
    }

    fn lasting(&self) -> Option<Arc<dyn Services>> {
        Some(Arc::new(self.clone()))
    }

    fn dial<'a>(&'a self, _: Via, _: &'a Flow, _: &'a [u8]) -> BoxFuture<'a, Result<BoxStream, DialError>> {
        Box::pin(async { Err(DialError::us(Stage::Policy, io::ErrorKind::Unsupported)) })
    }

    fn associate<'a>(&'a self, _: Via, _: &'a Flow) -> BoxFuture<'a, Result<BoxPackets, DialError>> {
        Box::pin(async { Err(DialError::us(Stage::Policy, io::ErrorKind::Unsupported)) })
    }
}

fn hijack(mode: NonIpQuery, network: Option<Network>, server: SocketAddr) -> Hijack {
    let written = DnsOut { non_ip_query: Some(mode), ..DnsOut::default() };
    let redirect = Redirect { host: Some(crate::addr::Host::Ip(server.ip())), port: Some(server.port()) };
    Hijack {
        handling: Arc::new(Handling::compile(&written, &Lists::default()).unwrap()),
        direct: Arc::new(Freedom { redirect, ..Freedom::default() }),
        network,
        idle: None,
    }
}

fn flow(network: Network) -> Flow {
    let any = ([127, 0, 0, 1], 1).into();
    Flow::new("in".into(), network, any, any, target())
}

fn target() -> Target {
    "192.0.2.53:53".parse().unwrap()
}

fn nobody() -> SocketAddr {
    ([127, 0, 0, 1], 1).into()
}

fn asked(id: u16, name: &str, kind: RecordType) -> Vec<u8> {
    let mut message = Message::query();
    message.metadata.id = id;
    message.add_query(Query::query(Name::from_ascii(name).unwrap(), kind));
    message.to_vec().unwrap()
}

fn framed(message: &[u8]) -> Vec<u8> {
    [&u16::try_from(message.len()).unwrap().to_be_bytes()[..], message].concat()
}

/// The id, the code, how many addresses, and whether it was cut.
fn told(bytes: &[u8]) -> (u16, u16, usize, bool) {
    let message = Message::from_vec(bytes).unwrap();
    let code = message.metadata.response_code.into();
    (message.metadata.id, code, message.answers.len(), message.metadata.truncation)
}

async fn next(stream: &mut BoxStream) -> (u16, u16, usize, bool) {
    let mut message = vec![0; usize::from(stream.read_u16().await.unwrap())];
    stream.read_exact(&mut message).await.unwrap();
    told(&message)
}

#[tokio::test]
async fn questions_in_a_row_are_answered_as_answers_come() {
    let house = House::default();
    let hijack = hijack(NonIpQuery::Reject, None, nobody());
    let all = [
        asked(1, "slow.example.", RecordType::A),
        asked(2, "kept.example.", RecordType::AAAA),
        asked(3, "kept.example.", RecordType::TXT),
        asked(4, "gone.example.", RecordType::A),
        asked(5, "many.example.", RecordType::A),
    ];
    let all: Vec<u8> = all.iter().flat_map(|message| framed(message)).collect();
    // However the bytes are cut, the answers are the same; what is known needs nobody to wait.
    for cut in [0, 1, 2, 3, 14, 60, all.len()] {
        let mut stream = hijack.connect(&house, &flow(Network::Tcp), &all[..cut]).unwrap();
        stream.write_all(&all[cut..]).await.unwrap();
        let mut said = vec![];
        for _ in 0..4 {
            said.push(next(&mut stream).await);
        }
        assert_eq!(said, [(2, 0, 1, false), (3, 5, 0, false), (4, 3, 0, false), (5, 0, 200, false)], "{cut}");
        stream.shutdown().await.unwrap();
        let mut rest = vec![];
        assert!(timeout(Duration::from_millis(20), stream.read_buf(&mut rest)).await.is_err(), "one is still open");
        house.gate.notify_one();
        assert_eq!(next(&mut stream).await, (1, 0, 1, false));
        assert_eq!(stream.read_to_end(&mut rest).await.unwrap(), 0);
    }
}

#[tokio::test]
async fn what_is_no_question_ends_its_flow_alone() {
    let hijack = hijack(NonIpQuery::Reject, None, nobody());
    let mut answer = asked(1, "kept.example.", RecordType::A);
    answer[2] |= 0x80;
    for strange in
        [framed(b""), framed(b"\x16\x03\x81\x02\0\x01\0\x01\xfc\x03\x03\0"), framed(&answer), vec![0, 3, 1, 2, 3]]
    {
        let mut stream = hijack.connect(&House::default(), &flow(Network::Tcp), b"").unwrap();
        stream.write_all(&framed(&asked(9, "kept.example.", RecordType::A))).await.unwrap();
        assert_eq!(next(&mut stream).await, (9, 0, 1, false));
        stream.write_all(&strange).await.unwrap();
        let mut rest = vec![];
        assert_eq!(stream.read_to_end(&mut rest).await.unwrap(), 0, "{strange:?}");
        assert!(stream.write_all(b"more").await.is_err());
    }
    // Datagrams vanish one by one.
    let house: Arc<dyn Services> = Arc::new(House::default());
    let mut packets = hijack.associate(&house, &flow(Network::Udp)).unwrap();
    for strange in [&b""[..], b"GET / HTTP/", &answer] {
        send(&mut packets, strange, &target()).await.unwrap();
    }
    send(&mut packets, &asked(9, "kept.example.", RecordType::A), &target()).await.unwrap();
    let mut buf = BytesMut::new();
    assert_eq!(recv(&mut packets, &mut buf).await.unwrap(), target());
    assert_eq!(told(&buf), (9, 0, 1, false));
}

#[tokio::test]
async fn open_questions_are_bounded() {
    let house = House::default();
    let hijack = hijack(NonIpQuery::Reject, None, nobody());
    let slow = framed(&asked(1, "slow.example.", RecordType::A));
    let mut stream = hijack.connect(&house, &flow(Network::Tcp), b"").unwrap();
    let many = slow.repeat(100_000);
    let stuck = timeout(Duration::from_millis(100), stream.write_all(&many)).await;
    assert!(stuck.is_err(), "who asks faster than is answered must wait");
    let (mut reader, mut writer) = tokio::io::split(hijack.connect(&house, &flow(Network::Tcp), b"").unwrap());
    let writing = tokio::spawn(async move {
        writer.write_all(&slow.repeat(3000)).await.unwrap();
    });
    let answers = async {
        let mut read = 0;
        while read < 3000 {
            house.gate.notify_waiters();
            let mut len = [0; 2];
            let got = timeout(Duration::from_millis(5), reader.read_exact(&mut len)).await;
            if got.is_ok() {
                let mut message = vec![0; usize::from(u16::from_be_bytes(len))];
                reader.read_exact(&mut message).await.unwrap();
                read += 1;
            }
        }
    };
    timeout(Duration::from_secs(20), answers).await.expect("it goes on as answers come");
    writing.await.unwrap();
    let shared: Arc<dyn Services> = Arc::new(house.clone());
    let mut packets = hijack.associate(&shared, &flow(Network::Udp)).unwrap();
    for id in 0..1000 {
        send(&mut packets, &asked(id, "slow.example.", RecordType::A), &target()).await.unwrap();
    }
    let mut cx = Context::from_waker(Waker::noop());
    let mut buf = BytesMut::new();
    assert!(packets.poll_recv(&mut cx, &mut buf).is_pending());
    tokio::task::yield_now().await;
    house.gate.notify_waiters();
    let mut answered = 0;
    while let Ok(Ok(_)) = timeout(Duration::from_millis(50), recv(&mut packets, &mut buf)).await {
        answered += 1;
        buf.clear();
    }
    assert!((1..=64).contains(&answered), "{answered}");
}

/// A server that repeats what it is asked as its answer, by UDP and by TCP; longer over the latter.
async fn echo() -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let at = socket.local_addr().unwrap();
    let listener = TcpListener::bind(at).await.unwrap();
    tokio::spawn(async move {
        let mut buf = [0; 2048];
        while let Ok((n, from)) = socket.recv_from(&mut buf).await {
            buf[2] |= 0x80;
            socket.send_to(&buf[..n], from).await.unwrap();
        }
    });
    tokio::spawn(async move {
        while let Ok((mut io, _)) = listener.accept().await {
            // One answer a connection, as some servers do.
            let Ok(len) = io.read_u16().await else { continue };
            let mut message = vec![0; usize::from(len)];
            io.read_exact(&mut message).await.unwrap();
            message[2] |= 0x80;
            message.resize(700, 0);
            io.write_all(&framed(&message)).await.unwrap();
        }
    });
    at
}

#[tokio::test]
async fn what_is_not_for_addresses_is_passed_on_over_either() {
    let at = echo().await;
    for over in [None, Some(Network::Udp), Some(Network::Tcp)] {
        let hijack = hijack(NonIpQuery::Skip, over, at);
        let mut stream = hijack.connect(&House::default(), &flow(Network::Tcp), b"").unwrap();
        for id in 1..4 {
            stream.write_all(&framed(&asked(id, "a.example.", RecordType::TXT))).await.unwrap();
            let mut message = vec![0; usize::from(stream.read_u16().await.unwrap())];
            stream.read_exact(&mut message).await.unwrap();
            assert_eq!(message[..2], id.to_be_bytes());
            assert_eq!(message.len() == 700, over != Some(Network::Udp), "{over:?}");
        }
        stream.shutdown().await.unwrap();
        assert_eq!(stream.read_to_end(&mut vec![]).await.unwrap(), 0);
        let house: Arc<dyn Services> = Arc::new(House::default());
        let mut packets = hijack.associate(&house, &flow(Network::Udp)).unwrap();
        for id in 1..4 {
            send(&mut packets, &asked(id, "a.example.", RecordType::MX), &target()).await.unwrap();
            let mut buf = BytesMut::new();
            assert_eq!(recv(&mut packets, &mut buf).await.unwrap(), target(), "as from where it was meant to go");
            assert_eq!(buf[..2], id.to_be_bytes());
            // What does not fit is to be asked for again.
            assert_eq!(buf[2] & 2 != 0, over == Some(Network::Tcp), "{over:?}");
            assert!(buf.len() < 512);
        }
    }
}

#[tokio::test]
async fn who_cannot_be_asked_is_told_of() {
    let hijack = hijack(NonIpQuery::Skip, Some(Network::Tcp), nobody());
    let mut stream = hijack.connect(&House::default(), &flow(Network::Tcp), b"").unwrap();
    for id in 1..3 {
        stream.write_all(&framed(&asked(id, "a.example.", RecordType::TXT))).await.unwrap();
        assert_eq!(next(&mut stream).await, (id, 2, 0, false));
    }
}

#[tokio::test]
async fn a_question_of_ours_is_not_asked_of_ourselves() {
    let hijack = hijack(NonIpQuery::Reject, None, echo().await);
    let house: Arc<dyn Services> = Arc::new(House { question: true, ..House::default() });
    let mut packets = hijack.associate(&house, &flow(Network::Udp)).unwrap();
    send(&mut packets, &asked(7, "kept.example.", RecordType::A), &target()).await.unwrap();
    let mut buf = BytesMut::new();
    recv(&mut packets, &mut buf).await.unwrap();
    assert_eq!(told(&buf), (7, 0, 0, false), "the server's word");
}

#[tokio::test(start_paused = true)]
async fn a_quiet_flow_ends() {
    let hijack = Hijack { idle: Some(Duration::from_secs(10)), ..hijack(NonIpQuery::Reject, None, nobody()) };
    let mut stream = hijack.connect(&House::default(), &flow(Network::Tcp), b"").unwrap();
    let begun = tokio::time::Instant::now();
    tokio::time::sleep(Duration::from_secs(6)).await;
    stream.write_all(&framed(&asked(1, "kept.example.", RecordType::A))).await.unwrap();
    assert_eq!(next(&mut stream).await, (1, 0, 1, false));
    assert_eq!(stream.read_to_end(&mut vec![]).await.unwrap(), 0);
    assert_eq!(begun.elapsed().as_secs(), 16);
}
