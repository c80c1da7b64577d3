#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;
use crate::wire::testing::{Outcome, any_split, feed};

fn open(input: &[u8]) -> Outcome<Request> {
    any_split(|| Server::new(None), input)
}

fn asked(outcome: &Outcome<Request>) -> (Command, String) {
    let request = outcome.result.clone().unwrap().unwrap();
    (request.command, request.target.to_string())
}

#[test]
fn socks5_without_login() {
    let outcome = open(b"\x05\x02\x02\x00\x05\x01\x00\x03\x09a.example\x01\xbbGET");
    assert_eq!(asked(&outcome), (Command::Connect, "a.example:443".into()));
    assert_eq!((outcome.reply.as_slice(), outcome.used), (&b"\x05\x00"[..], 4 + 16));
}

#[test]
fn socks5_association_and_the_words_of_tor() {
    let outcome = open(b"\x05\x01\x00\x05\x03\x00\x01\0\0\0\0\0\0");
    assert_eq!(asked(&outcome), (Command::Associate, "0.0.0.0:0".into()));
    let outcome = open(b"\x05\x01\x00\x05\xf0\x00\x03\x01a\x00\x00");
    assert_eq!(asked(&outcome).0, Command::Connect);
}

#[test]
fn socks5_with_login() {
    let logins = Logins::new([("u", "p")]);
    let make = || Server::new(Some(&logins));
    let good = any_split(make, b"\x05\x02\x00\x02\x01\x01u\x01p\x05\x01\x00\x01\x0a\0\0\x01\0\x50");
    assert_eq!(asked(&good).1, "10.0.0.1:80");
    assert_eq!(good.reply, b"\x05\x02\x01\x00");
    assert_eq!(good.result.unwrap().unwrap().user.as_deref(), Some("u"));
    let bad = any_split(make, b"\x05\x01\x02\x01\x01u\x01q");
    assert!(matches!(bad.result, Some(Err(WireError::Denied { .. }))));
    assert_eq!(bad.reply, b"\x05\x02\x01\xff");
    let none = any_split(make, b"\x05\x01\x00");
    assert_eq!((none.result.unwrap().is_err(), none.reply.as_slice()), (true, &b"\x05\xff"[..]));
    let old = any_split(make, b"\x04\x01\0\x50\x0a\0\0\x01u\0");
    assert_eq!((old.result.unwrap().is_err(), old.reply.as_slice()), (true, &b"\0\x5b\0\0\0\0\0\0"[..]));
}

#[test]
fn an_open_door_takes_any_login() {
    let outcome = open(b"\x05\x01\x02\x01\x01u\x01p\x05\x01\x00\x01\x0a\0\0\x01\0\x50");
    assert_eq!(asked(&outcome).1, "10.0.0.1:80");
    assert_eq!(outcome.reply, b"\x05\x02\x01\x00");
}

#[test]
fn commands_that_are_not_served_are_answered() {
    let outcome = open(b"\x05\x01\x00\x05\x02\x00\x01\x0a\0\0\x01\0\x50");
    assert!(outcome.result.unwrap().is_err());
    assert_eq!(outcome.reply, b"\x05\x00\x05\x07\x00\x01\0\0\0\0\0\0");
    let outcome = open(b"\x04\x02\0\x50\x0a\0\0\x01\0");
    assert_eq!(outcome.reply, b"\0\x5b\0\0\0\0\0\0");
    let outcome = open(b"\x05\x01\x00\x05\x01\x00\x09");
    assert_eq!(outcome.reply[3], 8);
}

#[test]
fn socks4_and_4a() {
    let outcome = open(b"\x04\x01\0\x50\x0a\0\0\x01user\0rest");
    assert_eq!((asked(&outcome).1, outcome.used), ("10.0.0.1:80".into(), 13));
    let request = outcome.result.unwrap().unwrap();
    assert_eq!(request.answer(Reply::Succeeded, "127.0.0.1:1".parse().unwrap()), b"\0\x5a\0\0\0\0\0\0");
    let outcome = open(b"\x04\x01\0\x50\0\0\0\x07\0a.example\0");
    assert_eq!(asked(&outcome).1, "a.example:80");
    let endless = feed(Server::new(None), [&[&b"\x04\x01\0\x50\x0a\0\0\x01"[..], &[b'u'; 5000]].concat()[..]]);
    assert_eq!(endless.result, Some(Err(WireError::TooLong)));
}

#[test]
fn other_protocols_are_refused_without_a_word() {
    let outcome = open(b"GET / HTTP/1.1\r\n\r\n");
    assert_eq!(outcome.result, Some(Err(WireError::Malformed { what: "SOCKS version" })));
    assert!(outcome.reply.is_empty());
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(first in prop::sample::select(vec![4u8, 5]), bytes: Vec<u8>, size in 1usize..9) {
        let input = [&[first][..], &bytes].concat();
        let logins = Logins::new([("u", "p")]);
        feed(Server::new(None), input.chunks(size));
        feed(Server::new(Some(&logins)), input.chunks(size));
    }
}
