use proptest::prelude::*;

use super::super::super::method::{Key, Method};
use super::*;

const NOW: u64 = 1_700_000_000;

fn key(from: u8) -> Key {
    Key::of_bytes(Method::Aes128, &(from..from + 16).collect::<Vec<_>>()).expect("a key")
}

fn long(method: Method, byte: u8) -> Key {
    Key::of_bytes(method, &[byte; 32]).expect("a key")
}

fn target(text: &str) -> Target {
    text.parse().expect("a target")
}

/// The keys of a client and of its server, in every form.
fn pairs() -> Vec<(ClientKeys, ServerKeys)> {
    let single = |key: Key| (ClientKeys::new(vec![key.clone()]), ServerKeys::single(key));
    let shared = |own: Key, user: Key, other: Key| {
        (ClientKeys::new(vec![own.clone(), user.clone()]), ServerKeys::shared(own, vec![other, user]))
    };
    let all = [
        single(key(0)),
        single(long(Method::Aes256, 1)),
        single(long(Method::Chacha20, 1)),
        shared(key(0), key(16), key(32)),
        shared(long(Method::Aes256, 1), long(Method::Aes256, 2), long(Method::Aes256, 3)),
    ];
    all.into_iter().map(|(client, server)| (client.expect("keys"), server.expect("keys"))).collect()
}

#[test]
fn the_known_answer() {
    let keys = ClientKeys::new(vec![key(0), key(16)]).expect("keys");
    let mut session = ClientSession::new(keys, [0, 1, 2, 3, 4, 5, 6, 7]).expect("keys");
    let mut out = BytesMut::new();
    session.seal(&target("1.2.3.4:53"), b"hello", NOW, 0, [0; NONCE], &mut out);
    let expected = "9dc28337d6d3b4be380dd72d8e5cc1a5ba6d60986b9cf6b57f5c16e2e56dfc5f7db2d357220fc142b568a60680919fd287c3a451c1d65f\
                    ffc149f925750a054afb9a20613ca68b";
    assert_eq!(out.iter().map(|byte| format!("{byte:02x}")).collect::<String>(), expected);
}

#[test]
fn questions_and_answers_of_every_form_come_back() {
    for (client_keys, keys) in pairs() {
        let user = usize::from(keys.identity_len() > 0);
        let mut client = ClientSession::new(client_keys, [7; 8]).expect("keys");
        let mut out = BytesMut::new();
        client.seal(&target("a.example:53"), b"question", NOW, 20, [1; NONCE], &mut out);
        let sent = out.clone();
        assert_eq!(keys.name(&mut out), Ok(Name(u64::from_be_bytes([7; 8]))));
        let mut server = ServerSession::new(&keys, &out, [9; 8]).expect("a session");
        assert_eq!(server.user(), user);
        let (to, at) = server.open(&mut out, NOW + 5).expect("a question");
        assert_eq!((to, &out[at]), (target("a.example:53"), &b"question"[..]));

        let mut again = sent.clone();
        keys.name(&mut again).expect("a name");
        assert_eq!(server.open(&mut again, NOW), Err(WireError::Replayed));
        let mut late = BytesMut::new();
        client.seal(&target("a.example:53"), b"late", NOW, 0, [2; NONCE], &mut late);
        keys.name(&mut late).expect("a name");
        assert_eq!(server.open(&mut late, NOW + 40), Err(WireError::Clock { off: 40 }));

        let mut out = BytesMut::new();
        server.seal(&target("[2001:db8::1]:53"), b"answer", NOW, 0, [3; NONCE], &mut out);
        let answer = out.clone();
        let (from, at) = client.open(&mut out, NOW).expect("an answer");
        assert_eq!((from, &out[at]), (target("[2001:db8::1]:53"), &b"answer"[..]));
        assert_eq!(client.open(&mut answer.clone(), NOW), Err(WireError::Replayed));
        for at in 0..answer.len() {
            let mut changed = answer.clone();
            changed[at] ^= 1;
            assert!(client.open(&mut changed, NOW).is_err(), "at {at}");
        }
        for at in 0..sent.len() {
            let mut changed = sent.clone();
            changed[at] ^= 1;
            let opened = keys.name(&mut changed).and_then(|_| server.open(&mut changed, NOW));
            assert!(opened.is_err(), "at {at}");
        }
    }
}

#[test]
fn a_server_may_begin_anew_once_a_minute() {
    let server_keys = ServerKeys::single(key(0)).expect("keys");
    let mut client = ClientSession::new(ClientKeys::new(vec![key(0)]).expect("keys"), [7; 8]).expect("keys");
    let mut question = BytesMut::new();
    client.seal(&target("1.1.1.1:1"), b"", NOW, 0, [0; NONCE], &mut question);
    server_keys.name(&mut question).expect("a name");
    let mut answer = |id: u8, now: u64| {
        let mut server = ServerSession::new(&server_keys, &question, [id; 8]).expect("a session");
        let mut out = BytesMut::new();
        server.seal(&target("1.1.1.1:1"), b"x", now, 0, [0; NONCE], &mut out);
        client.open(&mut out, now).is_ok()
    };
    assert!(answer(1, NOW));
    // The first change needs no waiting: whoever began anew did so whenever it was.
    assert!(answer(2, NOW + 1));
    assert!(!answer(3, NOW + 60));
    assert!(answer(3, NOW + 61));
    assert!(!answer(4, NOW + 120) && answer(4, NOW + 121));
}

#[test]
fn users_cannot_speak_for_each_other() {
    let keys = ServerKeys::shared(key(0), vec![key(16), key(32)]).expect("keys");
    let sealed = |user: u8| {
        let keys = ClientKeys::new(vec![key(0), key(user)]).expect("keys");
        let mut out = BytesMut::new();
        let mut session = ClientSession::new(keys, [7; 8]).expect("keys");
        session.seal(&target("1.1.1.1:1"), b"x", NOW, 0, [0; NONCE], &mut out);
        out
    };
    let mut first = sealed(16);
    keys.name(&mut first).expect("a name");
    let mut session = ServerSession::new(&keys, &first, [9; 8]).expect("a session");
    let mut other = sealed(32);
    keys.name(&mut other).expect("a name");
    assert!(matches!(session.open(&mut other, NOW), Err(WireError::Denied { .. })));
    assert!(keys.name(&mut sealed(48)).is_err(), "nobody's key");
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
        for (client_keys, keys) in pairs() {
            let mut client = ClientSession::new(client_keys, [7; 8]).expect("keys");
            prop_assert!(client.open(&mut bytes.clone(), NOW).is_err());
            let mut named = bytes.clone();
            let _ = keys.name(&mut named);
            if let Ok(mut session) = ServerSession::new(&keys, &named, [1; 8]) {
                prop_assert!(session.open(&mut named, NOW).is_err());
            }
        }
    }
}
