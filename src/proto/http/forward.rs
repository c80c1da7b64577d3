//! Rewriting heads for the next hop: what belongs to one connection stays on it (RFC 9110 7.6.1).
//!
//! Each request goes to the origin on a connection of its own, because each is routed anew; hence `Connection: close`
//! there. Towards the client the connection is kept whenever the answer's end can be seen.

use super::body::Length;
use super::head::{RequestHead, ResponseHead, Version};
use super::headers::Headers;

/// Whether a connection serves another request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Persist {
    /// It ends with this exchange.
    Close,
    /// The next request may follow.
    Keep,
}

/// Whether the client wants to go on after this request: what HTTP/1.1 does unless told, and HTTP/1.0 only if told.
#[must_use]
pub fn client_persists(head: &RequestHead) -> Persist {
    let says = |word| head.headers.lists("connection", word) || head.headers.lists("proxy-connection", word);
    let keep = match head.version {
        Version::Http11 => !says("close"),
        Version::Http10 => says("keep-alive") && !says("close"),
    };
    if keep { Persist::Keep } else { Persist::Close }
}

/// Makes the head that the origin gets: origin form, its own Host, no field that was for us. Says whether the request
/// asks for another protocol, which is passed on; `h2c` is not, since clients that offer it take HTTP/1.1 as well.
pub fn request_for_origin(head: &mut RequestHead, authority: Option<&str>, path: Option<&str>) -> bool {
    let upgrade = upgrade_of(head);
    strip(&mut head.headers, &ONLY_FOR_THE_PROXY);
    if let Some(authority) = authority {
        head.headers.lead("Host", authority);
    }
    if let Some(path) = path {
        path.clone_into(&mut head.target);
    }
    match &upgrade {
        Some(protocol) => {
            head.headers.push("Connection", "Upgrade");
            head.headers.push("Upgrade", protocol.clone());
        }
        None => head.headers.push("Connection", "close"),
    }
    upgrade.is_some()
}

/// Makes the head that the client gets.
pub fn response_for_client(head: &mut ResponseHead, client: Version, length: Length, persist: Persist) {
    if head.status == 101 {
        let protocol = head.headers.first("upgrade").map(<[u8]>::to_vec);
        strip(&mut head.headers, &ONLY_FOR_THE_CLIENT);
        head.headers.push("Connection", "Upgrade");
        if let Some(protocol) = protocol {
            head.headers.push("Upgrade", protocol);
        }
        return;
    }
    strip(&mut head.headers, &ONLY_FOR_THE_CLIENT);
    if length == Length::Chunked {
        head.headers.remove("content-length");
    }
    if head.is_interim() {
        return;
    }
    match (persist, client) {
        (Persist::Close, _) => head.headers.push("Connection", "close"),
        (Persist::Keep, Version::Http10) => head.headers.push("Connection", "keep-alive"),
        // Old libraries look for the word even in HTTP/1.1.
        (Persist::Keep, Version::Http11) if head.version == Version::Http10 => {
            head.headers.push("Connection", "keep-alive");
        }
        (Persist::Keep, Version::Http11) => {}
    }
}

/// The protocol that a request asks to change to.
fn upgrade_of(head: &RequestHead) -> Option<Vec<u8>> {
    if head.version == Version::Http10 || !head.headers.lists("connection", "upgrade") {
        return None;
    }
    let protocol = head.headers.first("upgrade").filter(|value| !value.is_empty())?;
    let h2c = head.headers.lists("upgrade", "h2c");
    (!h2c).then(|| protocol.to_vec())
}

/// Removes the fields that Connection names, and those that are always for one hop.
fn strip(headers: &mut Headers, always: &[&str]) {
    let named: Vec<String> = headers
        .items("connection")
        .chain(headers.items("proxy-connection"))
        .filter_map(|name| str::from_utf8(name).ok())
        .filter(|name| !NEVER_NAMED.iter().any(|kept| name.eq_ignore_ascii_case(kept)))
        .map(str::to_owned)
        .collect();
    for name in always.iter().copied().chain(named.iter().map(String::as_str)) {
        headers.remove(name);
    }
}

const ONLY_FOR_THE_PROXY: [&str; 7] =
    ["connection", "proxy-connection", "keep-alive", "proxy-authorization", "proxy-authenticate", "te", "upgrade"];
const ONLY_FOR_THE_CLIENT: [&str; 5] =
    ["connection", "proxy-connection", "keep-alive", "proxy-authenticate", "upgrade"];

/// Fields that a Connection field cannot remove: without them the message would mean something else.
const NEVER_NAMED: [&str; 5] = ["host", "content-length", "transfer-encoding", "cookie", "authorization"];

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn request(text: &str) -> RequestHead {
        RequestHead::parse(text.replace('\n', "\r\n").as_bytes()).unwrap()
    }

    fn shown(head: &RequestHead) -> String {
        let mut out = Vec::new();
        head.write(&mut out);
        String::from_utf8(out).unwrap().replace("\r\n", "\n")
    }

    fn answered(text: &str, client: Version, persist: Persist) -> String {
        let mut head = ResponseHead::parse(text.replace('\n', "\r\n").as_bytes()).unwrap();
        let length = Length::of_response("GET", &head).unwrap();
        response_for_client(&mut head, client, length, persist);
        let mut out = Vec::new();
        head.write(&mut out);
        String::from_utf8(out).unwrap().replace("\r\n", "\n")
    }

    #[test]
    fn what_was_for_the_proxy_stays_here() {
        let mut head = request(
            "POST http://b.example/x HTTP/1.1\nHost: other\nProxy-Authorization: Basic eA==\nX-One: 1\nTE: trailers\n\
             Proxy-Connection: keep-alive\nConnection: keep-alive, X-One, Content-Length\nContent-Length: 5\n\
             Accept: */*\n\n",
        );
        assert!(!request_for_origin(&mut head, Some("b.example"), Some("/x")));
        assert_eq!(
            shown(&head),
            "POST /x HTTP/1.1\nHost: b.example\nContent-Length: 5\nAccept: */*\nConnection: close\n\n"
        );
    }

    #[test]
    fn an_upgrade_is_passed_on_but_not_to_h2c() {
        let ask = "GET http://b/ws HTTP/1.1\nHost: b\nConnection: keep-alive, Upgrade\nUpgrade: websocket\n\n";
        let mut head = request(ask);
        assert!(request_for_origin(&mut head, Some("b"), Some("/ws")));
        assert_eq!(shown(&head), "GET /ws HTTP/1.1\nHost: b\nConnection: Upgrade\nUpgrade: websocket\n\n");
        let mut h2c = request(
            "GET http://b/ HTTP/1.1\nHost: b\nConnection: Upgrade, HTTP2-Settings\nUpgrade: h2c\nHTTP2-Settings: AA\n\n",
        );
        assert!(!request_for_origin(&mut h2c, Some("b"), Some("/")));
        assert_eq!(shown(&h2c), "GET / HTTP/1.1\nHost: b\nConnection: close\n\n");
    }

    #[test]
    fn clients_persist_as_their_version_says() {
        let says = |text| client_persists(&request(text));
        assert_eq!(says("GET / HTTP/1.1\n\n"), Persist::Keep);
        assert_eq!(says("GET / HTTP/1.1\nConnection: close\n\n"), Persist::Close);
        assert_eq!(says("GET / HTTP/1.1\nProxy-Connection: Close\n\n"), Persist::Close);
        assert_eq!(says("GET / HTTP/1.0\n\n"), Persist::Close);
        assert_eq!(says("GET / HTTP/1.0\nProxy-Connection: Keep-Alive\n\n"), Persist::Keep);
    }

    #[test]
    fn answers_lose_what_was_for_this_hop() {
        assert_eq!(
            answered(
                "HTTP/1.1 200 OK\nConnection: close, X-A\nX-A: 1\nKeep-Alive: timeout=5\nContent-Length: 3\n\n",
                Version::Http11,
                Persist::Keep,
            ),
            "HTTP/1.1 200 OK\nContent-Length: 3\n\n"
        );
        assert_eq!(
            answered("HTTP/1.0 200 OK\n\n", Version::Http11, Persist::Close),
            "HTTP/1.0 200 OK\nConnection: close\n\n"
        );
        assert_eq!(
            answered("HTTP/1.1 200 OK\nContent-Length: 3\n\n", Version::Http10, Persist::Keep),
            "HTTP/1.1 200 OK\nContent-Length: 3\nConnection: keep-alive\n\n"
        );
        assert_eq!(
            answered(
                "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nContent-Length: 3\n\n",
                Version::Http11,
                Persist::Keep
            ),
            "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n"
        );
    }

    #[test]
    fn interim_answers_and_the_change_of_protocol_pass() {
        assert_eq!(
            answered("HTTP/1.1 103 Early Hints\nLink: <x>\n\n", Version::Http11, Persist::Keep),
            "HTTP/1.1 103 Early Hints\nLink: <x>\n\n"
        );
        assert_eq!(
            answered(
                "HTTP/1.1 101 Switching Protocols\nUpgrade: websocket\nConnection: upgrade\n\n",
                Version::Http11,
                Persist::Keep
            ),
            "HTTP/1.1 101 Switching Protocols\nConnection: Upgrade\nUpgrade: websocket\n\n"
        );
    }
}
