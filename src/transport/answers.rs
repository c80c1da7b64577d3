//! What strangers read at the door of an HTTP/1.1 carrier: Go's own answers, so that we look like other servers here.

use std::time::SystemTime;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;

use crate::proto::http::Version;

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// There is nothing at this path, or for this host.
    NotFound,
    /// It asks for no WebSocket, though it should.
    NotUpgrading,
    /// It asks for a WebSocket, but not by GET.
    Method,
    /// It is no HTTP request.
    Malformed,
    /// Its head is too long.
    TooLarge,
}

impl Refusal {
    /// Whether the connection may carry another request.
    pub(super) fn keeps(self) -> bool {
        matches!(self, Self::NotFound | Self::NotUpgrading | Self::Method)
    }

    /// The whole answer.
    pub(super) fn text(self, version: Version) -> String {
        match self {
            Self::NotFound => format!(
                "{} 404 Not Found\r\nDate: {}\r\n{}Content-Length: 0\r\n\r\n",
                version.as_str(),
                date(),
                close(version)
            ),
            Self::NotUpgrading => told(version, "400 Bad Request", "Bad Request\n"),
            Self::Method => told(version, "405 Method Not Allowed", "Method Not Allowed\n"),
            Self::Malformed => hasty("400 Bad Request"),
            Self::TooLarge => hasty("431 Request Header Fields Too Large"),
        }
    }
}

/// The time, as HTTP writes it.
pub(super) fn date() -> String {
    let now = Timestamp::try_from(SystemTime::now()).unwrap_or_default();
    DateTimePrinter::new().timestamp_to_rfc9110_string(&now).unwrap_or_default()
}

fn close(version: Version) -> &'static str {
    if version == Version::Http10 { "Connection: close\r\n" } else { "" }
}

/// A refused handshake.
fn told(version: Version, status: &str, body: &str) -> String {
    format!(
        "{} {status}\r\nContent-Type: text/plain; charset=utf-8\r\nSec-Websocket-Version: 13\r\n\
         X-Content-Type-Options: nosniff\r\nDate: {}\r\n{}Content-Length: {}\r\n\r\n{body}",
        version.as_str(),
        date(),
        close(version),
        body.len()
    )
}

/// A refusal before a request was understood.
fn hasty(status: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n{status}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::proto::http::ResponseHead;

    #[test]
    fn every_answer_is_one() {
        let all = [
            (Refusal::NotFound, 404),
            (Refusal::NotUpgrading, 400),
            (Refusal::Method, 405),
            (Refusal::Malformed, 400),
            (Refusal::TooLarge, 431),
        ];
        for (refusal, status) in all {
            let text = refusal.text(Version::Http11);
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            let head = ResponseHead::parse(format!("{head}\r\n\r\n").as_bytes()).unwrap();
            assert_eq!(head.status, status);
            assert_eq!(head.headers.has("date"), refusal.keeps());
            assert_eq!(head.headers.lists("connection", "close"), !refusal.keeps());
            if let Some(length) = head.headers.first("content-length") {
                assert_eq!(length, body.len().to_string().as_bytes());
            }
        }
    }
}
