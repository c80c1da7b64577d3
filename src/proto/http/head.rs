//! Reading the head of a request or a response.
//!
//! The end of the head is looked for before anything is parsed, from where the last look ended; a head that drips in
//! byte by byte is thus parsed once.

use super::headers::Headers;
use crate::wire::{Handshake, Step, WireError};

/// Most bytes of a head. Browsers stay below 16 KiB; large cookies and tokens reach 32 KiB.
pub const MAX_HEAD: usize = 64 * 1024;
/// Most fields of a head.
pub const MAX_HEADERS: usize = 256;

/// The version of a message. Others are refused by the parser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.0
    Http10,
    /// HTTP/1.1
    Http11,
}

/// The head of a request, as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHead {
    /// The method; case counts.
    pub method: String,
    /// The request target as written.
    pub target: String,
    /// The version.
    pub version: Version,
    /// The fields.
    pub headers: Headers,
}

/// The head of a response, as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseHead {
    /// The version.
    pub version: Version,
    /// The status, 100 to 999.
    pub status: u16,
    /// The words behind the status.
    pub reason: String,
    /// The fields.
    pub headers: Headers,
}

/// Reads one request head; body bytes behind it stay unread.
#[derive(Debug, Default)]
pub struct ReadRequest(Scan);

/// Reads one response head; body bytes behind it stay unread.
#[derive(Debug, Default)]
pub struct ReadResponse(Scan);

impl Handshake for ReadRequest {
    type Output = RequestHead;

    fn step(&mut self, input: &[u8], _: &mut Vec<u8>) -> Result<Step<RequestHead>, WireError> {
        self.0.step(input, RequestHead::parse)
    }
}

impl Handshake for ReadResponse {
    type Output = ResponseHead;

    fn step(&mut self, input: &[u8], _: &mut Vec<u8>) -> Result<Step<ResponseHead>, WireError> {
        self.0.step(input, ResponseHead::parse)
    }
}

impl RequestHead {
    /// Parses a whole head, blank line included.
    ///
    /// # Errors
    /// [`WireError`] for anything that is no HTTP/1 request head.
    pub fn parse(text: &[u8]) -> Result<Self, WireError> {
        let mut fields = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut request = httparse::Request::new(&mut fields);
        whole(request.parse(text))?;
        Ok(Self {
            method: request.method.unwrap_or_default().to_owned(),
            target: request.path.unwrap_or_default().to_owned(),
            version: version(request.version),
            headers: request.headers.iter().map(|field| (field.name, field.value)).collect(),
        })
    }

    /// Writes the head.
    pub fn write(&self, out: &mut Vec<u8>) {
        for part in [self.method.as_str(), " ", &self.target, " ", self.version.as_str(), "\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
        self.headers.write(out);
    }
}

impl ResponseHead {
    /// Parses a whole head, blank line included. Old servers fold lines and put blanks before colons; both are taken.
    ///
    /// # Errors
    /// [`WireError`] for anything that is no HTTP/1 response head.
    pub fn parse(text: &[u8]) -> Result<Self, WireError> {
        let mut fields = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut response = httparse::Response::new(&mut fields);
        let mut config = httparse::ParserConfig::default();
        config.allow_spaces_after_header_name_in_responses(true);
        config.allow_obsolete_multiline_headers_in_responses(true);
        whole(config.parse_response(&mut response, text))?;
        let status =
            response.code.filter(|status| *status >= 100).ok_or(WireError::Malformed { what: "HTTP status" })?;
        let headers = response.headers.iter().map(|field| (field.name, unfold(field.value)));
        let mut owned = Headers::default();
        headers.for_each(|(name, value)| owned.push(name, value));
        Ok(Self {
            version: version(response.version),
            status,
            reason: response.reason.unwrap_or_default().to_owned(),
            headers: owned,
        })
    }

    /// Writes the head.
    pub fn write(&self, out: &mut Vec<u8>) {
        for part in [self.version.as_str(), " ", &self.status.to_string(), " ", &self.reason, "\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
        self.headers.write(out);
    }

    /// Whether another response follows this one: 1xx, except 101 which ends HTTP.
    #[must_use]
    pub fn is_interim(&self) -> bool {
        (100..200).contains(&self.status) && self.status != 101
    }
}

impl Version {
    /// As it stands in a head.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http10 => "HTTP/1.0",
            Self::Http11 => "HTTP/1.1",
        }
    }
}

/// Where the search for the blank line stands.
#[derive(Debug, Default)]
struct Scan {
    seen: usize,
}

impl Scan {
    fn step<T>(&mut self, input: &[u8], parse: fn(&[u8]) -> Result<T, WireError>) -> Result<Step<T>, WireError> {
        let Some(end) = self.end(input) else {
            self.seen = input.len();
            return if input.len() >= MAX_HEAD { Err(WireError::TooLong) } else { Ok(Step::More { used: 0, need: 1 }) };
        };
        if end > MAX_HEAD {
            return Err(WireError::TooLong);
        }
        self.seen = 0;
        Ok(Step::Done { used: end, value: parse(&input[..end])? })
    }

    /// The place behind the blank line. Blank lines before the first line do not count: RFC 9112 2.2 wants them skipped.
    fn end(&self, input: &[u8]) -> Option<usize> {
        let start = input.iter().position(|b| !matches!(b, b'\r' | b'\n'))?;
        let from = self.seen.saturating_sub(3).max(start);
        let rest = input.get(from..)?;
        let mut at = 0;
        while let Some(line) = rest.get(at..)?.iter().position(|&b| b == b'\n') {
            at += line + 1;
            match rest.get(at..)? {
                [b'\n', ..] => return Some(from + at + 1),
                [b'\r', b'\n', ..] => return Some(from + at + 2),
                _ => {}
            }
        }
        None
    }
}

fn whole(parsed: Result<httparse::Status<usize>, httparse::Error>) -> Result<(), WireError> {
    match parsed {
        Ok(httparse::Status::Complete(_)) => Ok(()),
        Ok(httparse::Status::Partial) => Err(WireError::Truncated { need: 1 }),
        Err(httparse::Error::TooManyHeaders) => Err(WireError::TooLong),
        Err(_) => Err(WireError::Malformed { what: "HTTP head" }),
    }
}

fn version(minor: Option<u8>) -> Version {
    if minor == Some(0) { Version::Http10 } else { Version::Http11 }
}

/// A folded value on one line.
fn unfold(value: &[u8]) -> Vec<u8> {
    value.iter().map(|&b| if matches!(b, b'\r' | b'\n') { b' ' } else { b }).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const GET: &[u8] = b"GET http://a.example/x HTTP/1.1\r\nHost: a.example\r\nX-Odd:  v \r\n\r\n";

    fn read(input: &[u8]) -> Result<Step<RequestHead>, WireError> {
        ReadRequest::default().step(input, &mut Vec::new())
    }

    #[test]
    fn a_head_is_read_once_it_is_whole() {
        let mut reader = ReadRequest::default();
        for end in 0..GET.len() {
            assert!(matches!(reader.step(&GET[..end], &mut Vec::new()), Ok(Step::More { used: 0, .. })), "{end}");
        }
        let Ok(Step::Done { used, value }) = reader.step(&[GET, b"body"].concat(), &mut Vec::new()) else {
            unreachable!("whole head")
        };
        assert_eq!(used, GET.len());
        assert_eq!((value.method.as_str(), value.target.as_str()), ("GET", "http://a.example/x"));
        assert_eq!(value.headers.first("x-odd"), Some(&b"v"[..]));
    }

    #[test]
    fn bare_line_feeds_and_leading_blank_lines_are_taken() {
        assert!(matches!(read(b"\r\n\r\nGET / HTTP/1.0\nHost: a\n\n"), Ok(Step::Done { used: 28, .. })));
    }

    #[test]
    fn heads_without_end_and_too_many_fields_are_refused() {
        let mut long = b"GET / HTTP/1.1\r\nA: ".to_vec();
        long.resize(MAX_HEAD, b'a');
        assert!(matches!(read(&long), Err(WireError::TooLong)));
        let many = [&b"GET / HTTP/1.1\r\n"[..], &b"A: b\r\n".repeat(MAX_HEADERS + 1), b"\r\n"].concat();
        assert!(matches!(read(&many), Err(WireError::TooLong)));
    }

    #[test]
    fn request_smuggling_spellings_are_refused() {
        for bad in [
            &b"GET / HTTP/1.1\r\nContent-Length : 5\r\n\r\n"[..],
            b"GET / HTTP/1.1\r\nA: b\r\n folded\r\n\r\n",
            b"GET / HTTP/2.0\r\n\r\n",
            b"GET /\r\n\r\n",
        ] {
            assert!(read(bad).is_err(), "{}", String::from_utf8_lossy(bad));
        }
    }

    #[test]
    fn old_servers_are_understood() {
        let head = ResponseHead::parse(b"HTTP/1.0 200 OK\r\nA : b\r\nC: d\r\n\te\r\n\r\n").unwrap();
        assert_eq!((head.version, head.status), (Version::Http10, 200));
        assert_eq!(head.headers.first("a"), Some(&b"b"[..]));
        let mut out = Vec::new();
        head.write(&mut out);
        assert!(!out.windows(3).any(|w| w == b"\n\te"));
    }

    #[test]
    fn heads_write_as_they_were_read() {
        let plain = b"HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n";
        let head = ResponseHead::parse(plain).unwrap();
        let mut out = Vec::new();
        head.write(&mut out);
        assert_eq!(out, plain);
        assert!(head.is_interim());
    }
}
