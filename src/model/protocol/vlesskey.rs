//! The key texts of VLESS' own encryption.

use serde_json::{Value as Json, json};

use crate::model::keys::base64;
use crate::shape::{Defs, Dialect, Field, Kind, Node, Plain, Reader, Secret};

/// Blocks shorter than this are padding parameters, longer ones are keys.
const KEY_FROM: usize = 20;

macro_rules! key_texts {
    ($($(#[doc = $doc:literal])* $name:ident, $word:literal, $check:path;)*) => {$(
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
        }

        impl Field for $name {
            fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
                cx.secrets.push(node.span);
                match node.text() {
                    Some("none") => Some(Self(None)),
                    Some(text) => match $check(text) {
                        Ok(()) => Some(Self(Some(Secret::new(text.to_owned())))),
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
    Decryption, "decryption", server;
    /// A client's keys: X25519 (32 bytes) or ML-KEM-768 (1184 bytes).
    Encryption, "encryption", client;
}

fn server(text: &str) -> Result<(), &'static str> {
    check(text, |time| time.strip_suffix('s').unwrap_or(time).split('-').all(|t| t.parse::<u32>().is_ok()), &[32, 64])
}

fn client(text: &str) -> Result<(), &'static str> {
    check(text, |time| matches!(time, "0rtt" | "1rtt"), &[32, 1184])
}

fn check(text: &str, time: fn(&str) -> bool, lengths: &[usize]) -> Result<(), &'static str> {
    let parts: Vec<&str> = text.split('.').collect();
    let [scheme, mode, when, blocks @ ..] = parts.as_slice() else {
        return Err("expected `none`, or four or more parts with dots between");
    };
    if *scheme != "mlkem768x25519plus" {
        return Err("expected `none`, or a text that begins with mlkem768x25519plus");
    }
    if !matches!(*mode, "native" | "xorpub" | "random") {
        return Err("the second part must be native, xorpub or random");
    }
    if !time(when) {
        return Err("the third part must be a time such as 600s (server), or 0rtt or 1rtt (client)");
    }
    let keys: Vec<_> = blocks.iter().skip_while(|b| b.len() < KEY_FROM).collect();
    if keys.is_empty() {
        return Err("there is no key in it");
    }
    if keys.iter().any(|key| base64(key).is_none_or(|key| !lengths.contains(&key.len()))) {
        return Err("a key in it has the wrong length");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_texts_are_checked_part_by_part() {
        let key = "A".repeat(43);
        assert_eq!(client(&format!("mlkem768x25519plus.native.0rtt.100-111-1111.{key}")), Ok(()));
        assert_eq!(server(&format!("mlkem768x25519plus.random.300-600s.{key}")), Ok(()));
        assert!(client(&format!("mlkem768x25519plus.native.600s.{key}")).is_err());
        assert!(client("mlkem768x25519plus.native.0rtt").is_err());
        assert!(client("aes-128-gcm").is_err());
    }
}
