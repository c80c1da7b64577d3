//! Reading all of a ClientHello that a server answers by.

use super::exchange::{Group, HYBRID_HALF};
use crate::wire::{Reader, WireError};

/// What a client offers. Nothing is copied out of its message.
#[derive(Debug, Clone, Copy)]
pub struct ClientHello<'a> {
    /// The whole message, with the four bytes in front.
    pub message: &'a [u8],
    /// Its random bytes.
    pub random: &'a [u8; 32],
    /// The session id, which is free for other uses.
    pub session_id: &'a [u8],
    /// The name it asks for, as it stands there.
    pub server_name: Option<&'a [u8]>,
    /// The first protocol it offers.
    pub alpn: Option<&'a [u8]>,
    /// Whether it speaks this version.
    pub tls13: bool,
    x25519: Option<&'a [u8]>,
    hybrid: Option<&'a [u8]>,
}

/// Where the session id stands in the message.
pub const SESSION_ID: usize = 4 + 2 + 32 + 1;

const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const ALPN: u16 = 16;
const SUPPORTED_VERSIONS: u16 = 43;
const KEY_SHARE: u16 = 51;
const TLS13: u16 = 0x0304;

impl<'a> ClientHello<'a> {
    /// Reads exactly one message.
    ///
    /// # Errors
    /// [`WireError`] if that is none, or something stands behind it.
    pub fn read(message: &'a [u8]) -> Result<Self, WireError> {
        let wrong = WireError::Malformed { what: "ClientHello" };
        let mut reader = Reader::new(message);
        let (kind, len) = (reader.take_u8()?, reader.take_u24()?);
        if kind != CLIENT_HELLO || u32::try_from(reader.left()).ok() != Some(len) {
            return Err(wrong);
        }
        if reader.take_u8()? != 3 {
            return Err(wrong);
        }
        reader.take_u8()?;
        let random = reader.take_bytes(32)?.first_chunk().ok_or(wrong)?;
        let session_id = reader.take_prefixed_u8()?;
        reader.take_prefixed_u16()?; // cipher suites
        reader.take_prefixed_u8()?; // compression methods
        let mut extensions = Reader::new(reader.take_prefixed_u16()?);
        if !reader.is_empty() {
            return Err(wrong);
        }
        let (server_name, alpn, tls13, x25519, hybrid) = (None, None, false, None, None);
        let mut hello = Self { message, random, session_id, server_name, alpn, tls13, x25519, hybrid };
        while !extensions.is_empty() {
            let kind = extensions.take_u16()?;
            hello.take(kind, &mut Reader::new(extensions.take_prefixed_u16()?))?;
        }
        Ok(hello)
    }

    fn take(&mut self, kind: u16, value: &mut Reader<'a>) -> Result<(), WireError> {
        match kind {
            SERVER_NAME => {
                let mut names = Reader::new(value.take_prefixed_u16()?);
                while !names.is_empty() {
                    let kind = names.take_u8()?;
                    let name = names.take_prefixed_u16()?;
                    if kind == 0 {
                        self.server_name = Some(name);
                    }
                }
            }
            ALPN => self.alpn = Some(Reader::new(value.take_prefixed_u16()?).take_prefixed_u8()?),
            SUPPORTED_VERSIONS => {
                let mut versions = Reader::new(value.take_prefixed_u8()?);
                while !versions.is_empty() {
                    self.tls13 |= versions.take_u16()? == TLS13;
                }
            }
            KEY_SHARE => {
                let mut shares = Reader::new(value.take_prefixed_u16()?);
                while !shares.is_empty() {
                    let group = Group::from_code(shares.take_u16()?);
                    let share = shares.take_prefixed_u16()?;
                    match group.filter(|group| group.client_len() == share.len()) {
                        Some(Group::X25519) => self.x25519 = self.x25519.or(Some(share)),
                        Some(Group::X25519MlKem768) => self.hybrid = self.hybrid.or(Some(share)),
                        None => {}
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Its share for a group.
    #[must_use]
    pub fn share(&self, group: Group) -> Option<&'a [u8]> {
        match group {
            Group::X25519 => self.x25519,
            Group::X25519MlKem768 => self.hybrid,
        }
    }

    /// Its X25519 key; where it has but the hybrid one, that half of it.
    #[must_use]
    pub fn x25519(&self) -> Option<&'a [u8]> {
        self.x25519.or_else(|| self.hybrid.map(|share| &share[HYBRID_HALF..]))
    }
}
