#![allow(clippy::unwrap_used)]

use std::net::IpAddr;

use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, UdpSocket};

use super::*;
use crate::addr::Network;
use crate::flow::{Half, recv, send};
use crate::net::Families;
use crate::outbound::lookup::Source;
use crate::outbound::testing::{House, flow};

async fn listener() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

async fn heard(listener: &TcpListener, len: usize) -> (Vec<u8>, IpAddr) {
    let (mut io, from) = listener.accept().await.unwrap();
    let mut all = vec![0; len];
    io.read_exact(&mut all).await.unwrap();
    (all, from.ip())
}

#[tokio::test]
async fn first_bytes_arrive_and_the_stream_is_the_socket() {
    let (listener, port) = listener().await;
    let house = House::knowing("a.example", &["127.0.0.1"]);
    let lookup = Lookup { source: Source::Dns, families: Families::Any };
    let freedom = Freedom { lookup, ..Freedom::default() };
    let flow = flow(&format!("a.example:{port}"));
    let (stream, (all, _)) = tokio::join!(freedom.connect(&house, &flow, b"first"), heard(&listener, 5));
    assert_eq!(all, b"first");
    assert!(stream.unwrap().raw(Half::Write).is_some());
}

#[tokio::test]
async fn the_target_can_be_replaced_and_told_who_the_client_is() {
    let (listener, port) = listener().await;
    let redirect = Redirect { host: Host::parse("127.0.0.1").ok(), port: Some(port) };
    let freedom = Freedom { redirect, header: Some(Form::V1), ..Freedom::default() };
    let flow = flow("a.example:80");
    let want = format!("PROXY TCP4 192.0.2.1 127.0.0.1 5000 {port}\r\nfirst");
    let house = House::default();
    let (stream, (all, _)) = tokio::join!(freedom.connect(&house, &flow, b"first"), heard(&listener, want.len()));
    assert_eq!(String::from_utf8(all).unwrap(), want);
    assert!(stream.is_ok());
}

#[tokio::test]
async fn the_local_address_is_chosen() {
    let net = SendThrough::Net("127.9.0.0/16".parse().unwrap());
    for (through, first, second) in
        [(SendThrough::Origin, 127, 0), (SendThrough::Ip([127, 8, 0, 1].into()), 127, 8), (net, 127, 9)]
    {
        let (listener, port) = listener().await;
        let freedom = Freedom { through, ..Freedom::default() };
        let (house, flow) = (House::default(), flow(&format!("127.0.0.1:{port}")));
        let (stream, (_, from)) = tokio::join!(freedom.connect(&house, &flow, b"x"), heard(&listener, 1));
        stream.unwrap();
        let IpAddr::V4(from) = from else { unreachable!() };
        assert_eq!(from.octets()[..2], [first, second]);
    }
}

#[tokio::test]
async fn a_refused_dial_is_the_targets_fault() {
    let dead = tokio::net::TcpSocket::new_v4().unwrap();
    dead.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let flow = flow(&dead.local_addr().unwrap().to_string());
    let Err(error) = Freedom::default().connect(&House::default(), &flow, b"").await else { unreachable!() };
    assert_eq!((error.stage, error.blame), (Stage::Dial, Blame::Target));
}

#[tokio::test]
async fn redirected_datagrams_answer_as_from_where_they_were_meant_to_go() {
    let far = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let at = far.local_addr().unwrap();
    let redirect = Redirect { host: Some(at.ip().into()), port: Some(at.port()) };
    let house: Arc<dyn Services> = Arc::new(House::default());
    for (redirect, meant) in [(redirect, "192.0.2.7:53".parse().unwrap()), (Redirect::default(), Target::from(at))] {
        let freedom = Freedom { redirect, ..Freedom::default() };
        let mut packets = freedom.associate(&house, &flow("0.0.0.0:0")).await.unwrap();
        send(&mut packets, b"ask", &meant).await.unwrap();
        let (_, from) = far.recv_from(&mut [0; 8]).await.unwrap();
        far.send_to(b"tell", from).await.unwrap();
        let mut buf = BytesMut::new();
        assert_eq!(recv(&mut packets, &mut buf).await.unwrap(), meant);
        assert_eq!(&buf[..], b"tell");
    }
}

#[tokio::test]
async fn another_outbound_can_do_the_dialing() {
    let redirect = Redirect { host: None, port: Some(8443) };
    let freedom = Freedom { behind: Some(OutboundId(2)), redirect, ..Freedom::default() };
    let house = Arc::new(House::default());
    let services: Arc<dyn Services> = house.clone();
    let mut flow = flow("a.example:443");
    flow.remote = true;
    assert!(freedom.connect(&*services, &flow, b"first").await.is_err());
    assert!(freedom.associate(&services, &flow).await.is_err());
    let dialed = house.dialed();
    assert_eq!((dialed[0].target.to_string().as_str(), dialed[0].hops), ("a.example:8443", 1));
    assert_eq!(dialed[1].network, Network::Udp);
    // Nobody has judged the name yet: whoever resolves it must know that it was asked for from another machine.
    assert!(dialed.iter().all(|hop| hop.remote));
}

#[tokio::test]
async fn another_outbound_is_told_of_names_as_the_strategy_says() {
    let flow_to = |name: &str| flow(&format!("{name}:443"));
    for (source, name, told) in [
        (Source::System, "a.example", Some("a.example:443")),
        (Source::DnsFirst, "a.example", Some("10.0.0.1:443")),
        (Source::DnsFirst, "b.example", Some("b.example:443")),
        (Source::Dns, "a.example", Some("10.0.0.1:443")),
        (Source::Dns, "b.example", None),
    ] {
        let lookup = Lookup { source, families: Families::V4First };
        let freedom = Freedom { behind: Some(OutboundId(2)), lookup, ..Freedom::default() };
        let house = House::knowing("a.example", &["2001:db8::1", "10.0.0.1"]);
        assert!(freedom.connect(&house, &flow_to(name), b"").await.is_err());
        let dialed: Vec<String> = house.dialed().iter().map(|hop| hop.target.to_string()).collect();
        assert_eq!(dialed.first().map(String::as_str), told, "{source:?} {name}");
    }
}

#[tokio::test]
async fn answers_to_redirected_datagrams_come_from_where_each_was_meant_to_go() {
    let servers = [UdpSocket::bind("127.0.0.1:0").await.unwrap(), UdpSocket::bind("127.0.0.1:0").await.unwrap()];
    let redirect = Redirect { host: Host::parse("127.0.0.1").ok(), port: None };
    let freedom = Freedom { redirect, ..Freedom::default() };
    let house: Arc<dyn Services> = Arc::new(House::default());
    let mut way = freedom.associate(&house, &flow("192.0.2.1:9")).await.unwrap();
    let meant = [0, 1].map(|at| Target::new(Host::parse("192.0.2.1").unwrap(), port_of(&servers[at])));
    for target in &meant {
        send(&mut way, b"ask", target).await.unwrap();
    }
    for at in [0, 1] {
        let (_, from) = servers[at].recv_from(&mut [0; 8]).await.unwrap();
        servers[at].send_to(b"answer", from).await.unwrap();
        assert_eq!(recv(&mut way, &mut BytesMut::new()).await.unwrap(), meant[at]);
    }
}

fn port_of(socket: &UdpSocket) -> u16 {
    socket.local_addr().unwrap().port()
}
