//! A connection as the library for HTTP/3 wants it.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h3::error::Code;
use h3::quic::{Connection, ConnectionErrorIncoming, OpenStreams, StreamErrorIncoming};
use quinn::{ConnectionError, RecvStream, SendStream, VarInt};
use tokio::sync::mpsc;

use super::streams::{Both, Receiving, Sending, Unwanted, lost};

type Wait<T> = Pin<Box<dyn Future<Output = Result<T, ConnectionError>> + Send + Sync>>;

/// A connection.
pub struct Link {
    opener: Opener,
    fed: Option<mpsc::Receiver<Called>>,
    calling: Option<Wait<(SendStream, RecvStream)>>,
    telling: Option<Wait<RecvStream>>,
    unwanted: Option<Unwanted>,
}

/// A stream that a peer opened, of which something may have been read already.
pub struct Called {
    /// What is sent on it.
    pub sending: SendStream,
    /// What comes on it.
    pub receiving: RecvStream,
    /// What came on it.
    pub held: Bytes,
}

/// Opens streams on a connection.
pub struct Opener {
    connection: quinn::Connection,
    both: Option<Wait<(SendStream, RecvStream)>>,
    one: Option<Wait<SendStream>>,
}

impl Link {
    /// Around a connection of the library for QUIC.
    #[must_use]
    pub fn new(connection: quinn::Connection) -> Self {
        Self { opener: Opener::on(connection), fed: None, calling: None, telling: None, unwanted: None }
    }

    /// The same for a connection whose streams somebody else accepts, and gives on those that are for HTTP.
    #[must_use]
    pub fn fed(self, streams: mpsc::Receiver<Called>) -> Self {
        Self { fed: Some(streams), ..self }
    }

    /// When the peer wants no more of what is sent on the stream that was accepted last. Can be taken once.
    pub fn unwanted(&mut self) -> Option<Unwanted> {
        self.unwanted.take()
    }
}

impl Opener {
    fn on(connection: quinn::Connection) -> Self {
        Self { connection, both: None, one: None }
    }
}

impl Clone for Opener {
    fn clone(&self) -> Self {
        Self::on(self.connection.clone())
    }
}

/// Polls what waits, or what `begin` makes if nothing does.
fn poll<T>(
    wait: &mut Option<Wait<T>>,
    cx: &mut Context<'_>,
    begin: impl FnOnce() -> Wait<T>,
) -> Poll<Result<T, ConnectionError>> {
    let done = ready!(wait.get_or_insert_with(begin).as_mut().poll(cx));
    *wait = None;
    Poll::Ready(done)
}

impl OpenStreams<Bytes> for Opener {
    type BidiStream = Both;
    type SendStream = Sending;

    fn poll_open_bidi(&mut self, cx: &mut Context<'_>) -> Poll<Result<Both, StreamErrorIncoming>> {
        let connection = &self.connection;
        let opened = ready!(poll(&mut self.both, cx, || {
            let connection = connection.clone();
            Box::pin(async move { connection.open_bi().await })
        }));
        Poll::Ready(opened.map(Both::new).map_err(|error| broken(lost(error))))
    }

    fn poll_open_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<Sending, StreamErrorIncoming>> {
        let connection = &self.connection;
        let opened = ready!(poll(&mut self.one, cx, || {
            let connection = connection.clone();
            Box::pin(async move { connection.open_uni().await })
        }));
        Poll::Ready(opened.map(Sending::new).map_err(|error| broken(lost(error))))
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.connection.close(VarInt::from_u64(code.value()).unwrap_or(VarInt::MAX), reason);
    }
}

impl OpenStreams<Bytes> for Link {
    type BidiStream = Both;
    type SendStream = Sending;

    fn poll_open_bidi(&mut self, cx: &mut Context<'_>) -> Poll<Result<Both, StreamErrorIncoming>> {
        self.opener.poll_open_bidi(cx)
    }

    fn poll_open_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<Sending, StreamErrorIncoming>> {
        self.opener.poll_open_send(cx)
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.opener.close(code, reason);
    }
}

impl Connection<Bytes> for Link {
    type RecvStream = Receiving;
    type OpenStreams = Opener;

    fn poll_accept_recv(&mut self, cx: &mut Context<'_>) -> Poll<Result<Receiving, ConnectionErrorIncoming>> {
        let connection = &self.opener.connection;
        let came = ready!(poll(&mut self.telling, cx, || {
            let connection = connection.clone();
            Box::pin(async move { connection.accept_uni().await })
        }));
        Poll::Ready(came.map(Receiving::typed).map_err(lost))
    }

    fn poll_accept_bidi(&mut self, cx: &mut Context<'_>) -> Poll<Result<Both, ConnectionErrorIncoming>> {
        let connection = &self.opener.connection;
        let both = if let Some(fed) = &mut self.fed {
            match ready!(fed.poll_recv(cx)) {
                Some(called) => Both::new((called.sending, called.receiving)).holding(called.held),
                None => {
                    let reason = connection.close_reason().unwrap_or(ConnectionError::LocallyClosed);
                    return Poll::Ready(Err(lost(reason)));
                }
            }
        } else {
            let came = ready!(poll(&mut self.calling, cx, || {
                let connection = connection.clone();
                Box::pin(async move { connection.accept_bi().await })
            }));
            came.map(Both::new).map_err(lost)?
        };
        self.unwanted = Some(both.unwanted());
        Poll::Ready(Ok(both))
    }

    fn opener(&self) -> Opener {
        self.opener.clone()
    }
}

fn broken(connection_error: ConnectionErrorIncoming) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming { connection_error }
}
