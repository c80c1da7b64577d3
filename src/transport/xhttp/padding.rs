//! Padding, without which a server refuses everything: lengths of requests would tell too much.

use http::HeaderMap;
use http::header::{HeaderName, HeaderValue, REFERER};
use http::request::Parts;
use rand::RngExt;
use rand::distr::Alphanumeric;

use super::draw::drawn;
use super::huffman::huffman_len;
use super::spot::{Target, add_cookie, asked, cookie, header};
use crate::model::carrier::{PaddingMethod, Placement, Xhttp};
use crate::transport::error::TransportError;

/// Where padding stands and what it is.
#[derive(Debug, Clone)]
pub(super) struct Padding {
    from: usize,
    to: usize,
    /// Letters and digits that have their length in HPACK's code; else the letter X.
    tokenish: bool,
    place: Place,
    /// Where servers look in the other mode.
    key: String,
    header: HeaderName,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The usual one: the query of the Referer, and in answers a header.
    Referer,
    QueryInHeader,
    Header,
    Cookie,
    Query,
}

/// By how much a token may miss its length.
const TOLERANCE: usize = 2;

impl Padding {
    pub(super) fn new(set: &Xhttp) -> Result<Self, TransportError> {
        let place = match set.x_padding_placement {
            _ if !set.x_padding_obfs_mode => Place::Referer,
            Placement::Cookie => Place::Cookie,
            Placement::Header => Place::Header,
            Placement::Query => Place::Query,
            Placement::Usual | Placement::Path | Placement::QueryInHeader => Place::QueryInHeader,
        };
        let usual = place == Place::Referer;
        Ok(Self {
            from: usize::try_from(set.x_padding_bytes.from).unwrap_or(1),
            to: usize::try_from(set.x_padding_bytes.to).unwrap_or(1),
            tokenish: !usual && set.x_padding_method == PaddingMethod::Tokenish,
            place,
            key: if usual { "x_padding".to_owned() } else { set.x_padding_key.clone() },
            header: if usual { HeaderName::from_static("x-padding") } else { header(set.x_padding_header.clone())? },
        })
    }

    /// Padding for a request. `url` is the request's without its query.
    pub(super) fn pad(&self, url: &str, target: &mut Target, headers: &mut HeaderMap) {
        let value = self.value();
        match self.place {
            Place::Referer => insert(headers, REFERER, &format!("{url}?{}={value}", self.key)),
            Place::QueryInHeader => insert(headers, self.header.clone(), &format!("{url}?{}={value}", self.key)),
            Place::Header => insert(headers, self.header.clone(), &value),
            Place::Cookie => add_cookie(headers, &self.key, &value),
            Place::Query => target.ask(&self.key, &value),
        }
    }

    /// Padding for an answer.
    pub(super) fn pad_answer(&self, headers: &mut HeaderMap) {
        let value = self.value();
        match self.place {
            Place::Referer | Place::Header => insert(headers, self.header.clone(), &value),
            Place::QueryInHeader => insert(headers, self.header.clone(), &format!("?{}={value}", self.key)),
            Place::Cookie => {
                let cookie = format!("{}={value}; Path=/", self.key);
                insert(headers, http::header::SET_COOKIE, &cookie);
            }
            Place::Query => {}
        }
    }

    /// Whether a request has padding of a length that is taken here.
    pub(super) fn is_right(&self, head: &Parts) -> bool {
        let value = self.find(head).unwrap_or_default();
        let (len, slack) = if self.tokenish { (huffman_len(value), TOLERANCE) } else { (value.len(), 0) };
        len > 0 && len >= self.from.saturating_sub(slack) && len <= self.to + slack
    }

    fn find<'a>(&self, head: &'a Parts) -> Option<&'a str> {
        let query = head.uri.query().unwrap_or_default();
        let in_header = |name: &HeaderName| head.headers.get(name)?.to_str().ok().filter(|text| !text.is_empty());
        let of_url = |url: &'a str| url.split_once('?').and_then(|(_, query)| asked(query, &self.key));
        if self.place == Place::Referer {
            return in_header(&REFERER).map_or_else(|| asked(query, &self.key), of_url);
        }
        let cookie = cookie(&head.headers, &self.key).filter(|value| !value.is_empty());
        cookie.or_else(|| match in_header(&self.header) {
            Some(value) if self.place == Place::Header => Some(value),
            Some(url) => of_url(url),
            None => asked(query, &self.key),
        })
    }

    /// So many bytes, for a body.
    pub(super) fn filler(&self) -> Vec<u8> {
        vec![b'X'; drawn(self.from, self.to)]
    }

    fn value(&self) -> String {
        let len = drawn(self.from, self.to);
        if self.tokenish { token(len) } else { "X".repeat(len) }
    }
}

/// Letters and digits that have this length in HPACK's code, or almost.
fn token(len: usize) -> String {
    let mut rng = rand::rng();
    let mut text = String::new();
    while huffman_len(&text) < len {
        text.push(char::from(rng.sample(Alphanumeric)));
    }
    text
}

fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::shape::Ranged;

    fn padding(set: &Xhttp) -> Padding {
        Padding::new(set).unwrap()
    }

    fn padded(with: &Padding) -> Parts {
        let mut target = Target { path: "/up/".into(), query: "a=b".into() };
        let mut headers = HeaderMap::new();
        with.pad("https://a.example/up/", &mut target, &mut headers);
        let (mut parts, ()) = http::Request::builder().uri(target.text()).body(()).unwrap().into_parts();
        parts.headers = headers;
        parts
    }

    #[test]
    fn a_server_finds_what_a_client_put_wherever_it_is() {
        let places =
            [Placement::Usual, Placement::QueryInHeader, Placement::Header, Placement::Cookie, Placement::Query];
        for x_padding_placement in places {
            for x_padding_method in [PaddingMethod::RepeatX, PaddingMethod::Tokenish] {
                for x_padding_obfs_mode in [false, true] {
                    let set = Xhttp { x_padding_obfs_mode, x_padding_placement, x_padding_method, ..Xhttp::default() };
                    let padding = padding(&set);
                    assert!(padding.is_right(&padded(&padding)), "{set:?}");
                }
            }
        }
    }

    #[test]
    fn lengths_out_of_range_are_refused() {
        let short = padding(&Xhttp { x_padding_bytes: Ranged::new(5, 9), ..Xhttp::default() });
        let usual = padding(&Xhttp::default());
        assert!(!usual.is_right(&padded(&short)) && !short.is_right(&padded(&usual)));
        let (none, ()) = http::Request::builder().uri("/up/?x_padding=XXXXX").body(()).unwrap().into_parts();
        assert!(short.is_right(&none) && !usual.is_right(&none));
    }
}
