//! How servers of HTTP/1.1 carriers hear a visitor and answer it.

use std::io;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use crate::flow::BoxStream;
use crate::proto::http::{MAX_HEADERS, ReadRequest, RequestHead};
use crate::wire::{Handshake, Step, WireError};

/// Time for a request's head (Xray's).
pub(super) const LIMIT: Duration = Duration::from_secs(4);
/// Most bytes of it: Xray's 8 KiB, and what Go's server adds to any limit.
pub(super) const MAX_HEAD: usize = 12 * 1024;

/// Reads the head of a request. What is none is refused as soon as that shows, as other servers do, and not only when a
/// blank line came: the silence would tell a stranger who we are.
#[derive(Debug, Default)]
pub(super) struct ReadHead(ReadRequest);

impl Handshake for ReadHead {
    type Output = RequestHead;

    fn step(&mut self, input: &[u8], reply: &mut Vec<u8>) -> Result<Step<RequestHead>, WireError> {
        let step = self.0.step(input, reply)?;
        if matches!(step, Step::More { .. }) && input.ends_with(b"\n") {
            let mut fields = [httparse::EMPTY_HEADER; MAX_HEADERS];
            if httparse::Request::new(&mut fields).parse(input).is_err() {
                return Err(WireError::Malformed { what: "HTTP head" });
            }
        }
        Ok(step)
    }
}

/// Writes and flushes, but does not wait for ever for a visitor that reads nothing.
pub(super) async fn say(io: &mut BoxStream, text: &[u8], limit: Duration) -> io::Result<()> {
    let said = async {
        io.write_all(text).await?;
        io.flush().await
    };
    timeout(limit, said).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// Says the last word, and ends the connection.
pub(super) async fn dismiss(io: &mut BoxStream, text: &[u8], limit: Duration) {
    if say(io, text, limit).await.is_ok() {
        let _ = timeout(limit, io.shutdown()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_request_is_seen_at_the_end_of_its_first_line() {
        let read = |input: &[u8]| ReadHead::default().step(input, &mut Vec::new());
        assert!(read(b"SSH-2.0-x\r\n").is_err());
        assert!(matches!(read(b"GET / HTTP/1.1\r\nHost: a\r\n"), Ok(Step::More { .. })));
        assert!(matches!(read(b"GET / HTTP/1.1\r\n\r\n"), Ok(Step::Done { .. })));
    }
}
