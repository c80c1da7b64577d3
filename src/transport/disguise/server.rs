//! The server's side.

use std::io;
use std::time::Duration;

use bytes::BytesMut;

use super::drawn::Response;
use crate::flow::BoxStream;
use crate::model::carrier::RawHeader;
use crate::net::{Bounds, Prefixed, boxed, drive};
use crate::transport::door::{ReadHead, dismiss};
use crate::transport::request::Place;
use crate::wire::WireError;

/// Takes the disguise off.
#[derive(Debug)]
pub struct Server {
    places: Vec<Place>,
    response: Response,
}

/// Most bytes of a request's head (Xray's).
const MAX_HEAD: usize = 8 * 1024;
const BAD_REQUEST: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nCache-Control: private\r\nContent-Length: 0\r\n";
const NOT_FOUND: &[u8] =
    b"HTTP/1.1 404 Not Found\r\nConnection: close\r\nCache-Control: private\r\nContent-Length: 0\r\n";

impl Server {
    /// What an inbound's settings say.
    pub fn new(set: &RawHeader) -> Self {
        let places = set.request.path.0.iter().map(|path| Place::new(path, "")).collect();
        Self { places, response: Response::new(&set.response) }
    }

    /// The stream of a visitor; our answer leaves with the first bytes. Only the path of its request counts.
    ///
    /// # Errors
    /// Whatever the connection says, and that the request is for something else.
    pub async fn accept(&self, mut io: BoxStream, limit: Duration) -> io::Result<BoxStream> {
        let mut held = BytesMut::new();
        let bounds = Bounds { limit, cap: MAX_HEAD };
        let refused = match drive(&mut io, &mut held, &mut ReadHead::default(), bounds).await {
            Ok(head) if self.places.iter().any(|place| place.is(&head.target, None)) => {
                return Ok(boxed(Prefixed::writing(io, self.response.draw()), held));
            }
            Ok(_) => (NOT_FOUND, WireError::Denied { what: "a request for something else" }.into()),
            Err(error) => (BAD_REQUEST, error.into()),
        };
        let (answer, error) = refused;
        let date = format!("Date: {}\r\n\r\n", crate::transport::answers::date());
        dismiss(&mut io, &[answer, date.as_bytes()].concat(), limit).await;
        Err(error)
    }
}
