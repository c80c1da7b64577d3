//! What a stranger saw.

use std::fmt;
use std::io::ErrorKind;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::{Instant, timeout_at};

/// How long a server may keep silent before it counts as one that waits.
const SILENCE: Duration = Duration::from_secs(2);

/// All that was said, and how it ended.
#[derive(Clone, PartialEq, Eq)]
pub struct Sight {
    pub said: Vec<u8>,
    pub end: End,
}

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// With a word of the carrier or TLS, or with TCP's end where there is no other.
    Closed,
    /// With TCP's end in the middle of TLS.
    Cut,
    Reset,
    /// Not at once.
    Open,
    /// When, is drawn by each server.
    Drawn,
    /// There was no connection.
    Refused,
}

impl Sight {
    /// Reads until the end, or until a server counts as one that waits.
    pub async fn of<S: AsyncRead + Unpin>(io: &mut S) -> Self {
        let (mut said, until) = (vec![], Instant::now() + SILENCE);
        let mut chunk = [0; 4096];
        let end = loop {
            match timeout_at(until, io.read(&mut chunk)).await {
                Err(_) => break End::Open,
                Ok(Ok(0)) => break End::Closed,
                Ok(Ok(len)) => said.extend_from_slice(&chunk[..len]),
                Ok(Err(error)) => match error.kind() {
                    ErrorKind::UnexpectedEof => break End::Cut,
                    _ => break End::Reset,
                },
            }
        };
        Self { said: without_date(&said), end }
    }

    /// The same to somebody who can tell that there was an answer, and no more.
    pub fn dimly(self) -> Self {
        let said = if self.said.is_empty() { vec![] } else { b"an answer".to_vec() };
        Self { said, ..self }
    }

    pub fn refused() -> Self {
        Self { said: vec![], end: End::Refused }
    }
}

/// Two answers differ in their time.
fn without_date(said: &[u8]) -> Vec<u8> {
    let lines = said.split_inclusive(|byte| *byte == b'\n');
    lines.filter(|line| !line.to_ascii_lowercase().starts_with(b"date:")).flatten().copied().collect()
}

impl fmt::Display for Sight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}, {} bytes: {}", self.end, self.said.len(), self.said.escape_ascii())
    }
}

impl fmt::Debug for Sight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
