//! VLESS' own encryption put around a stream. What it is stands in `proto::vless::encryption`; here it is sent and waited
//! for.

use std::time::{Duration, Instant};

use bytes::BytesMut;
use rand::SeedableRng;
use rand::rngs::StdRng;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::{sleep, timeout};

use crate::flow::BoxStream;
use crate::net::{Bounds, DriveError, Framed, drive};
use crate::proto::vless::encryption::{Begun, Cipher, Client, Greeted, Opener, Piece, Sealer, Server};

/// Time for what has to be agreed upon, beside the waits between pieces of padding.
const LIMIT: Duration = Duration::from_secs(16);

/// The client's side. With a ticket this waits for nothing, and the server's answer comes with its first bytes.
///
/// # Errors
/// [`DriveError`], which does not tell wrong keys from a server of another kind.
pub async fn encrypt(mut io: BoxStream, client: &Client) -> Result<BoxStream, DriveError> {
    let begun = client.begin(Instant::now(), Cipher::of_this_machine(), &mut rng())?;
    let (pieces, mut answer) = match begun {
        Begun::Resumed(ready) => return Ok(Box::new(Framed::new(io, BytesMut::new(), ready.0, ready.1))),
        Begun::Asked(pieces, answer) => (pieces, answer),
    };
    let mut held = BytesMut::new();
    send(&mut io, pieces, LIMIT).await?;
    let ready = drive(&mut io, &mut held, &mut *answer, Bounds::within(LIMIT)).await?;
    client.remember(&ready, Instant::now());
    Ok(Box::new(Framed::new(io, held, ready.seal, ready.open)))
}

/// What a server has agreed upon with a client.
pub struct Decrypted {
    ready: Box<(Sealer, Opener)>,
    held: BytesMut,
}

impl Decrypted {
    /// Goes around the stream that it was read from.
    #[must_use]
    pub fn around(self, io: BoxStream) -> BoxStream {
        Box::new(Framed::new(io, self.held, self.ready.0, self.ready.1))
    }
}

/// The server's side; `limit` is the time for each thing the client has to say.
///
/// # Errors
/// [`DriveError`]. A stranger was told nothing; a client with a ticket from before got bytes that tell it to come anew.
pub async fn decrypt(io: &mut BoxStream, server: &Server, limit: Duration) -> Result<Decrypted, DriveError> {
    let mut held = BytesMut::new();
    let bounds = Bounds { cap: CAP, ..Bounds::within(limit) };
    let mut greeting = server.greet(Instant::now(), Cipher::Aes, rng());
    let (pieces, mut confirmed) = match drive(io, &mut held, &mut greeting, bounds).await? {
        Greeted::Resumed(ready) => return Ok(Decrypted { ready, held }),
        Greeted::Asked(pieces, confirmed) => (pieces, confirmed),
    };
    send(io, pieces, limit).await?;
    let ready = drive(io, &mut held, &mut confirmed, bounds).await?;
    Ok(Decrypted { ready, held })
}

/// Who knows the server's keys may send so much in one part of a handshake.
const CAP: usize = 64 * 1024 + 64;

fn rng() -> StdRng {
    StdRng::from_rng(&mut rand::rng())
}

/// Writes pieces with their waits; `limit` is for each that the peer does not take.
async fn send<W>(io: &mut W, pieces: Vec<Piece>, limit: Duration) -> Result<(), DriveError>
where
    W: AsyncWrite + Unpin,
{
    for (bytes, wait) in pieces {
        let sent = async {
            io.write_all(&bytes).await?;
            io.flush().await
        };
        timeout(limit, sent).await.map_err(|_| DriveError::TimedOut)??;
        if !wait.is_zero() {
            sleep(wait).await;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
