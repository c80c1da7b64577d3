//! Sends flows, many at a time.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream, UdpSocket};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::sample::{Door, Flow};

/// Flows on their way at a time.
const AT_A_TIME: usize = 12;

/// For one flow; who is slower has answered nothing.
const LIMIT: Duration = Duration::from_secs(10);

/// What must stay open until the verdicts are read: an association ends with its stream.
pub type Held = Vec<(TcpStream, UdpSocket)>;

/// Sends all flows to the doors and lets each come to its end.
pub async fn drive(flows: &[Flow], doors: [SocketAddr; 4]) -> Held {
    let room = Arc::new(Semaphore::new(AT_A_TIME));
    let mut all = JoinSet::new();
    for flow in flows.iter().cloned() {
        let room = Arc::clone(&room);
        let door = doors[flow.door.place()];
        all.spawn(async move {
            let _room = room.acquire().await;
            timeout(LIMIT, send(&flow, door)).await
        });
    }
    let mut held = vec![];
    while let Some(done) = all.join_next().await {
        // Who is refused is missing among the verdicts, which tells more than an error here.
        if let Ok(Ok(Ok(Some(open)))) = done {
            held.push(open);
        }
    }
    held
}

async fn send(flow: &Flow, door: SocketAddr) -> io::Result<Option<(TcpStream, UdpSocket)>> {
    if flow.udp {
        return datagram(flow, door).await.map(Some);
    }
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(flow.source)?;
    let mut stream = socket.connect(door).await?;
    match flow.door {
        Door::Web => {
            let (method, path) = flow.request;
            let host = match flow.host.parse::<IpAddr>() {
                Ok(IpAddr::V6(ip)) => format!("[{ip}]"),
                _ => flow.host.clone(),
            };
            let (port, kind) = (flow.port, if path == "/" { "b" } else { "c" });
            let head = format!(
                "{method} http://{host}:{port}{path} HTTP/1.1\r\nHost: {host}:{port}\r\nX-Kind: {kind}\r\n\
                 Connection: close\r\nContent-Length: 0\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).await?;
        }
        Door::Plain | Door::Listening | Door::Login(..) => {
            greet(&mut stream, flow.door).await?;
            stream.write_all(&asks(1, &flow.host, flow.port)).await?;
            let mut reply = [0; 10];
            stream.read_exact(&mut reply).await?;
            let inner = format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", flow.inner);
            stream.write_all(inner.as_bytes()).await?;
        }
    }
    // Every way out is a hole, so the end comes.
    let _ = stream.read_to_end(&mut vec![]).await;
    Ok(None)
}

async fn datagram(flow: &Flow, door: SocketAddr) -> io::Result<(TcpStream, UdpSocket)> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::new(flow.source.ip(), 0))?;
    let mut stream = socket.connect(door).await?;
    greet(&mut stream, flow.door).await?;
    stream.write_all(&asks(3, "0.0.0.0", 0)).await?;
    let mut reply = [0; 10];
    stream.read_exact(&mut reply).await?;
    let port = u16::from_be_bytes([reply[8], reply[9]]);
    let udp = UdpSocket::bind(flow.source).await?;
    let mut datagram = asks(0, &flow.host, flow.port);
    datagram[0] = 0;
    datagram.extend(b"verdict");
    udp.send_to(&datagram, SocketAddr::new(door.ip(), port)).await?;
    Ok((stream, udp))
}

async fn greet(stream: &mut TcpStream, door: Door) -> io::Result<()> {
    let login = if let Door::Login(user, password) = door { Some((user, password)) } else { None };
    stream.write_all(&[5, 1, if login.is_some() { 2 } else { 0 }]).await?;
    let mut answer = [0; 2];
    stream.read_exact(&mut answer).await?;
    if let Some((user, password)) = login {
        let mut words = vec![1];
        for word in [user, password] {
            words.push(u8::try_from(word.len()).expect("short"));
            words.extend(word.as_bytes());
        }
        stream.write_all(&words).await?;
        stream.read_exact(&mut answer).await?;
    }
    Ok(())
}

fn asks(command: u8, host: &str, port: u16) -> Vec<u8> {
    let mut request = vec![5, command, 0];
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(ip)) => request.extend([1].into_iter().chain(ip.octets())),
        Ok(IpAddr::V6(ip)) => request.extend([4].into_iter().chain(ip.octets())),
        Err(_) => {
            request.extend([3, u8::try_from(host.len()).expect("short")]);
            request.extend(host.as_bytes());
        }
    }
    request.extend(port.to_be_bytes());
    request
}
