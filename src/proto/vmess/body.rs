//! The bodies of both directions, with what stands in front of them.

use bytes::BytesMut;
use rand::Rng;
use rand::rngs::StdRng;

use super::answer::{self, Answer, Heard, seal_answer};
use super::cipher::Cipher;
use super::lengths::{Keys, Lengths};
use super::request::Request;
use crate::wire::{Next, Open, Opened, Seal, SealWhole, TOGETHER, WireError};

/// Seals one direction.
pub struct Sealer {
    /// What stands in front and was not said yet.
    head: Vec<u8>,
    said: bool,
    /// A body without chunks is bare.
    chunks: Option<Chunks>,
    /// Where padding comes from.
    rng: Box<StdRng>,
    /// The end is told.
    ending: bool,
}

/// Opens one direction.
pub struct Opener {
    /// What stands in front and was not heard yet.
    answer: Option<Answer>,
    chunks: Option<Chunks>,
    /// Length of the chunk that is being waited for, and how much of it is padding.
    pending: Option<(usize, usize)>,
}

struct Chunks {
    cipher: Cipher,
    lengths: Lengths,
}

/// Most data of a chunk: with a sealed length, a tag and the longest padding it stays below 16 KiB, the most that any of the
/// field's readers takes (sing-box; v2ray, Xray and mihomo take more). Xray writes half of it.
const CHUNK: usize = 16 * 1024 - 16 - 18 - 64;

impl Chunks {
    fn of_request(request: &Request) -> Option<Self> {
        Self::new(request, &request.key, &request.iv)
    }

    fn of_answer(request: &Request) -> Option<Self> {
        let keys = answer::Keys::of(request);
        Self::new(request, &keys.key, &keys.iv)
    }

    fn new(request: &Request, key: &[u8; 16], iv: &[u8; 16]) -> Option<Self> {
        let keys = Keys { iv, request_key: &request.key, request_iv: &request.iv };
        (!request.is_bare()).then(|| Self {
            cipher: Cipher::new(request.security, key, iv),
            lengths: Lengths::new(request.options, request.security, keys),
        })
    }

    fn seal(&mut self, plain: &[u8], rng: &mut StdRng, out: &mut BytesMut) {
        let padding = self.lengths.padding();
        // Bounded by the size of a chunk.
        let len = u16::try_from(plain.len() + self.cipher.overhead() + padding).unwrap_or(u16::MAX);
        self.lengths.write(len, out);
        self.cipher.seal(plain, out);
        let at = out.len();
        out.resize(at + padding, 0);
        rng.fill_bytes(&mut out[at..]);
    }
}

impl Sealer {
    /// The client's, behind a sealed request. `ending` tells the server when the client has said all.
    #[must_use]
    pub fn client(request: &Request, head: Vec<u8>, ending: bool, rng: StdRng) -> Self {
        Self { head, said: false, chunks: Chunks::of_request(request), rng: Box::new(rng), ending }
    }

    /// The server's, behind its answer.
    #[must_use]
    pub fn server(request: &Request, rng: StdRng) -> Self {
        let (head, chunks) = (seal_answer(request), Chunks::of_answer(request));
        Self { head, said: false, chunks, rng: Box::new(rng), ending: true }
    }
}

impl Seal for Sealer {
    fn seal(&mut self, plain: &[u8], out: &mut BytesMut) -> usize {
        if !self.said {
            self.said = true;
            out.extend_from_slice(&std::mem::take(&mut self.head));
        }
        let Some(chunks) = &mut self.chunks else {
            let joined = plain.len().min(TOGETHER);
            out.extend_from_slice(&plain[..joined]);
            return joined;
        };
        let len = plain.len().min(CHUNK);
        // A chunk without data is the end.
        if len > 0 {
            chunks.seal(&plain[..len], &mut self.rng, out);
        }
        len
    }

    fn next(&self) -> Next {
        if self.said && self.chunks.is_none() { Next::Bare } else { Next::Framed }
    }

    fn finish(&mut self, out: &mut BytesMut) {
        if self.ending
            && let Some(chunks) = &mut self.chunks
        {
            chunks.seal(&[], &mut self.rng, out);
        }
    }
}

impl SealWhole for Sealer {
    const MOST: usize = CHUNK;
}

impl Opener {
    /// The server's: what the client sends behind its header.
    #[must_use]
    pub fn server(request: &Request) -> Self {
        Self { answer: None, chunks: Chunks::of_request(request), pending: None }
    }

    /// The client's: what the server sends, with its answer in front.
    #[must_use]
    pub fn client(request: &Request) -> Self {
        Self { answer: Some(Answer::to(request)), chunks: Chunks::of_answer(request), pending: None }
    }

    /// Whether the server has answered.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        self.answer.is_none()
    }
}

impl Open for Opener {
    fn open(&mut self, input: &mut [u8]) -> Result<Opened, WireError> {
        if let Some(answer) = &mut self.answer {
            return Ok(match answer.read(input)? {
                Heard::More { need } => Opened::More { need },
                Heard::All { used } => {
                    self.answer = None;
                    Opened::Plain { used, at: 0..0 }
                }
            });
        }
        let Some(Chunks { cipher, lengths }) = &mut self.chunks else {
            return Ok(Opened::Over { used: 0, next: Next::Bare });
        };
        let size = lengths.size();
        let (len, padding) = match self.pending {
            Some(pending) => pending,
            None if input.len() < size => return Ok(Opened::More { need: size - input.len() }),
            None => {
                let padding = lengths.padding();
                let len = usize::from(lengths.read(input)?);
                if len < cipher.overhead() + padding {
                    return Err(WireError::Malformed { what: "length of a chunk" });
                }
                *self.pending.insert((len, padding))
            }
        };
        let used = size + len;
        if input.len() < used {
            return Ok(Opened::More { need: used - input.len() });
        }
        self.pending = None;
        let sealed = len - padding;
        let data = sealed - cipher.overhead();
        if data == 0 {
            // Others do not look whether this chunk opens either.
            return Ok(Opened::End { used });
        }
        cipher.open(&mut input[size..size + sealed])?;
        Ok(Opened::Plain { used, at: size..size + data })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
