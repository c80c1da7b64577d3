//! Headers on their way: what belongs to one connection stays there, and servers learn who asked.

use std::net::IpAddr;

use hyper::header::{
    CONNECTION, CONTENT_LENGTH, COOKIE, EXPECT, Entry, FORWARDED, HOST, HeaderMap, HeaderName, HeaderValue,
    PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING, UPGRADE,
};
use hyper::http::request::Parts;
use hyper::{StatusCode, Version};

use crate::model::private::is_private_ip;

const FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const ASKED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");
const HTTP2_SETTINGS: HeaderName = HeaderName::from_static("http2-settings");

/// Proxies that a request may have passed. One that passed more goes in a ring.
const MOST_PROXIES: usize = 32;

/// The headers a server is sent, and whether they ask for another protocol.
pub(super) struct Outgoing {
    pub(super) headers: HeaderMap,
    pub(super) upgrade: bool,
}

/// Who asks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Client {
    ip: IpAddr,
    /// Whether it may be a proxy of our own.
    near: bool,
}

impl From<IpAddr> for Client {
    fn from(ip: IpAddr) -> Self {
        Self { ip, near: is_private_ip(ip) }
    }
}

/// Makes the headers for a server out of a client's request.
///
/// # Errors
/// The status to answer with.
pub(super) fn for_server(parts: &Parts, client: Client) -> Result<Outgoing, StatusCode> {
    let mut headers = parts.headers.clone();
    let host = host(parts)?;
    let upgrade = upgrade(parts);
    strip(&mut headers);
    // The body may come while the server thinks; whoever waits for its word was given ours.
    headers.remove(EXPECT);
    headers.remove(HTTP2_SETTINGS);
    if let Some(protocol) = &upgrade {
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(UPGRADE, protocol.clone());
    }
    join_cookies(&mut headers);
    forwarded(&mut headers, client, &host)?;
    headers.insert(HOST, host);
    Ok(Outgoing { headers, upgrade: upgrade.is_some() })
}

/// Makes the headers for a client out of a server's answer.
pub(super) fn for_client(headers: &mut HeaderMap, switching: bool) {
    let protocol = headers.get(UPGRADE).cloned().filter(|_| switching);
    strip(headers);
    if let Some(protocol) = protocol {
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(UPGRADE, protocol);
    }
}

/// The host that is asked for, as the client said it. The address in a request line counts before the header.
fn host(parts: &Parts) -> Result<HeaderValue, StatusCode> {
    let mut said = parts.headers.get_all(HOST).into_iter();
    let (first, second) = (said.next(), said.next());
    if second.is_some() {
        return Err(StatusCode::BAD_REQUEST);
    }
    match (parts.uri.authority(), first) {
        (Some(authority), _) => HeaderValue::from_str(authority.as_str()).map_err(|_| StatusCode::BAD_REQUEST),
        (None, Some(host)) => Ok(host.clone()),
        // Older clients do not know it.
        (None, None) if parts.version <= Version::HTTP_10 => Ok(HeaderValue::from_static("")),
        (None, None) => Err(StatusCode::BAD_REQUEST),
    }
}

/// The other protocol that is asked for. HTTP/2 in clear text is not passed on: behind it nobody would look at requests.
fn upgrade(parts: &Parts) -> Option<HeaderValue> {
    let protocol = parts.headers.get(UPGRADE)?;
    let asks = parts.version == Version::HTTP_11 && listed(&parts.headers).any(|name| name == "upgrade");
    let h2c = protocol.to_str().is_ok_and(|text| text.to_ascii_lowercase().contains("h2c"));
    (asks && !h2c).then(|| protocol.clone())
}

/// Takes out what belongs to one connection: what the standard says, and what `Connection` names.
fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = listed(headers).filter_map(|name| name.parse().ok()).collect();
    if headers.contains_key(TRANSFER_ENCODING) {
        headers.remove(CONTENT_LENGTH);
    }
    let trailers = headers.get(TE).is_some_and(|te| te.as_bytes().eq_ignore_ascii_case(b"trailers"));
    // Nobody may have these taken out: the body would have another end, or the request another host.
    let kept = [CONTENT_LENGTH, HOST];
    for name in named.into_iter().filter(|name| !kept.contains(name)) {
        headers.remove(name);
    }
    let usual = [
        CONNECTION,
        KEEP_ALIVE,
        PROXY_CONNECTION,
        PROXY_AUTHENTICATE,
        PROXY_AUTHORIZATION,
        TE,
        TRANSFER_ENCODING,
        UPGRADE,
    ];
    for name in usual {
        headers.remove(name);
    }
    if trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
    }
}

/// The names in `Connection`, in lower case.
fn listed(headers: &HeaderMap) -> impl Iterator<Item = String> {
    let lines = headers.get_all(CONNECTION).into_iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',').map(|name| name.trim().to_ascii_lowercase()))
}

/// HTTP/2 may send cookies one by one; HTTP/1.1 has one line.
fn join_cookies(headers: &mut HeaderMap) {
    let Entry::Occupied(mut entry) = headers.entry(COOKIE) else { return };
    if entry.iter().nth(1).is_some() {
        let lines: Vec<&[u8]> = entry.iter().map(HeaderValue::as_bytes).collect();
        if let Ok(joined) = HeaderValue::from_bytes(&lines.join(&b"; "[..])) {
            entry.insert(joined);
        }
    }
}

/// Says who asked, and for what. What a client says of itself is believed of private addresses alone, where proxies of
/// our own stand; only the list of addresses grows with every proxy, whose last entry is always ours.
fn forwarded(headers: &mut HeaderMap, client: Client, host: &HeaderValue) -> Result<(), StatusCode> {
    if !client.near {
        for name in [PROTO, ASKED_HOST, FORWARDED] {
            headers.remove(name);
        }
    }
    let mut list = Vec::new();
    for line in headers.get_all(FOR) {
        list.extend_from_slice(line.as_bytes());
        list.extend_from_slice(b", ");
    }
    if list.iter().filter(|byte| **byte == b',').count() > MOST_PROXIES {
        return Err(StatusCode::LOOP_DETECTED);
    }
    list.extend_from_slice(client.ip.to_string().as_bytes());
    headers.insert(FOR, HeaderValue::from_bytes(&list).map_err(|_| StatusCode::BAD_REQUEST)?);
    headers.entry(PROTO).or_insert(HeaderValue::from_static("http"));
    if !host.is_empty() {
        headers.entry(ASKED_HOST).or_insert_with(|| host.clone());
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use hyper::Request;

    use super::*;

    fn parts(lines: &[(&str, &str)]) -> Parts {
        let mut request = Request::get("/");
        for (name, value) in lines {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    fn sent(lines: &[(&str, &str)], source: &str) -> Result<Vec<(String, String)>, StatusCode> {
        let out = for_server(&parts(lines), source.parse::<IpAddr>().unwrap().into())?;
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let mut lines: Vec<_> = out.headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect();
        lines.sort();
        Ok(lines)
    }

    fn pairs(lines: &[(&str, &str)]) -> Vec<(String, String)> {
        lines.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn what_belongs_to_a_connection_stays_there() {
        let lines = [
            ("host", "a.example"),
            ("connection", "keep-alive, X-Private, content-length"),
            ("x-private", "1"),
            ("keep-alive", "timeout=5"),
            ("te", "trailers"),
            ("transfer-encoding", "chunked"),
            ("content-length", "5"),
            ("proxy-authorization", "Basic eDp5"),
            ("upgrade", "h2c"),
            ("expect", "100-continue"),
            ("cookie", "a=1"),
            ("cookie", "b=2"),
            ("x-kept", "2"),
        ];
        let want = [
            ("cookie", "a=1; b=2"),
            ("host", "a.example"),
            ("te", "trailers"),
            ("x-forwarded-for", "203.0.114.9"),
            ("x-forwarded-host", "a.example"),
            ("x-forwarded-proto", "http"),
            ("x-kept", "2"),
        ];
        assert_eq!(sent(&lines, "203.0.114.9"), Ok(pairs(&want)));
        let lines = [("host", "a"), ("connection", "content-length"), ("content-length", "5")];
        assert!(sent(&lines, "10.0.0.1").unwrap().contains(&("content-length".into(), "5".into())));
    }

    #[test]
    fn strangers_are_not_believed_and_every_proxy_is_added() {
        let lines = [("host", "a"), ("x-forwarded-for", "1.1.1.1"), ("x-forwarded-proto", "https"), ("forwarded", "x")];
        let far = [("host", "a"), ("x-forwarded-for", "1.1.1.1, 8.8.8.8"), ("x-forwarded-host", "a")];
        assert_eq!(sent(&lines, "8.8.8.8").unwrap()[..3], pairs(&far));
        let near = sent(&lines, "10.0.0.2").unwrap();
        assert!(near.contains(&("x-forwarded-proto".into(), "https".into())));
        assert!(near.contains(&("forwarded".into(), "x".into())));
        let ring = "1.1.1.1, ".repeat(40);
        assert_eq!(sent(&[("host", "a"), ("x-forwarded-for", &ring)], "10.0.0.2"), Err(StatusCode::LOOP_DETECTED));
    }

    #[test]
    fn a_request_has_one_host() {
        assert_eq!(sent(&[], "10.0.0.2"), Err(StatusCode::BAD_REQUEST));
        assert_eq!(sent(&[("host", "a"), ("host", "b")], "10.0.0.2"), Err(StatusCode::BAD_REQUEST));
    }

    #[test]
    fn other_protocols_are_asked_for_by_name() {
        let asks = |protocol, connection| {
            let lines = [("host", "a"), ("upgrade", protocol), ("connection", connection)];
            for_server(&parts(&lines), IpAddr::from([10, 0, 0, 2]).into()).unwrap().upgrade
        };
        assert!(asks("websocket", "keep-alive, Upgrade"));
        assert!(!asks("websocket", "keep-alive"));
        assert!(!asks("h2c", "Upgrade, HTTP2-Settings"));
    }
}
