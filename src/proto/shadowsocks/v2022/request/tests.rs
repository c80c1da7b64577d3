use proptest::prelude::*;

use super::super::super::method::{Key, Method};
use super::super::response::{ResponseOpener, ResponseSealer};
use super::*;
use crate::wire::testing::{any_split, feed};

const NOW: u64 = 1_700_000_000;

fn key(from: u8) -> Key {
    Key::of_bytes(Method::Aes128, &(from..from + 16).collect::<Vec<_>>()).expect("a key")
}

fn long(method: Method, byte: u8) -> Key {
    Key::of_bytes(method, &[byte; 32]).expect("a key")
}

fn target() -> Target {
    Target::new(crate::addr::Host::parse("www.example.com").expect("a name"), 443)
}

fn request(keys: Vec<Key>, now: u64, plain: &[u8]) -> BytesMut {
    let keys = ClientKeys::new(keys).expect("keys");
    let salt = (0x20..).take(keys.user().method().key_len()).collect();
    let mut out = BytesMut::new();
    let mut seal = RequestSealer::new(&keys, salt, &target(), now, 33).expect("keys");
    let mut rest = plain;
    loop {
        rest = &rest[seal.seal(rest, &mut out)..];
        if rest.is_empty() {
            return out;
        }
    }
}

struct Tell<H>(H);

impl<H: Handshake<Output = Accepted>> Handshake for Tell<H> {
    type Output = (usize, Target, Vec<u8>);

    fn step(&mut self, input: &[u8], reply: &mut Vec<u8>) -> Result<Step<Self::Output>, WireError> {
        Ok(match self.0.step(input, reply)? {
            Step::More { used, need } => Step::More { used, need },
            Step::Done { used, value } => Step::Done { used, value: (value.user, value.target, value.early) },
        })
    }
}

/// The known answer has neither padding nor enough payload to do without, which no sealer of ours writes.
const KNOWN: &str = "202122232425262728292a2b2c2d2e2fcfe4b97eb5c29f5dda417a22031c9f081cdb2cb57ed5c465beec3a0d398967ebf6c692d27\
                     43ce3744b88d17c2610c835cff1229c82e46b87e5758b4379056a0dff9a6cbc12e0cee650b85c95c276bd603f2d9060dd";

fn known() -> Vec<u8> {
    (0..KNOWN.len()).step_by(2).map(|at| u8::from_str_radix(&KNOWN[at..at + 2], 16).expect("digits")).collect()
}

#[test]
fn the_known_answer_is_understood_however_it_is_split() {
    let keys = ServerKeys::shared(key(0), vec![key(0x40), key(0x10)]).expect("keys");
    let outcome = any_split(|| Tell(Server::new(&keys, NOW, |_| true)), &known());
    assert_eq!(outcome.result, Some(Ok((1, target(), b"hello".to_vec()))));
    assert_eq!(outcome.used, known().len());
}

#[test]
fn salt_and_identity_of_the_known_answer_are_written() {
    let out = request(vec![key(0), key(0x10)], NOW, b"hello");
    assert_eq!(&out[..32], &known()[..32]);
}

#[test]
fn requests_of_every_method_are_understood() {
    for keys in [vec![key(0)], vec![long(Method::Aes256, 1)], vec![long(Method::Chacha20, 2)]] {
        let server = ServerKeys::single(keys[0].clone()).expect("keys");
        for plain in [&b""[..], b"hello", &[7; 2000]] {
            let wire = request(keys.clone(), NOW, plain);
            let outcome = any_split(|| Tell(Server::new(&server, NOW, |_| true)), &wire);
            assert_eq!(outcome.result, Some(Ok((0, target(), plain.to_vec()))));
            let padding = if plain.len() < PADDED { 33 } else { 0 };
            let head = keys[0].method().key_len() + FIXED + 19 + 2 + TAG;
            assert_eq!(wire.len(), head + padding + plain.len());
        }
    }
    let shared = ServerKeys::shared(long(Method::Aes256, 1), vec![long(Method::Aes256, 2)]).expect("keys");
    let wire = request(vec![long(Method::Aes256, 1), long(Method::Aes256, 2)], NOW, b"x");
    let outcome = any_split(|| Tell(Server::new(&shared, NOW, |_| true)), &wire);
    assert_eq!(outcome.result, Some(Ok((0, target(), b"x".to_vec()))));
    assert!(ClientKeys::new(vec![long(Method::Chacha20, 1), long(Method::Chacha20, 2)]).is_none());
    assert!(ServerKeys::shared(long(Method::Chacha20, 1), Vec::new()).is_none());
}

#[test]
fn wrong_keys_wrong_clocks_and_replays_are_refused() {
    let keys = ServerKeys::shared(key(0), vec![key(0x10)]).expect("keys");
    let result = |wire: &[u8], now: u64, fresh: bool| {
        let outcome = feed(Tell(Server::new(&keys, now, |salt| fresh && salt == &wire[..16])), [wire]);
        outcome.result.and_then(|result| result.err())
    };
    let wire = known();
    assert_eq!(result(&wire, NOW + 30, true), None);
    assert_eq!(result(&wire, NOW + 31, true), Some(WireError::Clock { off: 31 }));
    assert_eq!(result(&wire, NOW - 45, true), Some(WireError::Clock { off: 45 }));
    assert_eq!(result(&wire, NOW, false), Some(WireError::Replayed));
    for keys in [vec![key(0), key(0x11)], vec![key(1), key(0x10)], vec![key(0x10)]] {
        assert!(matches!(result(&request(keys, NOW, b"hello"), NOW, true), Some(WireError::Denied { .. })));
    }
    for at in 0..wire.len() {
        let mut changed = wire.clone();
        changed[at] ^= 0x80;
        assert!(result(&changed, NOW, true).is_some(), "at {at}");
    }
    let empty = request(vec![key(0), key(0x10)], NOW, b"");
    assert_eq!(result(&empty, NOW, true), None);
}

/// All that is opened, with the input in pieces of this size.
fn open_all(mut open: impl Open, wire: &[u8], size: usize) -> Result<Vec<u8>, WireError> {
    let (mut held, mut plain) = (Vec::new(), Vec::new());
    for piece in wire.chunks(size) {
        held.extend_from_slice(piece);
        while let Opened::Plain { used, at } = open.open(&mut held)? {
            plain.extend_from_slice(&held[at]);
            held.drain(..used);
        }
    }
    Ok(plain)
}

#[test]
fn bodies_and_answers_come_back_in_any_pieces() {
    let keys = ServerKeys::single(key(0)).expect("keys");
    let long: Vec<u8> = (0..100_000u32).map(|n| n.to_le_bytes()[0]).collect();
    let wire = request(vec![key(0)], NOW, &long);
    let outcome = feed(Server::new(&keys, NOW, |_| true), [&wire[..]]);
    let accepted = outcome.result.and_then(Result::ok).expect("a request");
    let later = open_all(accepted.open, &wire[outcome.used..], 1000).expect("a body");
    assert_eq!([accepted.early, later].concat(), long);

    for plain in [&b""[..], b"first", &long] {
        let (asked, salt) = (vec![1; 16], vec![2; 16]);
        let mut seal = ResponseSealer::new(&keys, 0, asked.clone(), salt, || NOW).expect("a user");
        let mut out = BytesMut::new();
        let mut rest = plain;
        loop {
            rest = &rest[seal.seal(rest, &mut out)..];
            if rest.is_empty() {
                break;
            }
        }
        for size in [1, 13, 4096, out.len()] {
            let opener = ResponseOpener::new(key(0), asked.clone(), || NOW);
            assert_eq!(open_all(opener, &out, size).as_deref(), Ok(plain));
        }
        let opener = ResponseOpener::new(key(0), vec![9; 16], || NOW);
        assert!(matches!(open_all(opener, &out, 9), Err(WireError::Malformed { .. })));
        let opener = ResponseOpener::new(key(0), asked, || NOW + 100);
        assert_eq!(open_all(opener, &out, 9), Err(WireError::Clock { off: 100 }));
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let single = ServerKeys::single(key(0)).expect("keys");
        let shared = ServerKeys::shared(key(0), vec![key(1)]).expect("keys");
        for keys in [single, shared] {
            let result = feed(Server::new(&keys, NOW, |_| true), [&bytes[..]]).result;
            prop_assert!(result.is_none_or(|result| result.is_err()));
        }
        prop_assert!(open_all(ResponseOpener::new(key(0), vec![1; 16], || NOW), &bytes, 13).is_err() || bytes.len() < 59);
    }
}
