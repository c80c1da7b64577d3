//! The client's side.

use bytes::BytesMut;

use super::drawn::Request;
use crate::flow::BoxStream;
use crate::model::carrier::RawHeader;
use crate::net::Framed;
use crate::proto::http::ReadResponse;
use crate::transport::headed::{Bared, Headless};
use crate::wire::{Handshake, Step, WireError};

/// Puts the disguise on.
#[derive(Debug)]
pub struct Client(Request);

impl Client {
    /// What an outbound's settings say.
    pub fn new(set: &RawHeader) -> Self {
        Self(Request::new(&set.request))
    }

    /// The stream in its disguise; the request leaves with the first bytes, and any answer will do.
    pub fn open(&self, io: BoxStream) -> BoxStream {
        let answer = Headless::new(Answer(ReadResponse::default()));
        Box::new(Framed::new(io, BytesMut::new(), Bared::behind(self.0.draw()), answer))
    }
}

struct Answer(ReadResponse);

impl Handshake for Answer {
    type Output = ();

    fn step(&mut self, input: &[u8], reply: &mut Vec<u8>) -> Result<Step<()>, WireError> {
        Ok(match self.0.step(input, reply)? {
            Step::More { used, need } => Step::More { used, need },
            Step::Done { used, .. } => Step::Done { used, value: () },
        })
    }
}
