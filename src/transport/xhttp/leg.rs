//! A stream of the client: what goes up to one server, and what comes down from it or from another.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::body::{Answered, Outgoing, Received};
use super::client::Client;
use super::draw::drawn;
use super::halves::Joined;
use super::post::{Pace, Sender, Status, packets, upload};
use super::source::Source;
use crate::addr::Target as Address;
use crate::flow::{Blame, BoxStream, DialError, Stage};
use crate::model::carrier::XhttpMode;
use crate::transport::lines::Lines;

/// A way to a server.
#[derive(Clone, Copy)]
pub struct Leg<'a> {
    /// How requests look and are sent.
    pub client: &'a Arc<Client>,
    /// Connections to the server, secured.
    pub lines: &'a dyn Lines,
    /// The server.
    pub to: &'a Address,
}

impl Leg<'_> {
    /// A stream that goes up by this way and comes down by the other, or by the same where there is no other. Its requests
    /// are sent; that a server refuses them shows when it is read.
    ///
    /// # Errors
    /// [`DialError`] of the connections, or at the stage of the carrier.
    pub async fn open(self, down: Option<Leg<'_>>, blame: Blame) -> Result<BoxStream, DialError> {
        match self.begin(down, blame).await {
            // A shared connection may have ended unseen, above all by QUIC; it is not taken a second time.
            Err(error) if error.stage == Stage::Carry && self.client.pool.is_some() => self.begin(down, blame).await,
            done => done,
        }
    }

    async fn begin(self, down: Option<Leg<'_>>, blame: Blame) -> Result<BoxStream, DialError> {
        let failed = |error| DialError::new(Stage::Carry, blame, error);
        let end = CancellationToken::new();
        let Leg { client, to, .. } = self;
        let (into, from) = mpsc::channel(client.waiting());
        if client.mode == XhttpMode::StreamOne {
            let mut sender = self.sender(blame).await?;
            let answer = sender.send(client.streaming(&to.host, None, from)).await.map_err(failed)?;
            return Ok(Box::new(Joined::new(Down::new(answer, sender, &end), into, end.drop_guard())));
        }
        let session = uuid::Uuid::new_v4().to_string();
        let (mut get, mut post) = self.senders(down, blame).await?;
        let asking = down.unwrap_or(self);
        let request = asking.client.request(Method::GET, &asking.to.host, Some(&session), None, Outgoing::empty());
        let answer = get.send(request).await.map_err(failed)?;
        if client.mode == XhttpMode::StreamUp {
            let up = post.send(client.streaming(&to.host, Some(&session), from)).await.map_err(failed)?;
            tokio::spawn(upload(up, end.clone()));
        } else {
            let pace = Pace {
                most: drawn(client.packet.0, client.packet.1),
                interval: Duration::from_millis(drawn(client.interval.0, client.interval.1) as u64),
            };
            let (client, host) = (Arc::clone(client), to.host.clone());
            let packet = move |number: u64, bytes| {
                let number = number.to_string();
                let method = client.plan.method.clone();
                client.request(method, &host, Some(&session), Some(&number), Outgoing::Whole(bytes))
            };
            tokio::spawn(packets(from, post, pace, packet, end.clone()));
        }
        Ok(Box::new(Joined::new(Down::new(answer, get, &end), into, end.drop_guard())))
    }

    /// What sends the request for what comes down, and what sends those that go up meanwhile.
    async fn senders(self, down: Option<Leg<'_>>, blame: Blame) -> Result<(Sender, Sender), DialError> {
        if let Some(down) = down {
            return tokio::try_join!(down.sender(blame), self.sender(blame));
        }
        let get = self.sender(blame).await?;
        let post = match get.again() {
            Some(post) => post,
            None => self.sender(blame).await?,
        };
        Ok((get, post))
    }

    /// What sends requests, over a connection of its own or over a shared one.
    async fn sender(self, blame: Blame) -> Result<Sender, DialError> {
        match &self.client.pool {
            Some(pool) => Ok(Sender::Shared(Arc::new(pool.place(self.lines, self.to, blame).await?))),
            None => self.client.own(self.lines, blame).await,
        }
    }
}

/// What comes down: the body of an answer.
struct Down {
    state: State,
    end: Pin<Box<WaitForCancellationFutureOwned>>,
    /// Keeps the stream's place on its connection.
    _sender: Sender,
}

enum State {
    Waiting(Answered),
    Body(Received),
}

impl Down {
    fn new(answer: Answered, sender: Sender, end: &CancellationToken) -> Self {
        let end = Box::pin(end.clone().cancelled_owned());
        Self { state: State::Waiting(answer), end, _sender: sender }
    }
}

impl Source for Down {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Bytes>>> {
        if self.end.as_mut().poll(cx).is_ready() {
            // What went up did not arrive.
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        if let State::Waiting(answer) = &mut self.state {
            let response = ready!(answer.as_mut().poll(cx))?;
            if response.status() != 200 {
                return Poll::Ready(Err(io::Error::other(Status(response.status().as_u16()))));
            }
            self.state = State::Body(response.into_body());
        }
        match &mut self.state {
            State::Body(body) => body.poll_chunk(cx),
            State::Waiting(_) => Poll::Pending,
        }
    }
}
