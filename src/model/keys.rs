//! Keys and ids as people write them: base64 in its four forms, hexadecimal, UUIDs.

use base64::Engine as _;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Value as Json, json};
use uuid::Uuid;

use crate::shape::{Defs, Dialect, Field, Kind, Node, Plain, Reader, Secret};

/// Base64 of either alphabet, with or without padding.
#[must_use]
pub fn base64(text: &str) -> Option<Vec<u8>> {
    let lax = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let alphabet = if text.contains(['-', '_']) { &base64::alphabet::URL_SAFE } else { &base64::alphabet::STANDARD };
    GeneralPurpose::new(alphabet, lax).decode(text.trim()).ok()
}

/// Bytes of hexadecimal digits.
#[must_use]
pub fn hex(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.is_ascii() {
        return None;
    }
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).ok()).collect()
}

/// The id of a VLESS or VMess user.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct UserId(Secret<[u8; 16]>);

impl UserId {
    /// The sixteen bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8; 16] {
        self.0.expose()
    }

    /// Reads a UUID of 32 to 36 characters; a shorter text of up to 30 bytes stands for the UUID made of it
    /// (version 5 in the nil name space, as Xray does).
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let id = match text.len() {
            1..=30 => Uuid::new_v5(&Uuid::nil(), text.as_bytes()),
            32..=36 => Self::digits(text)?,
            _ => return None,
        };
        Some(Self(Secret::new(id.into_bytes())))
    }

    /// Groups of 8-4-4-4-12 digits with an optional hyphen before each but the first.
    fn digits(text: &str) -> Option<Uuid> {
        let mut rest = text;
        let mut all = String::with_capacity(32);
        for (n, len) in [8, 4, 4, 4, 12].into_iter().enumerate() {
            if n > 0 {
                rest = rest.strip_prefix('-').unwrap_or(rest);
            }
            all.push_str(rest.get(..len)?);
            rest = &rest[len..];
        }
        if !rest.is_empty() || !all.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        Uuid::parse_str(&all).ok()
    }
}

impl Field for UserId {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        cx.secrets.push(node.span);
        let Some(text) = node.text() else {
            cx.error(node, Kind::Type, format!("invalid type: {}, expected a UUID", node.describe(false)));
            return None;
        };
        let id = Self::parse(text);
        if id.is_none() {
            let what = if text.is_empty() { "it is empty" } else { "expected a UUID, or a text of up to 30 bytes" };
            cx.error(node, Kind::Value, format!("invalid UUID: {what}"));
        }
        id
    }

    fn write(&self, _: Dialect) -> Plain {
        Plain::Text(Uuid::from_bytes(*self.bytes()).hyphenated().to_string())
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        json!({ "type": "string", "x-secret": true })
    }
}

/// A key of `N` bytes, as base64 of any form or as hexadecimal digits. It is written as it was read.
#[derive(Debug, Clone)]
pub struct KeyOf<const N: usize> {
    bytes: Secret<Vec<u8>>,
    text: Secret<String>,
}

impl<const N: usize> KeyOf<N> {
    /// The `N` bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.bytes.expose()
    }
}

impl<const N: usize> Default for KeyOf<N> {
    fn default() -> Self {
        Self { bytes: Secret::new(vec![0; N]), text: Secret::new(String::new()) }
    }
}

impl<const N: usize> PartialEq for KeyOf<N> {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl<const N: usize> Field for KeyOf<N> {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        cx.secrets.push(node.span);
        let Some(text) = node.text() else {
            cx.error(node, Kind::Type, format!("invalid type: {}, expected a key", node.describe(false)));
            return None;
        };
        let bytes = if text.len() == 2 * N { hex(text).or_else(|| base64(text)) } else { base64(text) };
        match bytes {
            Some(bytes) if bytes.len() == N => {
                Some(Self { bytes: Secret::new(bytes), text: Secret::new(text.to_owned()) })
            }
            Some(bytes) => {
                cx.error(node, Kind::Value, format!("invalid key: needs {N} bytes, has {}", bytes.len()));
                None
            }
            None => {
                cx.error(node, Kind::Value, format!("invalid key: expected {N} bytes in base64"));
                None
            }
        }
    }

    fn write(&self, _: Dialect) -> Plain {
        Plain::Text(self.text.expose().clone())
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        json!({ "type": "string", "x-secret": true })
    }
}

/// A key or none: clients write an empty text where there is none.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KeyIfAny<const N: usize>(pub Option<KeyOf<N>>);

impl<const N: usize> Field for KeyIfAny<N> {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        if node.text() == Some("") {
            return Some(Self(None));
        }
        KeyOf::read(cx, node).map(|key| Self(Some(key)))
    }

    fn write(&self, dialect: Dialect) -> Plain {
        self.0.as_ref().map_or_else(|| Plain::Text(String::new()), |key| key.write(dialect))
    }

    fn shape(dialect: Dialect, defs: &mut Defs) -> Json {
        KeyOf::<N>::shape(dialect, defs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(id: Option<UserId>) -> Option<String> {
        id.map(|id| Uuid::from_bytes(*id.bytes()).to_string())
    }

    #[test]
    fn a_short_text_stands_for_the_uuid_made_of_it() {
        assert_eq!(text(UserId::parse("example")).as_deref(), Some("feb54431-301b-52bb-a6dd-e1e93e81bb9e"));
    }

    #[test]
    fn hyphens_may_be_left_out_one_by_one() {
        let whole = UserId::parse("11111111-2222-3333-4444-555555555555");
        assert!(whole.is_some());
        assert_eq!(UserId::parse("11111111222233334444555555555555"), whole);
        assert_eq!(UserId::parse("11111111-222233334444-555555555555"), whole);
        for bad in ["", &"a".repeat(31), &"a".repeat(37), "1111111-12222-3333-4444-555555555555"] {
            assert_eq!(UserId::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn base64_is_read_in_all_its_forms() {
        for text in ["-_8=", "-_8", "+/8=", "+/8"] {
            assert_eq!(base64(text), Some(vec![0xfb, 0xff]), "{text}");
        }
    }
}
