//! Questions by QUIC (RFC 9250): a stream each, on one connection that is dialed directly.

use quinn::{Connection, ReadError, ReadExactError, RecvStream, VarInt};

use super::dial::{addresses, shaken};
use super::fault::Fault;
use super::kept::Link;
use super::question::{From, Question};
use crate::addr::Target;
use crate::dns::message::{Padding, Reply, reply};
use crate::net::{SocketOptions, udp};
use crate::transport::quic::{Client, Port};

/// A server that is asked by QUIC.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) target: Target,
    pub(super) client: Client,
}

/// A connection to it.
#[derive(Debug, Clone)]
pub(super) struct Session(Connection);

/// Whoever asked has gone (`DOQ_REQUEST_CANCELLED`).
const CANCELLED: VarInt = VarInt::from_u32(3);

impl Place {
    /// Opens a connection.
    pub(super) async fn open(&self, from: From<'_>) -> Result<Session, Fault> {
        let addresses = addresses(&**from.house, &self.target).await?;
        let options = SocketOptions::default();
        let (socket, to) = udp::bare_to(&addresses, &options)?;
        let opened = self.client.connect(Port::Own { socket, to, options }, &self.target.host).await;
        opened.map(Session).map_err(shaken)
    }
}

impl Link for Session {
    fn is_open(&self) -> bool {
        self.0.close_reason().is_none()
    }

    async fn ask(&self, question: Question<'_>) -> Result<Reply, Fault> {
        let lost = |error: quinn::ConnectionError| Fault::Io(error.to_string());
        let (mut up, down) = self.0.open_bi().await.map_err(lost)?;
        // Streams tell questions apart, so their number is 0.
        up.write_all(&question.framed(0, Padding::Block(128))?).await.map_err(|error| Fault::Io(error.to_string()))?;
        // It is open, since nobody else has it.
        let _ = up.finish();
        let mut down = Stream(down);
        let mut len = [0; 2];
        down.read(&mut len).await?;
        let mut message = vec![0; usize::from(u16::from_be_bytes(len))];
        down.read(&mut message).await?;
        reply(&message, 0, question.name, question.family).map_err(Fault::NoAnswer)
    }
}

/// What comes back, which is given up by name.
struct Stream(RecvStream);

impl Stream {
    async fn read(&mut self, into: &mut [u8]) -> Result<(), Fault> {
        self.0.read_exact(into).await.map_err(|error| match error {
            ReadExactError::FinishedEarly(_) => Fault::NoAnswer(crate::dns::message::BadReply::Malformed),
            ReadExactError::ReadError(ReadError::Reset(code)) => Fault::Reset(code.into_inner()),
            ReadExactError::ReadError(error) => Fault::Io(error.to_string()),
        })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // One that came to its end needs no word.
        let _ = self.0.stop(CANCELLED);
    }
}
