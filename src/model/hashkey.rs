//! What rendezvous hashing goes by: the names of DECISIONS 30, and nginx-style variables.

use std::fmt;
use std::str::FromStr;

use serde_json::{Value as Json, json};

use crate::shape::{Defs, Dialect, Field, Kind, Node, Plain, Reader, Value, nearest};

/// One part of a flow's hash key. A flow that lacks it has an empty part there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyPart {
    /// The client's address, `$remote_addr`.
    SourceIp,
    /// The user that logged in, `$remote_user`.
    User,
    /// The inbound.
    InboundTag,
    /// The host a flow is meant for, by name where one is known.
    DestHost,
    /// The registrable domain of that host, or its address.
    DestSite,
    /// The address a flow is meant for.
    DestIp,
    /// The port it is meant for.
    DestPort,
    /// The host an HTTP request names, lower-case and without port: `$host`.
    Host,
    /// The method of an HTTP request: `$request_method`.
    Method,
    /// The path of an HTTP request without its query: `$uri`.
    Path,
    /// The query of an HTTP request: `$args`.
    Query,
    /// Path and query as the client wrote them: `$request_uri`.
    RequestUri,
    /// A header of an HTTP request, by its name in lower-case with dashes: `$http_x_user_id` is `x-user-id`.
    Header(String),
    /// One argument of the query: `$arg_NAME`.
    Argument(String),
    /// A cookie: `$cookie_NAME`.
    Cookie(String),
}

/// Words and what they mean; the first word of a part is the one that is written.
const WORDS: [(&str, KeyPart); 16] = [
    ("source_ip", KeyPart::SourceIp),
    ("user", KeyPart::User),
    ("inbound_tag", KeyPart::InboundTag),
    ("dest_host", KeyPart::DestHost),
    ("dest_site", KeyPart::DestSite),
    ("dest_ip", KeyPart::DestIp),
    ("dest_port", KeyPart::DestPort),
    ("$host", KeyPart::Host),
    ("$request_method", KeyPart::Method),
    ("$uri", KeyPart::Path),
    ("$args", KeyPart::Query),
    ("$request_uri", KeyPart::RequestUri),
    ("$query_string", KeyPart::Query),
    ("$remote_addr", KeyPart::SourceIp),
    ("$binary_remote_addr", KeyPart::SourceIp),
    ("$remote_user", KeyPart::User),
];

/// No such part.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown hash key `{0}`")]
pub struct UnknownPart(String);

impl FromStr for KeyPart {
    type Err = UnknownPart;

    fn from_str(text: &str) -> Result<Self, UnknownPart> {
        if let Some((_, part)) = WORDS.iter().find(|(word, _)| *word == text) {
            return Ok(part.clone());
        }
        let named = |prefix: &str| text.strip_prefix(prefix).filter(|name| !name.is_empty());
        if let Some(name) = named("$http_") {
            return Ok(Self::Header(name.to_ascii_lowercase().replace('_', "-")));
        }
        let argument = named("$arg_").map(|name| Self::Argument(name.to_owned()));
        let cookie = || named("$cookie_").map(|name| Self::Cookie(name.to_owned()));
        argument.or_else(cookie).ok_or_else(|| UnknownPart(text.to_owned()))
    }
}

impl fmt::Display for KeyPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(name) => write!(f, "$http_{}", name.replace('-', "_")),
            Self::Argument(name) => write!(f, "$arg_{name}"),
            Self::Cookie(name) => write!(f, "$cookie_{name}"),
            plain => f.write_str(WORDS.iter().find(|(_, part)| part == plain).map_or("", |(word, _)| word)),
        }
    }
}

impl Field for KeyPart {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        let text = String::read(cx, node)?;
        match text.parse() {
            Ok(part) => Some(part),
            Err(unknown) => {
                let near = nearest(&text, WORDS.iter().map(|(word, _)| *word));
                let problem = cx.error(node, Kind::Value, format!("{unknown}"));
                problem.help = Some(match near {
                    Some(word) => format!("did you mean `{word}`?"),
                    None => format!("known are {}, `$http_NAME`, `$arg_NAME` and `$cookie_NAME`", known()),
                });
                None
            }
        }
    }

    fn write(&self, _: Dialect) -> Plain {
        Plain::Text(self.to_string())
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        let words: Vec<&str> = WORDS.iter().map(|(word, _)| *word).collect();
        json!({ "anyOf": [{ "enum": words }, { "type": "string", "pattern": "^\\$(http|arg|cookie)_." }] })
    }
}

fn known() -> String {
    WORDS[..12].iter().map(|(word, _)| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// The parts of a key in their order: one word, or a list of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HashKey(pub Vec<KeyPart>);

impl Default for HashKey {
    fn default() -> Self {
        Self(vec![KeyPart::SourceIp])
    }
}

impl Field for HashKey {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        if matches!(node.value, Value::Text(_)) {
            return KeyPart::read(cx, node).map(|part| Self(vec![part]));
        }
        let parts = Vec::<KeyPart>::read(cx, node)?;
        if parts.is_empty() && matches!(&node.value, Value::List(items) if items.is_empty()) {
            let problem = cx.error(node, Kind::Value, "a hash key needs at least one part");
            problem.help = Some(format!("leave it out for the usual one; known are {}", known()));
        }
        Some(Self(parts))
    }

    fn write(&self, dialect: Dialect) -> Plain {
        self.0.write(dialect)
    }

    fn shape(dialect: Dialect, defs: &mut Defs) -> Json {
        json!({ "anyOf": [KeyPart::shape(dialect, defs), Vec::<KeyPart>::shape(dialect, defs)] })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_word_reads_and_writes_back() {
        for (word, part) in &WORDS[..12] {
            assert_eq!(word.parse::<KeyPart>().as_ref(), Ok(part));
            assert_eq!(part.to_string(), *word);
        }
        for (text, part, back) in [
            ("$http_X_User_Id", KeyPart::Header("x-user-id".into()), "$http_x_user_id"),
            ("$arg_page", KeyPart::Argument("page".into()), "$arg_page"),
            ("$cookie_SID", KeyPart::Cookie("SID".into()), "$cookie_SID"),
            ("$remote_addr", KeyPart::SourceIp, "source_ip"),
        ] {
            assert_eq!(text.parse::<KeyPart>().as_ref(), Ok(&part));
            assert_eq!(part.to_string(), back);
        }
    }

    #[test]
    fn what_resembles_a_part_is_none() {
        for text in ["", "$", "host", "$http_", "$arg", "$uid_x", "$remote_addr ", "SOURCE_IP", "$http"] {
            assert_eq!(text.parse::<KeyPart>(), Err(UnknownPart(text.into())));
        }
    }

    #[test]
    fn what_is_unknown_is_refused_with_the_nearest_word() {
        for (text, help) in [("dest_hots", "dest_host"), ("$http_", "$http_NAME"), ("$ssl_cipher", "$cookie_NAME")] {
            let env = |_: &str| None;
            let mut cx = Reader::new(Dialect::Toml, &env);
            assert_eq!(HashKey::read(&mut cx, &Node::bare(Value::Text(text.into()))), None);
            assert_eq!(cx.problems[0].message, format!("unknown hash key `{text}`"));
            assert!(cx.problems[0].help.as_ref().unwrap().contains(help), "{:?}", cx.problems[0].help);
        }
    }

    #[test]
    fn one_word_stands_for_a_list_of_one_and_no_part_is_an_error() {
        let env = |_: &str| None;
        let mut cx = Reader::new(Dialect::Json, &env);
        let one = HashKey::read(&mut cx, &Node::bare(Value::Text("user".into())));
        assert_eq!((one, cx.problems.len()), (Some(HashKey(vec![KeyPart::User])), 0));
        HashKey::read(&mut cx, &Node::bare(Value::List(vec![])));
        assert_eq!(cx.problems[0].message, "a hash key needs at least one part");
    }
}
