use proptest::prelude::*;

use super::super::method::Method;
use super::*;
use crate::wire::testing::{any_split, feed};

const METHODS: [Method; 4] = [Method::Aes128, Method::Aes256, Method::Chacha20, Method::Xchacha20];

fn key(method: Method) -> Key {
    Key::of_password(method, b"password")
}

fn target() -> Target {
    Target::new(crate::addr::Host::parse("www.example.com").expect("a name"), 443)
}

fn request(key: &Key, plain: &[&[u8]]) -> BytesMut {
    let salt = (0..).take(key.method().key_len()).collect();
    let mut seal = Sealer::request(key, salt, &target()).expect("a key");
    let mut out = BytesMut::new();
    for plain in plain {
        let mut rest = *plain;
        loop {
            rest = &rest[seal.seal(rest, &mut out)..];
            if rest.is_empty() {
                break;
            }
        }
    }
    out
}

/// All that is opened, with the input in pieces of this size, as the relay shows it.
fn open_all(mut open: Opener, wire: &[u8], size: usize) -> Result<Vec<u8>, WireError> {
    let (mut held, mut plain) = (Vec::new(), Vec::new());
    for piece in wire.chunks(size) {
        held.extend_from_slice(piece);
        loop {
            match open.open(&mut held)? {
                Opened::More { need } => {
                    assert!(need > 0);
                    break;
                }
                Opened::Plain { used, at } => {
                    plain.extend_from_slice(&held[at]);
                    held.drain(..used);
                }
                Opened::End { .. } | Opened::Over { .. } => return Ok(plain),
            }
        }
    }
    Ok(plain)
}

#[test]
fn the_known_answer() {
    let expected = "000102030405060708090a0b0c0d0e0f5c363ca66e7b18a39e27f526dff73034da42ff1e6cae9215fb55014981f4fc1bc91e190e1a1f\
                    c65aa4d5bb73c9c80ffdb818739ede66f475c273";
    let out = request(&key(Method::Aes128), &[b"hello"]);
    assert_eq!(out.iter().map(|byte| format!("{byte:02x}")).collect::<String>(), expected);
}

#[derive(Debug, PartialEq)]
struct Told(usize, Target, Vec<u8>);

struct Tell<H>(H);

impl<H: Handshake<Output = Request>> Handshake for Tell<H> {
    type Output = Told;

    fn step(&mut self, input: &[u8], reply: &mut Vec<u8>) -> Result<Step<Told>, WireError> {
        Ok(match self.0.step(input, reply)? {
            Step::More { used, need } => Step::More { used, need },
            Step::Done { used, value } => Step::Done { used, value: Told(value.user, value.target, value.early) },
        })
    }
}

#[test]
fn the_right_user_is_found_however_the_bytes_are_split() {
    let keys = [Key::of_password(Method::Chacha20, b"other"), key(Method::Aes128), key(Method::Aes256)];
    for (user, key) in keys.iter().enumerate() {
        let wire = request(key, &[b"hello", b"later"]);
        let outcome = any_split(|| Tell(Server::new(&keys, |_| true)), &wire);
        assert_eq!(outcome.result, Some(Ok(Told(user, target(), b"hello".to_vec()))));
    }
}

#[test]
fn an_address_may_be_cut_by_a_chunk() {
    let key = key(Method::Aes128);
    let salt = vec![3; 16];
    let mut cipher = Counting::new(subkey(&key, &salt).expect("a key"));
    let mut address = Vec::new();
    write_address(&target(), &mut address);
    let mut wire = BytesMut::from(&salt[..]);
    seal_chunk(&mut cipher, &address[..7], b"", &mut wire);
    seal_chunk(&mut cipher, &address[7..], b"and more", &mut wire);
    let outcome = any_split(|| Tell(Server::new(std::slice::from_ref(&key), |_| true)), &wire);
    assert_eq!(outcome.result, Some(Ok(Told(0, target(), b"and more".to_vec()))));
}

#[test]
fn strangers_and_replays_are_told_from_friends() {
    let keys = [key(Method::Aes128)];
    let wire = request(&keys[0], &[b"hello"]);
    let stranger = request(&Key::of_password(Method::Aes128, b"wrong"), &[b"hello"]);
    let result = |wire: &[u8], fresh: bool| {
        let outcome = feed(Tell(Server::new(&keys, |salt| fresh && salt == &wire[..16])), [wire]);
        outcome.result.map(|result| result.err())
    };
    assert_eq!(result(&wire, true), Some(None));
    assert_eq!(result(&wire, false), Some(Some(WireError::Replayed)));
    assert!(matches!(result(&stranger, true), Some(Some(WireError::Denied { .. }))));
    assert_eq!(result(&stranger[..FIRST - 1], true), None);
}

#[test]
fn whole_streams_come_back_in_any_pieces() {
    let long: Vec<u8> = (0..40_000u32).map(|n| n.to_le_bytes()[0]).collect();
    for method in METHODS {
        let key = key(method);
        let mut seal = Sealer::response(&key, vec![9; method.key_len()]).expect("a key");
        let mut out = BytesMut::new();
        assert_eq!(seal.seal(b"", &mut out), 0);
        assert_eq!(out.len(), method.key_len());
        let mut rest = &long[..];
        while !rest.is_empty() {
            rest = &rest[seal.seal(rest, &mut out)..];
        }
        for size in [1, 7, 1000, out.len()] {
            assert_eq!(open_all(Opener::response(key.clone()), &out, size).as_deref(), Ok(&long[..]), "{method:?}");
        }
        let at = out.len() - 5;
        out[at] ^= 1;
        assert!(open_all(Opener::response(key.clone()), &out, out.len()).is_err());
    }
}

#[test]
fn a_chunk_without_bytes_is_the_end() {
    let key = key(Method::Aes128);
    let salt = vec![1; 16];
    let mut cipher = Counting::new(subkey(&key, &salt).expect("a key"));
    let mut wire = BytesMut::from(&salt[..]);
    seal_chunk(&mut cipher, b"", b"last", &mut wire);
    seal_chunk(&mut cipher, b"", b"", &mut wire);
    assert_eq!(open_all(Opener::response(key), &wire, wire.len()).as_deref(), Ok(&b"last"[..]));
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let keys = METHODS.map(key);
        prop_assert!(feed(Server::new(&keys, |_| true), [&bytes[..]]).result.is_none_or(|result| result.is_err()));
        for key in keys {
            let _ = open_all(Opener::response(key), &bytes, 13);
        }
    }
}
