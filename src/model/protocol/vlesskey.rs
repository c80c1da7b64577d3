//! The key texts of VLESS' own encryption.

use serde_json::{Value as Json, json};

use crate::model::keys::base64;
use crate::shape::{Defs, Dialect, Field, Kind, Node, Plain, Reader, Secret};

/// Blocks shorter than this are padding parameters, longer ones are keys.
const KEY_FROM: usize = 20;

/// What a text says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts<T> {
    /// How much is hidden.
    pub mode: EncryptionMode,
    /// Of a server, for how many seconds its tickets count (the second number where two are given); of a client, whether
    /// it uses them.
    pub tickets: T,
    /// Pieces of padding and waits in turns: percent, and between what.
    pub padding: Vec<[u32; 3]>,
    /// One behind the other.
    pub keys: Vec<Secret<Vec<u8>>>,
}

/// What an observer still sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EncryptionMode {
    /// All of it as it is.
    Native,
    /// No public keys.
    Xorpub,
    /// Nothing.
    Random,
}

macro_rules! key_texts {
    ($($(#[doc = $doc:literal])* $name:ident, $word:literal, $tickets:ty, $check:path;)*) => {$(
        $(#[doc = $doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Default)]
        pub struct $name(Option<Secret<String>>);

        impl $name {
            /// Whether it is `none`.
            #[must_use]
            pub fn is_none(&self) -> bool {
                self.0.is_none()
            }

            /// The checked text, if there is one.
            #[must_use]
            pub fn text(&self) -> Option<&str> {
                self.0.as_ref().map(|text| text.expose().as_str())
            }

            /// What it says.
            #[must_use]
            pub fn parts(&self) -> Option<Parts<$tickets>> {
                $check(self.text()?).ok()
            }
        }

        impl Field for $name {
            fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
                cx.secrets.push(node.span);
                match node.text() {
                    Some("none") => Some(Self(None)),
                    Some(text) => match $check(text) {
                        Ok(_) => Some(Self(Some(Secret::new(text.to_owned())))),
                        Err(why) => {
                            cx.error(node, Kind::Value, format!(concat!("unsupported \"", $word, "\": {}"), why));
                            None
                        }
                    },
                    None => {
                        let message = format!("invalid type: {}, expected a string", node.describe(false));
                        cx.error(node, Kind::Type, message);
                        None
                    }
                }
            }

            fn write(&self, _: Dialect) -> Plain {
                Plain::from(self.text().unwrap_or("none"))
            }

            fn shape(_: Dialect, _: &mut Defs) -> Json {
                json!({ "type": "string", "x-secret": true })
            }

            fn if_missing() -> Option<&'static str> {
                Some(concat!("add `\"", $word, "\": \"none\"`, or the keys that the other side has"))
            }
        }
    )*};
}

key_texts! {
    /// A server's keys: X25519 (32 bytes) or ML-KEM-768 seeds (64 bytes).
    Decryption, "decryption", (u32, Option<u32>), server;
    /// A client's keys: X25519 (32 bytes) or ML-KEM-768 (1184 bytes).
    Encryption, "encryption", bool, client;
}

fn server(text: &str) -> Result<Parts<(u32, Option<u32>)>, &'static str> {
    let time = |time: &str| {
        let mut numbers = time.strip_suffix('s').unwrap_or(time).splitn(2, '-').map(str::parse);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(from)), None) => Ok((from, None)),
            (Some(Ok(from)), Some(Ok(to))) => Ok((from, Some(to))),
            _ => Err("the third part must be a time such as 600s"),
        }
    };
    parts(text, time, &[32, 64])
}

fn client(text: &str) -> Result<Parts<bool>, &'static str> {
    let time = |time: &str| match time {
        "0rtt" => Ok(true),
        "1rtt" => Ok(false),
        _ => Err("the third part must be 0rtt or 1rtt"),
    };
    parts(text, time, &[32, 1184])
}

fn parts<T>(
    text: &str,
    time: impl Fn(&str) -> Result<T, &'static str>,
    lengths: &[usize],
) -> Result<Parts<T>, &'static str> {
    let split: Vec<&str> = text.split('.').collect();
    let [scheme, mode, when, blocks @ ..] = split.as_slice() else {
        return Err("expected `none`, or four or more parts with dots between");
    };
    if *scheme != "mlkem768x25519plus" {
        return Err("expected `none`, or a text that begins with mlkem768x25519plus");
    }
    let mode = match *mode {
        "native" => EncryptionMode::Native,
        "xorpub" => EncryptionMode::Xorpub,
        "random" => EncryptionMode::Random,
        _ => return Err("the second part must be native, xorpub or random"),
    };
    let tickets = time(when)?;
    let count = blocks.iter().take_while(|block| block.len() < KEY_FROM).count();
    let (triples, keys) = blocks.split_at_checked(count).unwrap_or_default();
    if keys.is_empty() {
        return Err("there is no key in it");
    }
    let key = |key: &&str| base64(key).filter(|key| lengths.contains(&key.len())).map(Secret::new);
    let keys = keys.iter().map(key).collect::<Option<_>>().ok_or("a key in it has the wrong length")?;
    Ok(Parts { mode, tickets, padding: padding(triples)?, keys })
}

/// As much as a length of two bytes can say, and its own.
const PADDING: u64 = 18 + 65_535;

fn padding(blocks: &[&str]) -> Result<Vec<[u32; 3]>, &'static str> {
    let triple = |block: &&str| {
        let numbers: Vec<u32> = block.split('-').map(str::parse).collect::<Result<_, _>>().ok()?;
        numbers.try_into().ok()
    };
    let triples: Vec<[u32; 3]> =
        blocks.iter().map(triple).collect::<Option<_>>().ok_or("padding must be percent-from-to, such as 50-0-3333")?;
    if triples.first().is_some_and(|[percent, from, to]| *percent < 100 || from.min(to) < &35) {
        return Err("the first padding must be certain (100), and 35 bytes long at least");
    }
    if triples.iter().step_by(2).map(|[_, from, to]| u64::from(*from.max(to))).sum::<u64>() > PADDING {
        return Err("its padding is longer than 65553 bytes");
    }
    Ok(triples)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn key_texts_are_checked_part_by_part() {
        let key = "A".repeat(43);
        let told = client(&format!("mlkem768x25519plus.native.0rtt.100-111-1111.50-0-9.{key}.{key}")).unwrap();
        assert_eq!((told.mode, told.tickets, told.keys.len()), (EncryptionMode::Native, true, 2));
        assert_eq!(told.padding, [[100, 111, 1111], [50, 0, 9]]);
        let told = server(&format!("mlkem768x25519plus.random.300-600s.{key}")).unwrap();
        assert_eq!((told.mode, told.tickets), (EncryptionMode::Random, (300, Some(600))));
        assert_eq!(server(&format!("mlkem768x25519plus.xorpub.600s.{key}")).unwrap().tickets, (600, None));
        for padding in ["99-50-60", "100-34-60", "100-50", "100-50-60-70", "100-a-b", "100-40-65554"] {
            assert!(client(&format!("mlkem768x25519plus.native.0rtt.{padding}.{key}")).is_err(), "{padding}");
        }
        assert!(client(&format!("mlkem768x25519plus.native.0rtt.{key}.50-0-1")).is_err());
        assert!(client(&format!("mlkem768x25519plus.native.600s.{key}")).is_err());
        assert!(client("mlkem768x25519plus.native.0rtt").is_err());
        assert!(client("aes-128-gcm").is_err());
    }
}
