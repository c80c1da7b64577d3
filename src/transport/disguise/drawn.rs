//! Heads whose values are drawn anew for each connection.

use rand::seq::IndexedRandom;

use crate::model::carrier::{RequestHeader, ResponseHeader};
use crate::proto::http::Headers;
use crate::transport::answers::date;
use crate::transport::browser::{Purpose, dress};

/// Fields with the values that one is drawn from.
type Fields = Vec<(String, Vec<String>)>;

/// The head of a request.
#[derive(Debug, Clone)]
pub(super) struct Request {
    method: String,
    version: String,
    paths: Vec<String>,
    fields: Fields,
}

impl Request {
    pub(super) fn new(set: &RequestHeader) -> Self {
        Self {
            method: set.method.clone(),
            version: set.version.clone(),
            paths: set.path.0.clone(),
            fields: set
                .headers
                .as_ref()
                .map_or_else(usual, |all| all.iter().map(|(name, values)| (name.clone(), values.0.clone())).collect()),
        }
    }

    /// One of them.
    pub(super) fn draw(&self) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/{}\r\n", self.method, drawn(&self.paths), self.version).into_bytes();
        headers(&self.fields).write(&mut head);
        head
    }
}

/// The head of an answer.
#[derive(Debug, Clone)]
pub(super) struct Response {
    first: String,
    fields: Fields,
}

impl Response {
    pub(super) fn new(set: &ResponseHeader) -> Self {
        let first = format!("HTTP/{} {} {}\r\n", set.version, set.status, set.reason);
        Self { first, fields: set.headers.iter().map(|(name, values)| (name.clone(), values.0.clone())).collect() }
    }

    /// One of them, with the time unless a time is configured.
    pub(super) fn draw(&self) -> Vec<u8> {
        let mut headers = headers(&self.fields);
        if !headers.has("date") {
            headers.push("Date", date());
        }
        let mut head = self.first.clone().into_bytes();
        headers.write(&mut head);
        head
    }
}

/// Xray's own fields, where none are configured.
fn usual() -> Fields {
    let mut browser = vec![];
    dress(&mut browser, Purpose::WebSocket);
    let worn = ["User-Agent", "Sec-CH-UA", "Sec-CH-UA-Mobile", "Sec-CH-UA-Platform"];
    let host = ("Host".to_owned(), vec!["www.baidu.com".to_owned(), "www.bing.com".to_owned()]);
    let browser = browser.into_iter().filter(|(name, _)| worn.contains(&name.as_str()));
    let fixed: [(&str, &[&str]); 7] = [
        ("Sec-Fetch-Mode", &["no-cors", "cors", "same-origin"]),
        ("Sec-Fetch-Dest", &["empty"]),
        ("Sec-Fetch-Site", &["none"]),
        ("Sec-Fetch-User", &["?1"]),
        ("Accept-Encoding", &["gzip, deflate"]),
        ("Connection", &["keep-alive"]),
        ("Pragma", &["no-cache"]),
    ];
    let fixed =
        fixed.iter().map(|(name, values)| ((*name).to_owned(), values.iter().map(|v| (*v).to_owned()).collect()));
    std::iter::once(host).chain(browser.map(|(name, value)| (name, vec![value]))).chain(fixed).collect()
}

fn headers(fields: &Fields) -> Headers {
    let mut headers = Headers::default();
    for (name, values) in fields {
        headers.push(name.as_str(), drawn(values));
    }
    headers
}

fn drawn(values: &[String]) -> &str {
    values.choose(&mut rand::rng()).map_or("", String::as_str)
}
