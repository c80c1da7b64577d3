#![allow(clippy::unwrap_used)]

use tokio::io::AsyncReadExt;

use super::*;
use crate::outbound::testing::flow;

fn asked_by(user: Option<&str>, target: &str) -> Flow {
    Flow { user: user.map(Into::into), ..flow(target) }
}

/// Asks for paths on one connection, the last of which is closed; gives head and body of all answers together.
async fn ask(responder: &Responder, requests: &str) -> (String, Vec<u8>) {
    let flow = asked_by(Some("ann"), "probe.invalid:80");
    // The beginning arrives as what was read for sniffing, the rest as bytes of the flow.
    let (first, rest) = requests.as_bytes().split_at(7);
    let mut stream = responder.connect(&flow, first).await.unwrap();
    stream.write_all(rest).await.unwrap();
    let mut said = vec![];
    stream.read_to_end(&mut said).await.unwrap();
    let head = said.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    (String::from_utf8(said[..head].to_vec()).unwrap(), said[head..].to_vec())
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: probe.invalid\r\nConnection: close\r\n\r\n")
}

#[tokio::test]
async fn tests_are_answered_with_the_mark() {
    let responder = Responder::new("probe.invalid");
    let (head, body) = ask(&responder, &get("/204")).await;
    assert!(head.starts_with("HTTP/1.1 204 ") && head.contains("x-etemenanki-responder: 1\r\n"), "{head}");
    assert!(body.is_empty());
    let (head, body) = ask(&responder, &get("/bytes/100000")).await;
    assert!(head.starts_with("HTTP/1.1 200 ") && head.contains("content-length: 100000\r\n"), "{head}");
    assert_eq!(body.len(), 100_000);
    assert!(head.contains("x-etemenanki-responder: 1\r\n") && !head.contains("content-encoding"), "{head}");
    let different = body.iter().collect::<std::collections::BTreeSet<_>>().len();
    assert_eq!(different, 256, "a body that compresses measures nothing");
}

#[tokio::test]
async fn one_connection_may_ask_again() {
    let two = get("/204").replace("Connection: close\r\n", "") + &get("/bytes/3");
    let (_, rest) = ask(&Responder::new("probe.invalid"), &two).await;
    assert!(String::from_utf8_lossy(&rest).starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn nothing_else_is_answered() {
    let responder = Responder::new("probe.invalid");
    for (request, status) in [
        (get("/"), 404),
        (get("/bytes/"), 400),
        (get("/bytes/-1"), 400),
        (get(&format!("/bytes/{}", MOST + 1)), 400),
        (get("/bytes/99999999999999999999999"), 400),
        (get("/204").replace("GET", "POST"), 405),
    ] {
        let (head, _) = ask(&responder, &request).await;
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{request}: {head}");
    }
}

#[tokio::test]
async fn strangers_and_other_hosts_are_closed() {
    let responder = Responder::new("probe.invalid");
    for flow in [asked_by(None, "probe.invalid:80"), asked_by(Some("ann"), "probe.invalid.example:80")] {
        assert!(!responder.answers(&flow));
        let Err(error) = responder.connect(&flow, b"").await else { unreachable!() };
        assert_eq!((error.stage, error.source.kind()), (Stage::Policy, io::ErrorKind::PermissionDenied));
    }
    let datagrams = Flow { network: Network::Udp, ..asked_by(Some("ann"), "probe.invalid:80") };
    assert!(!responder.answers(&datagrams));
}

#[tokio::test(start_paused = true)]
async fn a_user_gets_no_more_than_tests_need() {
    let responder = Responder::new("probe.invalid");
    let mut served = 0;
    while ask(&responder, &get(&format!("/bytes/{MOST}"))).await.0.starts_with("HTTP/1.1 200 ") {
        served += 1;
    }
    assert_eq!(served, 3, "what a user may take at once");
    assert!(ask(&responder, &get("/204")).await.0.starts_with("HTTP/1.1 204 "), "small ones still fit");
    tokio::time::advance(std::time::Duration::from_secs(16)).await;
    assert!(ask(&responder, &get(&format!("/bytes/{MOST}"))).await.0.starts_with("HTTP/1.1 200 "));
}

/// Rubbish ends its own flow and nothing else.
#[tokio::test]
async fn rubbish_ends_the_flow() {
    let (head, _) = ask(&Responder::new("probe.invalid"), "\x16\x03\x01 this is no HTTP\r\n\r\n").await;
    assert!(head.starts_with("HTTP/1.1 400 "), "{head}");
}
