//! Questions by TCP and by TLS, where many may be under way on one connection (RFC 7766).

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::fault::Fault;
use super::kept::Link;
use super::question::Question;
use super::waiting::Waiting;
use crate::dns::message::{Padding, Reply};
use crate::flow::BoxStream;

/// A connection that carries questions.
#[derive(Debug, Clone)]
pub(super) struct Pipe {
    out: mpsc::Sender<Bytes>,
    waiting: Arc<Waiting>,
    padding: Padding,
}

/// Questions that wait to be written.
const QUEUE: usize = 32;

/// How long a connection is kept without a question. Most servers end it sooner.
const IDLE: Duration = Duration::from_secs(60);

impl Pipe {
    /// By an open stream.
    pub(super) fn over(io: BoxStream, padding: Padding) -> Self {
        let (out, leaving) = mpsc::channel(QUEUE);
        let waiting = Arc::new(Waiting::default());
        tokio::spawn(drive(io, leaving, Arc::clone(&waiting)));
        Self { out, waiting, padding }
    }
}

impl Link for Pipe {
    fn is_open(&self) -> bool {
        !self.waiting.is_closed()
    }

    async fn ask(&self, question: Question<'_>) -> Result<Reply, Fault> {
        let mut seat = self.waiting.enter(question)?;
        let bytes = question.framed(seat.id, self.padding)?;
        self.out.send(bytes).await.map_err(|_| Fault::Ended)?;
        seat.answer().await
    }
}

async fn drive(io: BoxStream, out: mpsc::Receiver<Bytes>, waiting: Arc<Waiting>) {
    let (from, to) = tokio::io::split(io);
    let ended = tokio::select! {
        ended = read(from, &waiting) => ended,
        ended = write(to, out) => ended,
        () = unused(&waiting) => Ok(()),
    };
    if let Err(error) = ended {
        tracing::debug!(target: "dns", "a connection ended: {error}");
    }
    waiting.close();
}

async fn read(mut from: ReadHalf<BoxStream>, waiting: &Waiting) -> io::Result<()> {
    loop {
        let len = from.read_u16().await?;
        let mut message = vec![0; usize::from(len)];
        from.read_exact(&mut message).await?;
        if let Err(why) = waiting.hear_out(&message) {
            tracing::debug!(target: "dns", "on a connection: {why}");
        }
    }
}

async fn write(mut to: WriteHalf<BoxStream>, mut out: mpsc::Receiver<Bytes>) -> io::Result<()> {
    while let Some(bytes) = out.recv().await {
        to.write_all(&bytes).await?;
        to.flush().await?;
    }
    Ok(())
}

/// Ends when there was no question for a while.
async fn unused(waiting: &Waiting) {
    let mut before = None;
    loop {
        sleep(IDLE).await;
        let asked = waiting.asked();
        if before == Some(asked) && waiting.close_unused() {
            return;
        }
        before = Some(asked);
    }
}
