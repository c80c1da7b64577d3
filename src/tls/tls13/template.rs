//! Another server's ServerHello, to be answered with.

use std::ops::Range;

use super::exchange::Group;
use super::suite::Suite;
use crate::wire::{Reader, WireError};

/// A ServerHello in which everything but the key share stays as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerHello {
    message: Vec<u8>,
    share: Range<usize>,
    /// The suite it chose.
    pub suite: Suite,
    /// The group it chose.
    pub group: Group,
}

const SERVER_HELLO: u8 = 2;
const SUPPORTED_VERSIONS: u16 = 43;
const KEY_SHARE: u16 = 51;
const PRE_SHARED_KEY: u16 = 41;

impl ServerHello {
    /// Reads exactly one message.
    ///
    /// # Errors
    /// [`WireError`] if it is none that we could answer with: another version, another group, a request for a second
    /// hello, a resumed session.
    pub fn read(message: &[u8]) -> Result<Self, WireError> {
        let wrong = WireError::Malformed { what: "ServerHello" };
        let mut reader = Reader::new(message);
        let (kind, len) = (reader.take_u8()?, reader.take_u24()?);
        if kind != SERVER_HELLO || u32::try_from(reader.left()).ok() != Some(len) {
            return Err(wrong);
        }
        if reader.take_u16()? != 0x0303 {
            return Err(wrong);
        }
        reader.take_bytes(32)?; // random
        reader.take_prefixed_u8()?; // session id
        let suite = Suite::from_code(reader.take_u16()?);
        reader.take_u8()?; // compression method
        let mut extensions = Reader::new(reader.take_prefixed_u16()?);
        if !reader.is_empty() {
            return Err(wrong);
        }
        // All that is left of the message are the extensions.
        let first = message.len() - extensions.left();
        let (mut tls13, mut share) = (false, None);
        while !extensions.is_empty() {
            let kind = extensions.take_u16()?;
            let value = extensions.take_prefixed_u16()?;
            let end = first + extensions.used();
            let mut value = Reader::new(value);
            match kind {
                SUPPORTED_VERSIONS => tls13 = value.take_u16()? == 0x0304,
                KEY_SHARE => {
                    let group = Group::from_code(value.take_u16()?).ok_or(wrong)?;
                    // A request for a second hello names a group and has no share.
                    let key = value.take_prefixed_u16()?;
                    if key.len() != group.server_len() || !value.is_empty() {
                        return Err(wrong);
                    }
                    share = Some((group, end - key.len()..end));
                }
                PRE_SHARED_KEY => return Err(wrong),
                _ => {}
            }
        }
        match (tls13, suite, share) {
            (true, Some(suite), Some((group, share))) => Ok(Self { message: message.to_vec(), share, suite, group }),
            _ => Err(wrong),
        }
    }

    /// Its own key share.
    #[cfg(test)]
    pub(super) fn share(&self) -> &[u8] {
        &self.message[self.share.clone()]
    }

    /// The message with another key share of the same group.
    #[must_use]
    pub fn with_share(mut self, share: &[u8]) -> Vec<u8> {
        self.message.splice(self.share, share.iter().copied());
        self.message
    }
}
