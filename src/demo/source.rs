//! The HTTP source: pages for users on one port, the body of speed tests on another, so that each line can tell them
//! apart by where they go.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use super::scene::TEST;

/// Bytes of a page.
pub const PAGE: usize = 20_000;

/// Where the source listens.
#[derive(Debug, Clone, Copy)]
pub struct Source {
    /// For users.
    pub pages: SocketAddr,
    /// For speed tests.
    pub tests: SocketAddr,
}

impl Source {
    /// Starts it on two free ports of the loopback.
    ///
    /// # Errors
    /// Where no port can be bound.
    pub async fn start(token: &CancellationToken) -> io::Result<Self> {
        Ok(Self { pages: serve(PAGE, token.clone()).await?, tests: serve(TEST, token.clone()).await? })
    }
}

async fn serve(body: usize, token: CancellationToken) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let at = listener.local_addr()?;
    tokio::spawn(token.run_until_cancelled_owned(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, body));
        }
    }));
    Ok(at)
}

async fn answer(mut stream: TcpStream, body: usize) -> io::Result<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        if request.len() > 8192 || stream.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {body}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(&vec![b'.'; body]).await?;
    stream.shutdown().await
}
