//! Streams of the old generation: a salt, then chunks, of which the client's first begins with the address.

use aws_lc_rs::hkdf;
use bytes::BytesMut;

use super::aead::{Aead, Counting};
use super::chunks::{Chunks, LENGTH, OLD_MOST, seal_chunk};
use super::method::Key;
use crate::addr::Target;
use crate::proto::socks::{read_address, write_address};
use crate::wire::{Handshake, Open, Opened, Reader, Seal, Step, WireError};

/// The cipher of one stream or datagram.
pub(super) fn subkey(key: &Key, salt: &[u8]) -> Result<Aead, WireError> {
    struct Len(usize);

    impl hkdf::KeyType for Len {
        fn len(&self) -> usize {
            self.0
        }
    }

    let mut bytes = [0; 32];
    let bytes = &mut bytes[..key.bytes().len()];
    let extracted = hkdf::Salt::new(hkdf::HKDF_SHA1_FOR_LEGACY_USE_ONLY, salt).extract(key.bytes());
    let filled = extracted.expand(&[b"ss-subkey"], Len(bytes.len())).and_then(|okm| okm.fill(bytes));
    filled.map_err(|_| WireError::Malformed { what: "key" })?;
    Aead::new(key.method(), bytes)
}

/// What is written, on either side.
pub struct Sealer {
    head: Option<Head>,
    cipher: Counting,
}

/// What stands in front of the first bytes: as it is, and inside the first chunk.
struct Head {
    salt: Vec<u8>,
    lead: Vec<u8>,
}

impl Sealer {
    /// Of a client that asks for `target`. The salt must be fresh and as long as the key.
    ///
    /// # Errors
    /// [`WireError`] for a key that does not fit its method.
    pub fn request(key: &Key, salt: Vec<u8>, target: &Target) -> Result<Self, WireError> {
        let mut lead = Vec::new();
        write_address(target, &mut lead);
        Self::new(key, salt, lead)
    }

    /// Of a server. The salt must be fresh and as long as the key.
    ///
    /// # Errors
    /// [`WireError`] for a key that does not fit its method.
    pub fn response(key: &Key, salt: Vec<u8>) -> Result<Self, WireError> {
        Self::new(key, salt, Vec::new())
    }

    fn new(key: &Key, salt: Vec<u8>, lead: Vec<u8>) -> Result<Self, WireError> {
        let cipher = Counting::new(subkey(key, &salt)?);
        Ok(Self { head: Some(Head { salt, lead }), cipher })
    }
}

impl Seal for Sealer {
    fn seal(&mut self, plain: &[u8], out: &mut BytesMut) -> usize {
        let lead = match self.head.take() {
            Some(head) => {
                out.extend_from_slice(&head.salt);
                head.lead
            }
            None => Vec::new(),
        };
        let taken = plain.len().min(OLD_MOST - lead.len());
        if taken + lead.len() > 0 {
            seal_chunk(&mut self.cipher, &lead, &plain[..taken], out);
        }
        taken
    }
}

/// What is read, on either side.
pub struct Opener(Opening);

enum Opening {
    /// The salt is awaited.
    Salt(Key),
    Body(Chunks),
}

impl Opener {
    /// Of a client: the server's salt comes first.
    #[must_use]
    pub fn response(key: Key) -> Self {
        Self(Opening::Salt(key))
    }
}

impl Open for Opener {
    fn open(&mut self, input: &mut [u8]) -> Result<Opened, WireError> {
        match &mut self.0 {
            Opening::Body(chunks) => chunks.open(input),
            Opening::Salt(key) => {
                let len = key.method().key_len();
                if input.len() < len {
                    return Ok(Opened::More { need: len - input.len() });
                }
                self.0 = Opening::Body(Chunks::old(Counting::new(subkey(key, &input[..len])?)));
                Ok(Opened::Plain { used: len, at: 0..0 })
            }
        }
    }
}

/// What a client asked for.
pub struct Request {
    /// Which of the keys it has.
    pub user: usize,
    /// Where it wants to go.
    pub target: Target,
    /// What it said already.
    pub early: Vec<u8>,
    /// What it says later.
    pub open: Opener,
}

/// The server's side: whose key opens what comes, and where they want to go.
pub struct Server<'a, F> {
    keys: &'a [Key],
    fresh: F,
    state: State,
}

enum State {
    Unknown,
    Known { user: usize, chunks: Chunks, plain: Vec<u8> },
    Over,
}

/// Bytes that are read before anything is said of them. It fits the longest salt, and every opening is longer; Xray does
/// the same.
pub const FIRST: usize = 32 + LENGTH;

impl<'a, F: FnMut(&[u8]) -> bool> Server<'a, F> {
    /// For whoever has one of these keys. `fresh` is asked once about the salt of one who has, and says whether it was
    /// never seen before.
    pub fn new(keys: &'a [Key], fresh: F) -> Self {
        Self { keys, fresh, state: State::Unknown }
    }

    /// Whose key opens the first length.
    fn admit(&mut self, input: &[u8]) -> Result<(State, usize), WireError> {
        for (user, key) in self.keys.iter().enumerate() {
            let (salt, sealed) = input.split_at(key.method().key_len());
            let cipher = Counting::new(subkey(key, salt)?);
            let mut chunks = Chunks::old(cipher);
            let mut sealed = sealed[..LENGTH].to_vec();
            if chunks.open(&mut sealed).is_err() {
                continue;
            }
            if !(self.fresh)(salt) {
                return Err(WireError::Replayed);
            }
            return Ok((State::Known { user, chunks, plain: Vec::new() }, salt.len()));
        }
        Err(super::aead::DENIED)
    }
}

impl<F: FnMut(&[u8]) -> bool> Handshake for Server<'_, F> {
    type Output = Request;

    fn step(&mut self, input: &[u8], _: &mut Vec<u8>) -> Result<Step<Request>, WireError> {
        let mut used = 0;
        loop {
            let rest = &input[used..];
            match std::mem::replace(&mut self.state, State::Over) {
                State::Unknown if rest.len() < FIRST => {
                    self.state = State::Unknown;
                    return Ok(Step::More { used, need: FIRST - rest.len() });
                }
                State::Unknown => {
                    let (state, salt) = self.admit(rest)?;
                    self.state = state;
                    used += salt;
                }
                State::Known { user, mut chunks, mut plain } => {
                    let mut copy = rest.to_vec();
                    match chunks.open(&mut copy)? {
                        Opened::More { need } => {
                            self.state = State::Known { user, chunks, plain };
                            return Ok(Step::More { used, need });
                        }
                        Opened::Plain { used: more, at } => {
                            used += more;
                            plain.extend_from_slice(&copy[at]);
                        }
                        Opened::End { .. } | Opened::Over { .. } => {
                            return Err(WireError::Malformed { what: "request without an address" });
                        }
                    }
                    let mut reader = Reader::new(&plain);
                    match read_address(&mut reader) {
                        Ok(target) => {
                            let early = reader.take_rest().to_vec();
                            let open = Opener(Opening::Body(chunks));
                            return Ok(Step::Done { used, value: Request { user, target, early, open } });
                        }
                        // An address may be cut by the border of a chunk; it is short, so this comes to an end.
                        Err(WireError::Truncated { .. }) => self.state = State::Known { user, chunks, plain },
                        Err(error) => return Err(error),
                    }
                }
                State::Over => return Err(WireError::Malformed { what: "handshake that is over" }),
            }
        }
    }
}

#[cfg(test)]
mod tests;
