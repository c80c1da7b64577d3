//! The users: they fetch page after page through the engine's inbound, and never know by which line.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::source::PAGE;
use crate::net::{Bounds, drive};
use crate::proto::socks::{Client, Command};

/// Pages that came and pages that did not.
#[derive(Debug, Default)]
pub struct Tally {
    /// Whole pages.
    pub good: AtomicU64,
    /// Pages that broke off, were refused, or took too long.
    pub bad: AtomicU64,
}

/// Starts `users` of them, until the token falls.
pub fn start(users: u32, inbound: SocketAddr, pages: SocketAddr, token: &CancellationToken) -> Arc<Tally> {
    let tally = Arc::new(Tally::default());
    for _ in 0..users {
        tokio::spawn(token.clone().run_until_cancelled_owned(browse(inbound, pages, Arc::clone(&tally))));
    }
    tally
}

async fn browse(inbound: SocketAddr, pages: SocketAddr, tally: Arc<Tally>) {
    loop {
        let came = matches!(timeout(PATIENCE, page(inbound, pages)).await, Ok(Ok(PAGE)));
        (if came { &tally.good } else { &tally.bad }).fetch_add(1, Ordering::Relaxed);
        sleep(PAUSE).await;
    }
}

const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(50);

/// Fetches one body through a SOCKS server: how many bytes it had.
///
/// # Errors
/// Where the server refuses or the connection breaks off.
pub async fn page(inbound: SocketAddr, source: SocketAddr) -> io::Result<usize> {
    let mut stream = TcpStream::connect(inbound).await?;
    let target = source.into();
    let mut held = BytesMut::new();
    let mut shake = Client::new(Command::Connect, &target, None);
    if let Err(refused) = drive(&mut stream, &mut held, &mut shake, Bounds::within(PATIENCE)).await? {
        return Err(io::Error::new(io::ErrorKind::ConnectionRefused, refused));
    }
    stream.write_all(format!("GET / HTTP/1.1\r\nHost: {source}\r\nConnection: close\r\n\r\n").as_bytes()).await?;
    let mut answer = held.to_vec();
    stream.read_to_end(&mut answer).await?;
    let head = answer.windows(4).position(|four| four == b"\r\n\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
    Ok(answer.len() - head - 4)
}
