//! Reading the name and the protocols out of a TLS ClientHello.
//!
//! Only reading: nothing is verified and nothing is kept, so a few fields are taken and the rest is stepped over. Browsers
//! with post-quantum keys send hellos larger than one packet, and some clients cut them into many records; the records
//! are put together first.

use std::borrow::Cow;

use crate::addr::DomainName;
use crate::wire::{Reader, WireError};

/// What a ClientHello tells in the clear.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientHello {
    /// The server name, if one is there that is a host name. Addresses and odd texts are not.
    pub server_name: Option<DomainName>,
    /// The protocols offered, in the client's order.
    pub alpn: Vec<Vec<u8>>,
}

/// Longest hello that is put together. Real ones stay below 4 KiB.
const MAX_HELLO: usize = 32 * 1024;
/// Largest record (RFC 8446 5.1).
const MAX_RECORD: usize = 16 * 1024;
/// Bytes in front of a handshake message.
const HEADER: usize = 4;
const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const ALPN: u16 = 16;

impl ClientHello {
    /// Reads a hello from the first bytes of a connection.
    ///
    /// # Errors
    /// [`WireError::Truncated`] while more bytes are needed; others mean that this is no TLS.
    pub fn from_records(input: &[u8]) -> Result<Self, WireError> {
        let message = handshake_message(input)?;
        Self::from_body(&message[HEADER..])
    }

    /// Reads a hello from bare handshake bytes, as QUIC carries them.
    ///
    /// # Errors
    /// As [`ClientHello::from_records`].
    pub fn from_handshake(input: &[u8]) -> Result<Self, WireError> {
        match message(input)? {
            Some(body) => Self::from_body(body),
            None => Err(WireError::Truncated { need: 1 }),
        }
    }

    fn from_body(body: &[u8]) -> Result<Self, WireError> {
        Self::fields(&mut Reader::new(body)).map_err(|error| match error {
            // The message is whole, so what is missing inside of it will not come.
            WireError::Truncated { .. } => WireError::Malformed { what: "ClientHello" },
            other => other,
        })
    }

    fn fields(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let mut hello = Self::default();
        let [major, _] = reader.take_array()?;
        if major != 3 {
            return Err(WireError::Malformed { what: "TLS version" });
        }
        reader.take_bytes(32)?; // random
        reader.take_prefixed_u8()?; // session id
        reader.take_prefixed_u16()?; // cipher suites
        reader.take_prefixed_u8()?; // compression methods
        if reader.is_empty() {
            return Ok(hello);
        }
        let mut extensions = Reader::new(reader.take_prefixed_u16()?);
        while !extensions.is_empty() {
            let kind = extensions.take_u16()?;
            let mut value = Reader::new(extensions.take_prefixed_u16()?);
            match kind {
                SERVER_NAME => hello.server_name = server_name(&mut value)?,
                ALPN => hello.alpn = protocols(&mut value)?,
                _ => {}
            }
        }
        Ok(hello)
    }
}

/// The whole message of a hello in the first bytes of a connection, with its four bytes in front and nothing behind it.
/// Several records are put together.
///
/// # Errors
/// As [`ClientHello::from_records`].
pub fn handshake_message(input: &[u8]) -> Result<Cow<'_, [u8]>, WireError> {
    let mut reader = Reader::new(input);
    let len = header(&mut reader)?;
    // The sixth byte tells a hello from other handshake messages; no need to wait for the rest.
    if input.get(5).is_some_and(|&kind| kind != CLIENT_HELLO) {
        return Err(WireError::Malformed { what: "ClientHello" });
    }
    let first = reader.take_bytes(len)?;
    if let Some(body) = message(first)? {
        return Ok(Cow::Borrowed(&first[..HEADER + body.len()]));
    }
    let mut joined = first.to_vec();
    loop {
        joined.extend_from_slice(record(&mut reader)?);
        if let Some(body) = message(&joined)? {
            let len = HEADER + body.len();
            joined.truncate(len);
            return Ok(Cow::Owned(joined));
        }
    }
}

/// The payload of the next record, as far as that matters: all of it.
fn record<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], WireError> {
    let len = header(reader)?;
    reader.take_bytes(len)
}

/// The length that the next record says it has.
fn header(reader: &mut Reader<'_>) -> Result<usize, WireError> {
    let not_tls = Err(WireError::Malformed { what: "TLS record" });
    // Judged byte by byte, so that other protocols are known for what they are at once.
    if reader.take_u8()? != HANDSHAKE || reader.take_u8()? != 3 || reader.take_u8()? > 4 {
        return not_tls;
    }
    let len = usize::from(reader.take_u16()?);
    if len == 0 || len > MAX_RECORD {
        return not_tls;
    }
    Ok(len)
}

/// The body of the ClientHello at the front of `bytes`, once all of it is there.
fn message(bytes: &[u8]) -> Result<Option<&[u8]>, WireError> {
    let mut reader = Reader::new(bytes);
    let Ok(kind) = reader.take_u8() else { return Ok(None) };
    if kind != CLIENT_HELLO {
        return Err(WireError::Malformed { what: "ClientHello" });
    }
    let Ok(len) = reader.take_u24() else { return Ok(None) };
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    if len > MAX_HELLO {
        return Err(WireError::TooLong);
    }
    Ok(reader.take_bytes(len).ok())
}

fn server_name(value: &mut Reader<'_>) -> Result<Option<DomainName>, WireError> {
    let mut names = Reader::new(value.take_prefixed_u16()?);
    while !names.is_empty() {
        let kind = names.take_u8()?;
        let name = names.take_prefixed_u16()?;
        if kind == 0 {
            return Ok(host_name(name));
        }
    }
    Ok(None)
}

fn protocols(value: &mut Reader<'_>) -> Result<Vec<Vec<u8>>, WireError> {
    let mut list = Reader::new(value.take_prefixed_u16()?);
    let mut found = Vec::new();
    while !list.is_empty() {
        found.push(list.take_prefixed_u8()?.to_vec());
    }
    Ok(found)
}

/// The text as a host name, if it is one that could be dialed: no address, no empty or overlong label. Tor and others
/// put made-up texts here, and following those breaks the connection.
#[must_use]
pub(super) fn host_name(text: &[u8]) -> Option<DomainName> {
    let name = str::from_utf8(text).ok().and_then(|text| DomainName::new(text).ok())?;
    let label =
        |label: &str| !label.is_empty() && label.len() <= 63 && !label.starts_with('-') && !label.ends_with('-');
    // No top-level domain is a number; 1.2.3 and 1.2.3.4.5 are addresses gone wrong.
    let numeric = name.as_str().rsplit('.').next().is_some_and(|last| last.bytes().all(|b| b.is_ascii_digit()));
    (name.as_str().split('.').all(label) && !numeric).then_some(name)
}

#[cfg(test)]
pub(super) mod tests;
