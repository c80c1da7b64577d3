//! The opening of a stream: salt, identity, and two headers, of which the second carries the first payload.

use bytes::{BufMut, BytesMut};
use rand::{Rng, RngExt};

use super::super::aead::{Counting, TAG};
use super::super::chunks::{Chunks, NEW_MOST, seal_chunk};
use super::block::{BLOCK, identity, subkey};
use super::keys::{ClientKeys, ServerKeys};
use super::moment::check;
use crate::addr::Target;
use crate::proto::socks::{read_address, write_address};
use crate::wire::{Handshake, Open, Opened, Reader, Seal, Step, WireError};

/// The type of what a client says.
pub(super) const REQUEST: u8 = 0;

/// Bytes of the sealed first header.
const FIXED: usize = 1 + 8 + 2 + TAG;

/// Payload from which on no padding is needed; also the most padding there is.
pub const PADDED: usize = 900;

/// So many bytes of padding, drawn anew.
pub fn padding(rng: &mut impl Rng) -> u16 {
    rng.random_range(1..=PADDED as u16)
}

/// What a client writes.
pub struct RequestSealer {
    head: Option<Head>,
    cipher: Counting,
}

struct Head {
    /// Salt and identity headers.
    front: Vec<u8>,
    address: Vec<u8>,
    time: u64,
    padding: u16,
}

impl RequestSealer {
    /// Asks for `target`. The salt must be fresh and as long as the key; `padding` (1 to 900 bytes, drawn anew) is used
    /// where the first payload is short. `now` are seconds since 1970.
    ///
    /// # Errors
    /// [`WireError`] for a key that does not fit its method.
    pub fn new(keys: &ClientKeys, salt: Vec<u8>, target: &Target, now: u64, padding: u16) -> Result<Self, WireError> {
        let cipher = Counting::new(subkey(keys.user(), &salt)?);
        let mut front = salt.clone();
        for (key, mut hash) in keys.way() {
            identity(key, &salt)?.encrypt(&mut hash);
            front.extend_from_slice(&hash);
        }
        let mut address = Vec::new();
        write_address(target, &mut address);
        let padding = padding.clamp(1, PADDED as u16);
        Ok(Self { head: Some(Head { front, address, time: now, padding }), cipher })
    }
}

impl Seal for RequestSealer {
    fn seal(&mut self, plain: &[u8], out: &mut BytesMut) -> usize {
        let Some(head) = self.head.take() else {
            let taken = plain.len().min(NEW_MOST);
            if taken > 0 {
                seal_chunk(&mut self.cipher, &[], &plain[..taken], out);
            }
            return taken;
        };
        let padding = if plain.len() < PADDED { usize::from(head.padding) } else { 0 };
        let front = head.address.len() + 2 + padding;
        let taken = plain.len().min(NEW_MOST - front);
        out.extend_from_slice(&head.front);
        let from = out.len();
        out.put_u8(REQUEST);
        out.put_u64(head.time);
        out.put_u16(u16::try_from(front + taken).unwrap_or(u16::MAX));
        self.cipher.seal(out, from);
        let from = out.len();
        out.extend_from_slice(&head.address);
        out.put_u16(u16::try_from(padding).unwrap_or(0));
        out.put_bytes(0, padding);
        out.extend_from_slice(&plain[..taken]);
        self.cipher.seal(out, from);
        taken
    }
}

/// What a client asked for.
pub struct Accepted {
    /// Which of the server's users it is; 0 where there is one only.
    pub user: usize,
    /// Where it wants to go.
    pub target: Target,
    /// What it said already.
    pub early: Vec<u8>,
    /// What it says later.
    pub open: BodyOpener,
    /// Its salt, which the response repeats.
    pub salt: Vec<u8>,
}

/// What a client says behind its opening.
pub struct BodyOpener(Chunks);

impl Open for BodyOpener {
    fn open(&mut self, input: &mut [u8]) -> Result<Opened, WireError> {
        self.0.open(input)
    }
}

/// The server's side of the opening.
pub struct Server<'a, F> {
    keys: &'a ServerKeys,
    now: u64,
    fresh: F,
    state: State,
}

enum State {
    First,
    Second { user: usize, cipher: Counting, len: usize, salt: Vec<u8> },
    Over,
}

/// Bytes up to the end of the first header, which a client sends at once.
#[must_use]
pub fn first(keys: &ServerKeys) -> usize {
    keys.method().key_len() + keys.identity_len() + FIXED
}

impl<'a, F: FnMut(&[u8]) -> bool> Server<'a, F> {
    /// For those who have a key. `fresh` is asked once about the salt of one who has, and says whether it was never seen
    /// before. `now` are seconds since 1970.
    pub fn new(keys: &'a ServerKeys, now: u64, fresh: F) -> Self {
        Self { keys, now, fresh, state: State::First }
    }

    fn first(&mut self, input: &[u8]) -> Result<State, WireError> {
        let mut reader = Reader::new(input);
        let salt = reader.take_bytes(self.keys.method().key_len())?;
        let (user, key) = self.keys.user(|| {
            let mut hash = reader.take_array::<BLOCK>()?;
            identity(self.keys.own(), salt)?.decrypt(&mut hash);
            Ok(hash)
        })?;
        let mut cipher = Counting::new(subkey(key, salt)?);
        let mut fixed = reader.take_array::<FIXED>()?;
        let mut header = Reader::new(cipher.open(&mut fixed)?);
        if header.take_u8()? != REQUEST {
            return Err(WireError::Malformed { what: "type of header" });
        }
        check(header.take_u64()?, self.now)?;
        if !(self.fresh)(salt) {
            return Err(WireError::Replayed);
        }
        Ok(State::Second { user, cipher, len: header.take_u16()?.into(), salt: salt.to_vec() })
    }
}

fn second(plain: &[u8]) -> Result<(Target, Vec<u8>), WireError> {
    let short = |error| match error {
        WireError::Truncated { .. } => WireError::Malformed { what: "header" },
        other => other,
    };
    let mut reader = Reader::new(plain);
    let target = read_address(&mut reader).map_err(short)?;
    let padding = reader.take_prefixed_u16().map_err(short)?.len();
    let early = reader.take_rest().to_vec();
    if padding == 0 && early.is_empty() {
        return Err(WireError::Malformed { what: "header with neither payload nor padding" });
    }
    Ok((target, early))
}

impl<F: FnMut(&[u8]) -> bool> Handshake for Server<'_, F> {
    type Output = Accepted;

    fn step(&mut self, input: &[u8], _: &mut Vec<u8>) -> Result<Step<Accepted>, WireError> {
        let mut used = 0;
        if matches!(self.state, State::First) {
            let wanted = first(self.keys);
            if input.len() < wanted {
                return Ok(Step::More { used: 0, need: wanted - input.len() });
            }
            self.state = self.first(input)?;
            used = wanted;
        }
        let rest = &input[used..];
        match std::mem::replace(&mut self.state, State::Over) {
            State::Second { user, mut cipher, len, salt } => {
                let Some(sealed) = rest.get(..len + TAG) else {
                    self.state = State::Second { user, cipher, len, salt };
                    return Ok(Step::More { used, need: len + TAG - rest.len() });
                };
                let mut sealed = sealed.to_vec();
                let (target, early) = second(cipher.open(&mut sealed)?)?;
                let open = BodyOpener(Chunks::new(cipher));
                Ok(Step::Done { used: used + len + TAG, value: Accepted { user, target, early, open, salt } })
            }
            State::First | State::Over => Err(WireError::Malformed { what: "handshake that is over" }),
        }
    }
}

#[cfg(test)]
mod tests;
