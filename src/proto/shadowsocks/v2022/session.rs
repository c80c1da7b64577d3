//! Sessions of datagrams: each side draws an id for what it sends, and numbers its packets.

use std::ops::Range;

use bytes::BytesMut;

use super::super::window::Window;
use super::block::{BLOCK, Block};
use super::keys::{ClientKeys, ServerKeys};
use super::packet::{Body, HEADER, Inner, NONCE, Outer, read_body};
use super::request::REQUEST;
use super::response::RESPONSE;
use crate::addr::Target;
use crate::wire::{Reader, WireError};

/// Seconds after a change of its server's session for which a client takes no other.
const CHANGE: u64 = 60;

/// A client's session.
pub struct ClientSession {
    own: Inner,
    next: u64,
    keys: ClientKeys,
    /// The cipher of what is sent, of what comes, and of the identity headers.
    out: Outer,
    back: Outer,
    identities: Vec<(Block, [u8; BLOCK])>,
    /// Sessions of the server, the newest first.
    servers: Vec<(Inner, Window)>,
    /// When one took the place of another; 0 before that.
    changed: u64,
}

impl ClientSession {
    /// With a fresh id.
    ///
    /// # Errors
    /// [`WireError`] for keys that do not fit their method.
    pub fn new(keys: ClientKeys, id: [u8; 8]) -> Result<Self, WireError> {
        // Unlike in streams, the key itself seals an identity, not one derived from it.
        let identities =
            keys.way().map(|(key, hash)| Ok((Block::new(key.bytes())?, hash))).collect::<Result<_, _>>()?;
        Ok(Self {
            own: Inner::new(keys.user(), id)?,
            next: 0,
            out: Outer::new(keys.first())?,
            back: Outer::new(keys.user())?,
            identities,
            servers: Vec::new(),
            changed: 0,
            keys,
        })
    }

    /// Appends a datagram to `peer`. `now` are seconds since 1970; the nonce must be fresh.
    pub fn seal(
        &mut self,
        peer: &Target,
        payload: &[u8],
        now: u64,
        padding: u16,
        nonce: [u8; NONCE],
        out: &mut BytesMut,
    ) {
        let body = Body { kind: REQUEST, now, answers: &[], padding, peer, payload };
        let identities = &self.identities;
        let identify = |header: &[u8; HEADER], out: &mut BytesMut| {
            for (block, hash) in identities {
                let mut identity = *hash;
                for (to, from) in identity.iter_mut().zip(header) {
                    *to ^= from;
                }
                block.encrypt(&mut identity);
                out.extend_from_slice(&identity);
            }
        };
        self.own.seal(&self.out, self.next, nonce, identify, &body, out);
        self.next += 1;
    }

    /// Opens a datagram of the server where it lies; gives whose it is and where its payload lies.
    ///
    /// # Errors
    /// [`WireError`] for what is no answer to this session, or came before.
    pub fn open(&mut self, datagram: &mut [u8], now: u64) -> Result<(Target, Range<usize>), WireError> {
        let header = self.back.open(datagram)?;
        let (id, number) = numbers(&datagram[header..])?;
        let known = self.servers.iter().position(|(inner, _)| inner.id == id);
        let new = if known.is_some() { None } else { Some(Inner::new(self.keys.user(), id)?) };
        let inner = known.map(|at| &self.servers[at].0).or(new.as_ref());
        let Some(inner) = inner else { return Err(WireError::Malformed { what: "session" }) };
        let body = inner.open(datagram, header, 0)?;
        let (peer, at) = read_body(&datagram[body.clone()], RESPONSE, now, &self.own.id)?;
        if let Some(inner) = new {
            // One change is a server that began anew; more are somebody's game.
            if !self.servers.is_empty() {
                if now.saturating_sub(self.changed) < CHANGE {
                    return Err(WireError::Denied { what: "another session of the server" });
                }
                self.changed = now;
            }
            self.servers.truncate(1);
            self.servers.insert(0, (inner, Window::default()));
        }
        if !self.servers[known.unwrap_or(0)].1.admit(number) {
            return Err(WireError::Replayed);
        }
        Ok((peer, body.start + at..body.end))
    }
}

fn numbers(header: &[u8]) -> Result<([u8; 8], u64), WireError> {
    let mut reader = Reader::new(header);
    Ok((reader.take_array()?, reader.take_u64()?))
}

/// What names a session: a client may change its address in the midst of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Name(pub u64);

impl ServerKeys {
    /// Whose session a datagram belongs to. Its header is readable where it lies afterwards, as
    /// [`ServerSession`] wants it.
    ///
    /// # Errors
    /// [`WireError`] for what no user sent, as far as the header tells.
    pub fn name(&self, datagram: &mut [u8]) -> Result<Name, WireError> {
        let at = self.outer().open(datagram)?;
        let (id, _) = numbers(&datagram[at..])?;
        if self.identity_len() > 0 {
            let (header, rest) = datagram.split_at_mut(HEADER);
            let len = rest.len();
            let identity =
                rest.first_chunk_mut().ok_or_else(|| WireError::Truncated { need: BLOCK.saturating_sub(len) })?;
            self.outer().open(identity)?;
            for (to, from) in identity.iter_mut().zip(header) {
                *to ^= *from;
            }
            self.user(|| Ok(*identity))?;
        }
        Ok(Name(u64::from_be_bytes(id)))
    }
}

/// The server's side of a client's session.
pub struct ServerSession {
    user: usize,
    outer: Outer,
    client: Inner,
    window: Window,
    own: Inner,
    next: u64,
    /// Where headers begin, and how much stands between them and the body.
    header: usize,
    between: usize,
}

impl ServerSession {
    /// Of the session to which this datagram belongs; it was named by [`ServerKeys::name`]. The own id must be fresh.
    ///
    /// # Errors
    /// [`WireError`] for a datagram that no user sent.
    pub fn new(keys: &ServerKeys, named: &[u8], id: [u8; 8]) -> Result<Self, WireError> {
        let header = match keys.outer() {
            Outer::Block(_) => 0,
            Outer::Whole(_) => NONCE,
        };
        let mut reader = Reader::new(named);
        reader.take_bytes(header)?;
        let client = reader.take_array()?;
        reader.take_u64()?;
        let (user, key) = keys.user(|| reader.take_array())?;
        Ok(Self {
            user,
            outer: Outer::new(key)?,
            client: Inner::new(key, client)?,
            window: Window::default(),
            own: Inner::new(key, id)?,
            next: 0,
            header,
            between: keys.identity_len(),
        })
    }

    /// Which of the server's users it is.
    #[must_use]
    pub fn user(&self) -> usize {
        self.user
    }

    /// The client's name for the session.
    #[must_use]
    pub fn id(&self) -> [u8; 8] {
        self.client.id
    }

    /// Which numbers came.
    #[must_use]
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// Goes on where an earlier association of the same session ended.
    pub fn resume(&mut self, window: Window) {
        self.window = window;
    }

    /// Opens a named datagram where it lies; gives where it is to go and where its payload lies.
    ///
    /// # Errors
    /// [`WireError`] for what does not belong here, or came before.
    pub fn open(&mut self, named: &mut [u8], now: u64) -> Result<(Target, Range<usize>), WireError> {
        let missing = (self.header + HEADER).saturating_sub(named.len());
        if missing > 0 {
            return Err(WireError::Truncated { need: missing });
        }
        let (id, number) = numbers(&named[self.header..])?;
        if id != self.client.id {
            return Err(WireError::Malformed { what: "session" });
        }
        let body = self.client.open(named, self.header, self.between)?;
        let (target, at) = read_body(&named[body.clone()], REQUEST, now, &[])?;
        if !self.window.admit(number) {
            return Err(WireError::Replayed);
        }
        Ok((target, body.start + at..body.end))
    }

    /// Appends a datagram as from `peer`. `now` are seconds since 1970; the nonce must be fresh.
    pub fn seal(
        &mut self,
        peer: &Target,
        payload: &[u8],
        now: u64,
        padding: u16,
        nonce: [u8; NONCE],
        out: &mut BytesMut,
    ) {
        let body = Body { kind: RESPONSE, now, answers: &self.client.id, padding, peer, payload };
        self.own.seal(&self.outer, self.next, nonce, |_, _| (), &body, out);
        self.next += 1;
    }
}

#[cfg(test)]
mod tests;
