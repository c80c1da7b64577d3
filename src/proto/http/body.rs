//! How long a body is (RFC 9112 6.3), and where it ends in a stream of bytes.

use super::chunks::Chunks;
use super::head::{RequestHead, ResponseHead, Version};
use super::headers::Headers;
use crate::wire::WireError;

/// How a body is delimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// So many bytes, or none.
    Known(u64),
    /// In chunks.
    Chunked,
    /// Until the sender closes.
    UntilClose,
}

/// Watches a body go by, unchanged, and finds its end.
#[derive(Debug)]
pub struct Body(State);

#[derive(Debug)]
enum State {
    Left(u64),
    Chunks(Chunks),
    UntilClose,
}

impl Length {
    /// The length of a request's body.
    ///
    /// # Errors
    /// [`WireError::Malformed`] where two readers could disagree: both length and chunks, differing lengths, a coding
    /// other than `chunked` at the end, chunks in HTTP/1.0. Such requests are how one is smuggled inside another.
    pub fn of_request(head: &RequestHead) -> Result<Self, WireError> {
        let coded = head.headers.has("transfer-encoding");
        if !coded {
            return Ok(content_length(&head.headers)?.map_or(Self::Known(0), Self::Known));
        }
        let chunked = is_chunked(&head.headers) == Coding::Chunked;
        if !chunked || head.headers.has("content-length") || head.version == Version::Http10 {
            return Err(WireError::Malformed { what: "body length" });
        }
        Ok(Self::Chunked)
    }

    /// The length of a final response's body to a request with this method. Chunks win over a length, as RFC 9112 has it;
    /// [`response_for_client`](super::response_for_client) then drops the length, so that nobody behind us can see two.
    ///
    /// # Errors
    /// [`WireError::Malformed`] for lengths that are no number or differ.
    pub fn of_response(method: &str, head: &ResponseHead) -> Result<Self, WireError> {
        let none = method == "HEAD" || matches!(head.status, 100..200 | 204 | 304);
        if none || (method == "CONNECT" && (200..300).contains(&head.status)) {
            return Ok(Self::Known(0));
        }
        match is_chunked(&head.headers) {
            Coding::Chunked => Ok(Self::Chunked),
            Coding::Other => Ok(Self::UntilClose),
            Coding::None => Ok(content_length(&head.headers)?.map_or(Self::UntilClose, Self::Known)),
        }
    }

    /// Whether there is surely no body.
    #[must_use]
    pub fn is_none(self) -> bool {
        self == Self::Known(0)
    }
}

impl Body {
    /// Begins at the first byte behind the head.
    #[must_use]
    pub fn new(length: Length) -> Self {
        Self(match length {
            Length::Known(bytes) => State::Left(bytes),
            Length::Chunked => State::Chunks(Chunks::default()),
            Length::UntilClose => State::UntilClose,
        })
    }

    /// How many bytes at the front of `input` belong to the body; they may be passed on as they are.
    ///
    /// # Errors
    /// [`WireError`] for chunks that two readers could read two ways.
    pub fn advance(&mut self, input: &[u8]) -> Result<usize, WireError> {
        match &mut self.0 {
            State::Left(left) => {
                let here = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                *left -= here as u64;
                Ok(here)
            }
            State::Chunks(chunks) => chunks.advance(input),
            State::UntilClose => Ok(input.len()),
        }
    }

    /// Whether all of it has gone by. A body that ends with the stream never says so.
    #[must_use]
    pub fn is_done(&self) -> bool {
        match &self.0 {
            State::Left(left) => *left == 0,
            State::Chunks(chunks) => chunks.is_done(),
            State::UntilClose => false,
        }
    }

    /// Whether the stream may end here.
    #[must_use]
    pub fn may_close(&self) -> bool {
        self.is_done() || matches!(self.0, State::UntilClose)
    }
}

#[derive(PartialEq, Eq)]
enum Coding {
    None,
    Chunked,
    Other,
}

/// Whether `chunked` is the last coding and stands there once.
fn is_chunked(headers: &Headers) -> Coding {
    let mut codings = headers.items("transfer-encoding").peekable();
    if codings.peek().is_none() {
        return if headers.has("transfer-encoding") { Coding::Other } else { Coding::None };
    }
    let (mut count, mut last) = (0, false);
    for coding in codings {
        last = coding.eq_ignore_ascii_case(b"chunked");
        count += usize::from(last);
    }
    if last && count == 1 { Coding::Chunked } else { Coding::Other }
}

/// The one length that all Content-Length fields agree on.
fn content_length(headers: &Headers) -> Result<Option<u64>, WireError> {
    let bad = WireError::Malformed { what: "Content-Length" };
    let mut length = None;
    for field in headers.all("content-length").flat_map(|value| value.split(|&b| b == b',')) {
        let digits = field.trim_ascii();
        // `parse` alone would take a leading plus.
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return Err(bad);
        }
        let value: u64 = str::from_utf8(digits).ok().and_then(|text| text.parse().ok()).ok_or(bad)?;
        if length.is_some_and(|other| other != value) {
            return Err(bad);
        }
        length = Some(value);
    }
    Ok(length)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn request(fields: &str) -> Result<Length, WireError> {
        Length::of_request(&RequestHead::parse(format!("POST /x HTTP/1.1\r\n{fields}\r\n").as_bytes()).unwrap())
    }

    fn response(method: &str, status: u16, fields: &str) -> Result<Length, WireError> {
        let head = ResponseHead::parse(format!("HTTP/1.1 {status} X\r\n{fields}\r\n").as_bytes()).unwrap();
        Length::of_response(method, &head)
    }

    #[test]
    fn requests_have_one_length_or_none() {
        assert_eq!(request(""), Ok(Length::Known(0)));
        assert_eq!(request("Content-Length: 7\r\n"), Ok(Length::Known(7)));
        assert_eq!(request("Content-Length: 7, 7\r\ncontent-length: 7\r\n"), Ok(Length::Known(7)));
        assert_eq!(request("Transfer-Encoding: gzip, Chunked\r\n"), Ok(Length::Chunked));
    }

    #[test]
    fn requests_that_two_readers_could_read_two_ways_are_refused() {
        for bad in [
            "Content-Length: 7\r\nContent-Length: 8\r\n",
            "Content-Length: 7\r\nTransfer-Encoding: chunked\r\n",
            "Content-Length: +7\r\n",
            "Content-Length: 0x7\r\n",
            "Content-Length: 7,\r\n",
            "Content-Length:\r\n",
            "Content-Length: 99999999999999999999\r\n",
            "Transfer-Encoding: chunked, chunked\r\n",
            "Transfer-Encoding: chunked, gzip\r\n",
            "Transfer-Encoding: xchunked\r\n",
            "Transfer-Encoding:\r\n",
        ] {
            assert!(request(bad).is_err(), "{bad}");
        }
        let old = RequestHead::parse(b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n").unwrap();
        assert!(Length::of_request(&old).is_err());
    }

    #[test]
    fn responses_follow_method_and_status() {
        assert_eq!(response("HEAD", 200, "Content-Length: 7\r\n"), Ok(Length::Known(0)));
        assert_eq!(response("GET", 304, "Content-Length: 7\r\n"), Ok(Length::Known(0)));
        assert_eq!(response("GET", 204, ""), Ok(Length::Known(0)));
        assert_eq!(response("GET", 200, "Content-Length: 7\r\n"), Ok(Length::Known(7)));
        assert_eq!(response("GET", 200, ""), Ok(Length::UntilClose));
        assert_eq!(response("GET", 200, "Transfer-Encoding: gzip\r\n"), Ok(Length::UntilClose));
        assert_eq!(response("GET", 200, "Transfer-Encoding: chunked\r\nContent-Length: 7\r\n"), Ok(Length::Chunked));
        assert!(response("GET", 200, "Content-Length: 7\r\nContent-Length: 8\r\n").is_err());
    }

    #[test]
    fn a_body_ends_where_it_ends() {
        let mut body = Body::new(Length::Known(5));
        assert_eq!(body.advance(b"hel"), Ok(3));
        assert!(!body.may_close());
        assert_eq!(body.advance(b"loGET"), Ok(2));
        assert!(body.is_done());
        let mut open = Body::new(Length::UntilClose);
        assert_eq!(open.advance(b"any"), Ok(3));
        assert!(open.may_close() && !open.is_done());
    }
}
