//! Where a word stands in a request.

use http::HeaderMap;
use http::header::{COOKIE, HeaderName, HeaderValue};
use http::request::Parts;

use crate::model::carrier::Placement;
use crate::transport::error::TransportError;

/// Where a word stands in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Spot {
    /// As a piece of the path, behind the base.
    Path,
    /// In a cookie of this name.
    Cookie(String),
    /// In a header.
    Header(HeaderName),
    /// In the query under this name.
    Query(String),
}

impl Spot {
    /// Of a session's id or a packet's number; `word` names it where no key is configured.
    pub(super) fn new(placement: Placement, key: &str, word: &'static str) -> Result<Self, TransportError> {
        let low = if key.is_empty() { format!("x_{word}") } else { key.to_owned() };
        Ok(match placement {
            Placement::Usual | Placement::Path | Placement::QueryInHeader => Self::Path,
            Placement::Cookie => Self::Cookie(low),
            Placement::Query => Self::Query(low),
            Placement::Header => Self::Header(header(if key.is_empty() { format!("x-{word}") } else { low })?),
        })
    }

    /// Puts a word there.
    pub(super) fn put(&self, word: &str, target: &mut Target, headers: &mut HeaderMap) {
        match self {
            Self::Path => target.push(word),
            Self::Query(key) => target.ask(key, word),
            Self::Cookie(key) => add_cookie(headers, key, word),
            Self::Header(name) => {
                if let Ok(value) = HeaderValue::from_str(word) {
                    headers.insert(name, value);
                }
            }
        }
    }

    /// Looks it up; a piece of the path is the next of `pieces`.
    pub(super) fn find<'a>(&self, head: &'a Parts, pieces: &mut impl Iterator<Item = &'a str>) -> Option<&'a str> {
        match self {
            Self::Path => pieces.next(),
            Self::Query(key) => asked(head.uri.query().unwrap_or_default(), key),
            Self::Cookie(key) => cookie(&head.headers, key),
            Self::Header(name) => head.headers.get(name)?.to_str().ok(),
        }
        .filter(|word| !word.is_empty())
    }
}

/// Path and query of a request in the making.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) path: String,
    pub(super) query: String,
}

impl Target {
    fn push(&mut self, piece: &str) {
        if !self.path.ends_with('/') {
            self.path.push('/');
        }
        self.path.push_str(piece);
    }

    pub(super) fn ask(&mut self, key: &str, word: &str) {
        if !self.query.is_empty() {
            self.query.push('&');
        }
        self.query.extend([key, "=", word]);
    }

    pub(super) fn text(&self) -> String {
        if self.query.is_empty() { self.path.clone() } else { format!("{}?{}", self.path, self.query) }
    }
}

/// A header's name as a configuration writes it.
pub(super) fn header(name: String) -> Result<HeaderName, TransportError> {
    name.try_into().map_err(|_| TransportError::Text { what: "a header name of xhttpSettings" })
}

/// The value of a key in a query.
pub(super) fn asked<'a>(query: &'a str, key: &str) -> Option<&'a str> {
    query.split('&').find_map(|pair| pair.split_once('=').filter(|(name, _)| *name == key)).map(|(_, value)| value)
}

pub(super) fn add_cookie(headers: &mut HeaderMap, key: &str, word: &str) {
    let before = headers.get(COOKIE).and_then(|value| value.to_str().ok());
    let all = before.map_or_else(|| format!("{key}={word}"), |before| format!("{before}; {key}={word}"));
    if let Ok(value) = HeaderValue::from_str(&all) {
        headers.insert(COOKIE, value);
    }
}

pub(super) fn cookie<'a>(headers: &'a HeaderMap, key: &str) -> Option<&'a str> {
    let all = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = all.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == key).map(|(_, value)| value.trim_matches('"'))
}
