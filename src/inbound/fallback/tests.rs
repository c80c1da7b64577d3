#![allow(clippy::unwrap_used)]

use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::net::{TcpListener, UnixListener};

use super::*;
use crate::inbound::testing::{common, visitor};

/// `name alpn path port`, `-` for empty.
fn fallback(text: &str) -> Fallback {
    let mut words = text.split(' ').map(|word| if word == "-" { String::new() } else { word.to_owned() });
    let (name, alpn, path) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
    let to = Refuge::Tcp(Target::new(Host::Ip([127, 0, 0, 1].into()), words.next().unwrap().parse().unwrap()));
    Fallback { name, alpn, path, to, header: None }
}

fn chosen(entries: &[&str], name: &str, alpn: &str, first: &str) -> Option<u16> {
    let fallbacks = Fallbacks::new(entries.iter().map(|text| fallback(text)).collect());
    let hello = Hello { server_name: Some(name.into()), alpn: Some(alpn.as_bytes().into()), ..Hello::default() };
    fallbacks.choose(Some(&hello), first.as_bytes()).map(|fallback| match &fallback.to {
        Refuge::Tcp(target) => target.port,
        Refuge::Unix(_) => 0,
    })
}

const GET: &str = "GET /ws?x=1 HTTP/1.1\r\nHost: a\r\n\r\n";

#[test]
fn the_default_serves_whoever_nothing_else_fits() {
    let only = ["- - - 1"];
    for (name, alpn, first) in [("", "", "x"), ("a.example", "h2", GET), ("", "http/1.1", GET)] {
        assert_eq!(chosen(&only, name, alpn, first), Some(1));
    }
    assert_eq!(chosen(&["- - /ws 1"], "", "", "GET /other HTTP/1.1\r\n\r\n"), None);
    assert_eq!(chosen(&["- h2 - 1"], "", "http/1.1", GET), None);
    assert_eq!(chosen(&["a.example - - 1"], "b.example", "", GET), None);
}

#[test]
fn name_protocol_and_path_choose_in_that_order() {
    let entries = ["- - - 1", "- h2 - 2", "- - /ws 3", "a.example - - 4", "example - - 5", "b.example h2 /ws 6"];
    assert_eq!(chosen(&entries, "other.test", "", "x"), Some(1));
    assert_eq!(chosen(&entries, "other.test", "h2", "x"), Some(2));
    assert_eq!(chosen(&entries, "other.test", "http/1.1", GET), Some(3));
    // A name is a part of what was asked for, and the longest counts.
    assert_eq!(chosen(&entries, "www.A.example", "http/1.1", "x"), Some(4));
    assert_eq!(chosen(&entries, "c.example", "http/1.1", "x"), Some(5));
    // What a group does not say comes from those that leave its conditions open: the protocol first, then the name.
    assert_eq!(chosen(&entries, "a.example", "", GET), Some(3));
    assert_eq!(chosen(&entries, "a.example", "h2", "x"), Some(4));
    assert_eq!(chosen(&entries, "b.example", "h2", GET), Some(6));
    assert_eq!(chosen(&entries, "b.example", "h2", "x"), Some(2));
    assert_eq!(chosen(&entries, "b.example", "", "x"), Some(1));
}

#[test]
fn a_path_is_found_in_the_first_line_alone() {
    let long = format!("GET /{} HTTP/1.1\r\n", "a".repeat(64));
    for (first, wanted) in [
        (GET, Some("/ws")),
        ("GET / HTTP/1.1\r\n\r\n", Some("/")),
        ("OPTIONS /ws HTTP/1.1\r\n\r\n", Some("/ws")),
        ("CONNECTS /ws HTTP/1.1\r\n", None),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", None),
        ("GET http://a/ws HTTP/1.1\r\n", None),
        ("GET /ws\r\nHost: a\r\n\r\n  ", None),
        ("GET /", None),
        (&long, None),
    ] {
        assert_eq!(path(first.as_bytes()), wanted, "{first:?}");
    }
}

/// Serves a stranger, and gives what the refuge heard before it answered.
async fn served(fallback: Fallback, listening: impl Future<Output = BoxStream>) -> Vec<u8> {
    let (near, mut far) = duplex(1 << 12);
    let fallbacks = Fallbacks::new(vec![fallback]);
    let (common, visitor) = (common(), visitor());
    let serving = fallbacks.serve(&common, &visitor, None, Box::new(near), BytesMut::from("read, "));
    let talking = async {
        far.write_all(b"more").await.unwrap();
        far.shutdown().await.unwrap();
        let mut server = listening.await;
        let mut heard = Vec::new();
        server.read_to_end(&mut heard).await.unwrap();
        server.write_all(b"a page").await.unwrap();
        server.shutdown().await.unwrap();
        let mut page = Vec::new();
        far.read_to_end(&mut page).await.unwrap();
        assert_eq!(page, b"a page");
        heard
    };
    let (accepted, heard) = tokio::join!(serving, talking);
    assert!(matches!(accepted, Ok(Accepted::Served)));
    heard
}

#[tokio::test]
async fn all_that_was_read_goes_along_behind_the_proxy_header() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let entry = Fallback { header: Some(Form::V1), ..fallback(&format!("- - - {port}")) };
    let heard = served(entry, async { Box::new(listener.accept().await.unwrap().0) as BoxStream }).await;
    assert_eq!(heard, b"PROXY TCP4 127.0.0.1 127.0.0.1 5000 1080\r\nread, more");
}

#[tokio::test]
async fn a_name_and_a_unix_socket_are_places_too() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let entry = Fallback { to: Refuge::Tcp(format!("localhost:{port}").parse().unwrap()), ..fallback("- - - 1") };
    let heard = served(entry, async { Box::new(listener.accept().await.unwrap().0) as BoxStream }).await;
    assert_eq!(heard, b"read, more");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    let entry = Fallback { to: Refuge::Unix(UnixPlace::File { path, mode: None }), ..fallback("- - - 1") };
    let heard = served(entry, async { Box::new(listener.accept().await.unwrap().0) as BoxStream }).await;
    assert_eq!(heard, b"read, more");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_abstract_name_may_be_filled_up() {
    for padded in [false, true] {
        let place = UnixPlace::Abstract { name: format!("etemenanki-{}-{padded}", std::process::id()), padded };
        let mut listener = unix::listen(&place).unwrap();
        let entry = Fallback { to: Refuge::Unix(place), ..fallback("- - - 1") };
        let accepting = std::future::poll_fn(|cx| tcp::Accept::poll_accept(&mut listener, cx));
        let heard = served(entry, async { Box::new(accepting.await.unwrap().0) as BoxStream }).await;
        assert_eq!(heard, b"read, more");
    }
}
