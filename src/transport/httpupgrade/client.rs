//! The client's side.

use std::io;
use std::time::Duration;

use bytes::BytesMut;

use crate::addr::Host;
use crate::flow::BoxStream;
use crate::model::carrier::HttpUpgrade;
use crate::model::stream::Stream;
use crate::net::{Bounds, Framed, boxed, drive};
use crate::transport::browser::Purpose;
use crate::transport::door::say;
use crate::transport::headed::{Bared, Headless};
use crate::transport::request::Request;
use crate::transport::upgrade::Upgrade;
use crate::wire::{Handshake, Step, WireError};

/// Opens connections, all in the same manner.
#[derive(Debug)]
pub struct Client {
    request: Request,
    /// Bytes are sent before the answer came.
    early: bool,
}

/// Time for the server's answer, as with WebSocket.
const LIMIT: Duration = Duration::from_secs(8);

impl Client {
    /// What an outbound's settings say.
    pub fn new(stream: &Stream, set: &HttpUpgrade) -> Self {
        let request = Request::new(stream, &set.path, &set.host, &set.headers, Purpose::WebSocket);
        Self { request, early: set.max_early_data > 0 }
    }

    /// A stream over a connection to `to`. With early data it is given once the request has left, and a refusal shows when
    /// it is read. The request leaves alone: Xray's server loses what it reads together with it.
    ///
    /// # Errors
    /// Whatever the connection says, and the server's refusal.
    pub async fn open(&self, mut io: BoxStream, to: &Host) -> io::Result<BoxStream> {
        let head = self.request.head(to, &[("Connection", "Upgrade"), ("Upgrade", "websocket")]);
        if self.early {
            say(&mut io, &head, LIMIT).await?;
            let answer = Answer(Upgrade::new(Vec::new(), None));
            return Ok(Box::new(Framed::new(io, BytesMut::new(), Bared::default(), Headless::new(answer))));
        }
        let mut held = BytesMut::new();
        let answered = drive(&mut io, &mut held, &mut Upgrade::new(head, None), Bounds::within(LIMIT)).await?;
        answered.map_err(io::Error::other)?;
        Ok(boxed(io, held))
    }
}

/// The server's answer, where nobody waits for it.
struct Answer(Upgrade);

impl Handshake for Answer {
    type Output = ();

    fn step(&mut self, input: &[u8], reply: &mut Vec<u8>) -> Result<Step<()>, WireError> {
        Ok(match self.0.step(input, reply)? {
            Step::More { used, need } => Step::More { used, need },
            Step::Done { used, value: Ok(()) } => Step::Done { used, value: () },
            Step::Done { value: Err(_), .. } => return Err(WireError::Denied { what: "the server stays with HTTP" }),
        })
    }
}
