//! A real SOCKS server at the end of a shaped line.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::line::{Cargo, Line};
use crate::net::{Bounds, drive};
use crate::proto::socks::{Reply, Server};

/// Starts a server whose every connection obeys the line, and which tells pages from tests by the port they go to.
///
/// # Errors
/// Where no port can be bound.
pub async fn start(line: Arc<Line>, pages: SocketAddr, token: &CancellationToken) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let at = listener.local_addr()?;
    tokio::spawn(token.clone().run_until_cancelled_owned(async move {
        while let Ok((client, _)) = listener.accept().await {
            let line = Arc::clone(&line);
            tokio::spawn(async move {
                tokio::select! {
                    biased;
                    // A dead server keeps its port, lest somebody else takes it, but hangs up on whoever comes.
                    () = line.dead() => {}
                    // However a connection ends, only its two ends care.
                    _ = serve(client, &line, pages) => {}
                }
            });
        }
    }));
    Ok(at)
}

async fn serve(mut client: TcpStream, line: &Line, pages: SocketAddr) -> io::Result<()> {
    client.set_nodelay(true)?;
    let mut held = BytesMut::new();
    let bounds = Bounds::within(Duration::from_secs(5));
    let request = drive(&mut client, &mut held, &mut Server::new(None), bounds).await?;
    let target = request.target.socket().ok_or(io::ErrorKind::Unsupported)?;
    sleep(line.quality().delay).await;
    let mut server = TcpStream::connect(target).await?;
    client.write_all(&request.answer(Reply::Succeeded, server.local_addr()?)).await?;
    server.write_all(&held).await?;
    let cargo = if target == pages { Cargo::Pages } else { Cargo::Tests };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::try_join!(upwards(from_client, to_server), downwards(from_server, to_client, line, cargo))?;
    Ok(())
}

async fn upwards(mut client: OwnedReadHalf, mut server: OwnedWriteHalf) -> io::Result<()> {
    tokio::io::copy(&mut client, &mut server).await?;
    server.shutdown().await
}

/// The shaped direction: the first byte after one exchange, each further one when the line has had time for it.
async fn downwards(mut server: OwnedReadHalf, mut client: OwnedWriteHalf, line: &Line, cargo: Cargo) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    let mut free = None;
    loop {
        let read = server.read(&mut buffer).await?;
        if read == 0 {
            return client.shutdown().await;
        }
        let from = *free.get_or_insert_with(|| Instant::now() + line.quality().delay);
        let until = from + line.takes(read);
        sleep_until(until).await;
        client.write_all(&buffer[..read]).await?;
        line.count(cargo, read);
        free = Some(until);
    }
}

/// What moves at once: small against a page, so that a slow line trickles instead of jumping.
const CHUNK: usize = 4096;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::scene::{Quality, TEST};
    use super::super::source::{PAGE, Source};
    use super::super::traffic::page;
    use super::*;

    #[tokio::test]
    async fn a_line_carries_at_its_true_rate_counts_and_dies() {
        let token = CancellationToken::new();
        let source = Source::start(&token).await.unwrap();
        let quality = Quality { speed: 1_000_000, delay: Duration::from_millis(20) };
        let line = Arc::new(Line::new(quality));
        let at = start(Arc::clone(&line), source.pages, &token).await.unwrap();

        let begin = Instant::now();
        assert_eq!(page(at, source.tests).await.unwrap(), TEST);
        let (took, want) = (begin.elapsed().as_secs_f64(), TEST as f64 / quality.rate());
        assert!(took >= 0.98 * want, "{took} s is faster than the line allows ({want} s)");
        let (tests, pages) = (line.carried(Cargo::Tests), line.carried(Cargo::Pages));
        assert!(tests > TEST as u64 && pages == 0, "body and head: {tests}, {pages}");

        assert_eq!(page(at, source.pages).await.unwrap(), PAGE);
        assert!(line.carried(Cargo::Pages) > PAGE as u64);

        let dying = Arc::clone(&line);
        let running = tokio::spawn(page(at, source.tests));
        sleep(Duration::from_millis(60)).await;
        dying.set(Quality { speed: 0, ..quality });
        assert_ne!(running.await.unwrap().ok(), Some(TEST), "cut in the middle");
        assert!(page(at, source.pages).await.is_err(), "and nobody else gets through");
        line.set(quality);
        assert_eq!(page(at, source.pages).await.unwrap(), PAGE, "until it is back");
        token.cancel();
    }
}
