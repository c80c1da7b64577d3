//! Where flows of the matrix end: a server of streams that does what the first byte says, and two of datagrams.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use aws_lc_rs::digest::{SHA256, digest};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};

use crate::support::serve_each;

/// What is sent: no short piece of it comes twice.
pub static BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let words = std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    words.take(SIZE / 8).flatten().collect()
});

/// How many bytes a download or upload has.
pub const SIZE: usize = 3 << 20;

/// Sends [`BYTES`] and ends.
pub const DOWNLOAD: u8 = b'D';
/// Reads as many bytes as [`BYTES`] and tells their hash.
pub const UPLOAD: u8 = b'U';
/// Sends back what comes.
pub const ECHO: u8 = b'E';
/// Reads to the end and then tells the hash.
pub const HALF: u8 = b'H';
/// Keeps the 16 bytes that follow, and answers.
pub const TOKEN: u8 = b'T';
/// Answers with one byte and is silent from then on.
pub const SILENT: u8 = b'S';

/// What a datagram begins with whose answer comes from somebody else.
pub const ELSEWHERE: u8 = b'C';

pub type Token = [u8; 16];

/// The servers, which run as long as the runtime.
pub struct Targets {
    pub streams: SocketAddr,
    pub datagrams: SocketAddr,
    /// Who answers datagrams that ask for somebody else.
    pub stranger: SocketAddr,
    kept: Arc<Kept>,
}

#[derive(Default)]
struct Kept {
    tokens: Mutex<HashSet<Token>>,
    silent: AtomicUsize,
}

impl Targets {
    pub async fn start() -> Self {
        let kept = Arc::<Kept>::default();
        let theirs = Arc::clone(&kept);
        let streams = serve_each(move |stream| {
            let kept = Arc::clone(&theirs);
            async move {
                // A client that goes away is what some checks are about.
                let _ = serve(stream, &kept).await;
            }
        })
        .await;
        let (near, far) = (bound().await, bound().await);
        let addr = |socket: &UdpSocket| socket.local_addr().expect("it is bound");
        let (datagrams, stranger) = (addr(&near), addr(&far));
        tokio::spawn(async move {
            let mut room = [0; 4096];
            while let Ok((len, from)) = near.recv_from(&mut room).await {
                let who = if room[0] == ELSEWHERE { &far } else { &near };
                let _ = who.send_to(&room[..len], from).await;
            }
        });
        Self { streams, datagrams, stranger, kept }
    }

    /// Whether a client's token arrived.
    pub fn knows(&self, token: &Token) -> bool {
        self.kept.tokens.lock().expect("nobody fails with it").contains(token)
    }

    /// How many silent streams are open.
    pub fn silent(&self) -> usize {
        self.kept.silent.load(Ordering::Relaxed)
    }
}

/// At another address of loopback than the clients': v2ray names the target where SOCKS has the client's own address, and a
/// server that takes it at its word would wait for datagrams from there.
async fn bound() -> UdpSocket {
    UdpSocket::bind("127.0.0.2:0").await.expect("loopback has a free port")
}

async fn serve(mut stream: TcpStream, kept: &Kept) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    match stream.read_u8().await? {
        DOWNLOAD => stream.write_all(&BYTES).await?,
        UPLOAD => {
            let mut all = vec![0; SIZE];
            stream.read_exact(&mut all).await?;
            stream.write_all(hash(&all).as_ref()).await?;
        }
        ECHO => {
            let (mut read, mut write) = stream.split();
            tokio::io::copy(&mut read, &mut write).await?;
        }
        HALF => {
            let mut all = vec![];
            stream.read_to_end(&mut all).await?;
            stream.write_all(hash(&all).as_ref()).await?;
        }
        TOKEN => {
            let mut token = Token::default();
            stream.read_exact(&mut token).await?;
            kept.tokens.lock().expect("nobody fails with it").insert(token);
            stream.write_all(b"known").await?;
        }
        SILENT => {
            kept.silent.fetch_add(1, Ordering::Relaxed);
            let answered = stream.write_all(&[SILENT]).await;
            let _ = stream.read_u8().await;
            kept.silent.fetch_sub(1, Ordering::Relaxed);
            answered?;
        }
        other => return Err(std::io::Error::other(format!("nobody asks {other}"))),
    }
    stream.shutdown().await
}

/// SHA-256.
pub fn hash(bytes: &[u8]) -> [u8; 32] {
    digest(&SHA256, bytes).as_ref().try_into().expect("it has 32 bytes")
}
