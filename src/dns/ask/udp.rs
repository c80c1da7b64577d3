//! Questions by UDP.
//!
//! Whoever guesses the port and the number of a question can answer it, so an association takes questions for a short while
//! only; the next one has another port, where a socket of ours is at its end. One that hears answers which nobody asked for
//! takes no further question either. Through a proxy an association costs a connection, which is what many questions share here.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};

use super::dial::flow;
use super::fault::Fault;
use super::kept::Link;
use super::question::{From, Question};
use super::waiting::Waiting;
use crate::addr::{Host, Network, Target};
use crate::dns::message::{LARGEST, Padding, Reply};
use crate::flow::{BoxPackets, Via, recv, send};

/// An association that carries questions to one server.
#[derive(Debug, Clone)]
pub(super) struct Association {
    out: mpsc::Sender<Bytes>,
    waiting: Arc<Waiting>,
    /// When it takes no further question.
    until: Instant,
}

/// How long an association takes questions.
const WHILE: Duration = Duration::from_secs(10);

/// How many it takes.
const MOST: u32 = 100;

/// Answers that nobody asked for, after which an association takes no further question. Some come late, or twice.
const STRANGE: u32 = 32;

/// So many of them, and those who wait are better off without an answer than with one that was guessed.
const ATTACK: u32 = 4096;

/// Questions that wait to be sent.
const QUEUE: usize = 32;

/// How long one may take to be sent.
const PATIENCE: Duration = Duration::from_secs(5);

impl Association {
    /// Opens one, as the rules say for a flow with this inbound tag.
    pub(super) async fn open(from: From<'_>, server: &Target) -> Result<Self, Fault> {
        let way = from.house.associate(Via::Route, &flow(from, Network::Udp, server)).await?;
        let (out, leaving) = mpsc::channel(QUEUE);
        let (waiting, until) = (Arc::new(Waiting::default()), Instant::now() + WHILE);
        let driver = Driver { server: server.clone(), waiting: Arc::clone(&waiting), strange: 0 };
        tokio::spawn(driver.run(way, leaving, until));
        Ok(Self { out, waiting, until })
    }
}

impl Link for Association {
    fn is_open(&self) -> bool {
        !self.waiting.is_closed() && self.waiting.asked() < MOST && Instant::now() < self.until
    }

    /// A datagram may be lost, so the question is repeated at growing pauses until whoever waits gives up.
    async fn ask(&self, question: Question<'_>) -> Result<Reply, Fault> {
        let mut seat = self.waiting.enter(question)?;
        let bytes = Bytes::from(question.written(seat.id, Padding::None)?);
        let mut pause = Duration::from_secs(1);
        loop {
            self.out.send(bytes.clone()).await.map_err(|_| Fault::Ended)?;
            match timeout(pause, seat.answer()).await {
                Ok(answer) => return answer,
                Err(_) => pause *= 2,
            }
        }
    }
}

/// What moves the datagrams of an association.
struct Driver {
    server: Target,
    waiting: Arc<Waiting>,
    /// Answers that nobody asked for.
    strange: u32,
}

impl Driver {
    async fn run(mut self, mut way: BoxPackets, mut out: mpsc::Receiver<Bytes>, mut until: Instant) {
        let mut datagram = BytesMut::with_capacity(usize::from(LARGEST));
        loop {
            datagram.clear();
            tokio::select! {
                heard = recv(&mut way, &mut datagram) => match heard {
                    Ok(from) => self.hear(&from, &datagram),
                    Err(error) => {
                        tracing::debug!(target: "dns", "{}: {error}", self.server);
                        break;
                    }
                },
                asked = out.recv() => {
                    // Nobody is left who could ask.
                    let Some(asked) = asked else { break };
                    if !matches!(timeout(PATIENCE, send(&mut way, &asked, &self.server)).await, Ok(Ok(()))) {
                        break;
                    }
                }
                () = sleep_until(until) => {
                    if self.waiting.close_unused() {
                        break;
                    }
                    until = Instant::now() + Duration::from_secs(1);
                }
            }
            if self.strange > ATTACK {
                tracing::warn!(target: "dns", "{}: somebody tries to guess answers", self.server);
                break;
            }
        }
        self.waiting.close();
    }

    fn hear(&mut self, from: &Target, datagram: &[u8]) {
        // Who was asked by name may answer from any of its addresses.
        if matches!(self.server.host, Host::Ip(_)) && *from != self.server {
            return;
        }
        if let Err(why) = self.waiting.hear(datagram) {
            self.strange += 1;
            if self.strange > STRANGE {
                self.waiting.retire();
            }
            tracing::debug!(target: "dns", "{}: {why}", self.server);
        }
    }
}
