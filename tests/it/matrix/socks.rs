//! A SOCKS5 client that says what went wrong: flows of the matrix fail in every way, and each failure names its cell.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;

use crate::support::{PATIENCE, wrapped};

/// What went wrong, in words.
pub type Failure = String;

/// Waits for what a network does; too long is a failure that says `what` was waited for.
pub async fn within<T>(
    limit: Duration,
    what: &str,
    io: impl Future<Output = std::io::Result<T>>,
) -> Result<T, Failure> {
    match timeout(limit, io).await {
        Ok(result) => result.map_err(|error| format!("{what}: {error}")),
        Err(_) => Err(format!("{what}: nothing within {limit:?}")),
    }
}

/// A tunnel through the door at `port` to `target`.
pub async fn connect(port: u16, target: SocketAddr) -> Result<TcpStream, Failure> {
    let (stream, _) = ask(port, 1, target).await?;
    Ok(stream)
}

/// An association: it lives as long as its control stream.
pub struct Association {
    _control: TcpStream,
    relay: SocketAddr,
    socket: UdpSocket,
}

impl Association {
    pub async fn open(port: u16) -> Result<Self, Failure> {
        let (control, relay) = ask(port, 3, SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))).await?;
        let socket = UdpSocket::bind("127.0.0.1:0").await.map_err(|error| format!("a socket: {error}"))?;
        Ok(Self { _control: control, relay, socket })
    }

    pub async fn send(&self, to: SocketAddr, payload: &[u8]) -> Result<(), Failure> {
        let sent = self.socket.send_to(&wrapped(to, payload), self.relay).await;
        sent.map(drop).map_err(|error| format!("a datagram to the door: {error}"))
    }

    /// A datagram's payload, and whose it is said to be; nothing if none comes in time.
    pub async fn receive(&self, limit: Duration) -> Option<(Vec<u8>, SocketAddr)> {
        let mut room = [0; 4096];
        let (len, _) = timeout(limit, self.socket.recv_from(&mut room)).await.ok()?.ok()?;
        match &room[..len] {
            [0, 0, 0, 1, a, b, c, d, high, low, payload @ ..] => {
                let from = SocketAddr::from(([*a, *b, *c, *d], u16::from_be_bytes([*high, *low])));
                Some((payload.to_vec(), from))
            }
            // Some name the sender by the name that was asked for, or not at all.
            _ => Some((room[..len].to_vec(), SocketAddr::from(([0, 0, 0, 0], 0)))),
        }
    }
}

async fn ask(port: u16, command: u8, target: SocketAddr) -> Result<(TcpStream, SocketAddr), Failure> {
    let door = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = within(PATIENCE, "the client's door", TcpStream::connect(door)).await?;
    within(PATIENCE, "the client's door", async {
        stream.set_nodelay(true)?;
        stream.write_all(&[5, 1, 0]).await?;
        stream.read_exact(&mut [0; 2]).await?;
        let mut request = wrapped(target, b"");
        request[0] = 5;
        request[1] = command;
        stream.write_all(&request).await?;
        let mut reply = [0; 10];
        stream.read_exact(&mut reply).await?;
        if reply[1] != 0 {
            return Err(std::io::Error::other(format!("refused with {}", reply[1])));
        }
        let ip = IpAddr::from([reply[4], reply[5], reply[6], reply[7]]);
        let ip = if ip.is_unspecified() { IpAddr::from(Ipv4Addr::LOCALHOST) } else { ip };
        Ok((stream, SocketAddr::new(ip, u16::from_be_bytes([reply[8], reply[9]]))))
    })
    .await
}
