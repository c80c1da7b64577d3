#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use bytes::BytesMut;
use rand::SeedableRng;
use rand::rngs::StdRng;

use super::aead::Aead;
use super::ctr::Ctr;
use super::derive::derive;
use super::*;
use crate::wire::testing::any_split;
use crate::wire::{Handshake, Next, Open, Opened, Seal, Step, WireError};

fn rng(seed: u64) -> StdRng {
    StdRng::seed_from_u64(seed)
}

/// Both sides of `keys`, each the bytes of a private one.
fn pair(keys: &[&[u8]], mode: Mode, resume: bool) -> (Client, Server) {
    let private: Vec<_> = keys.iter().map(|key| PrivateKey::new(key).unwrap()).collect();
    let public = private.iter().map(|key| PublicKey::new(key.public()).unwrap()).collect();
    let lifetime = Lifetime { from: if resume { 600 } else { 0 }, to: None };
    let client = Client::new(public, mode, Padding::default(), resume);
    (client, Server::new(private, mode, Padding::default(), lifetime))
}

type Half = (Sealer, Opener);

fn joined(pieces: Vec<Piece>) -> Vec<u8> {
    pieces.into_iter().flat_map(|(bytes, _)| bytes).collect()
}

fn done<H: Handshake>(mut shake: H, input: &[u8]) -> (usize, H::Output) {
    match shake.step(input, &mut Vec::new()).unwrap() {
        Step::Done { used, value } => (used, value),
        Step::More { need, .. } => panic!("{need} more"),
    }
}

/// A whole handshake; whether it was by a ticket.
fn shake(client: &Client, server: &Server, cipher: Cipher, now: Instant) -> (Half, Half, bool) {
    match client.begin(now, cipher, &mut rng(1)).unwrap() {
        Begun::Resumed(ready) => {
            let (mut seal, open) = *ready;
            let mut hello = BytesMut::new();
            assert_eq!(seal.seal(&[], &mut hello), 0);
            let (used, Greeted::Resumed(far)) = done(server.greet(now, Cipher::Aes, rng(2)), &hello) else {
                panic!("not resumed")
            };
            assert_eq!(used, hello.len());
            ((seal, open), *far, true)
        }
        Begun::Asked(pieces, answer) => {
            let hello = joined(pieces);
            let (used, Greeted::Asked(pieces, confirmed)) = done(server.greet(now, Cipher::Aes, rng(2)), &hello) else {
                panic!("resumed")
            };
            let (more, far) = done(confirmed, &hello[used..]);
            assert_eq!(used + more, hello.len());
            let said = joined(pieces);
            let (used, mut ready) = done(*answer, &said);
            let mut padding = said[used..].to_vec();
            assert_eq!(ready.open.open(&mut padding), Ok(Opened::Plain { used: said.len() - used, at: 0..0 }));
            client.remember(&ready, now);
            ((ready.seal, ready.open), *far, false)
        }
    }
}

fn carry(seal: &mut Sealer, open: &mut Opener, plain: &[u8]) -> BytesMut {
    let (mut wire, mut taken) = (BytesMut::new(), 0);
    while taken < plain.len() {
        taken += seal.seal(&plain[taken..], &mut wire);
    }
    let (sent, mut at, mut got) = (wire.clone(), 0, Vec::new());
    let mut shown = 0;
    while got.len() < plain.len() {
        match open.open(&mut wire[at..shown]).unwrap() {
            Opened::More { need } => shown = (shown + need).min(sent.len()),
            Opened::Plain { used, at: place } => {
                got.extend_from_slice(&wire[at + place.start..at + place.end]);
                at += used;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(got, plain);
    sent
}

const SEED: &[u8] = &[7; 64];
const MODES: [Mode; 3] = [Mode::Native, Mode::Xorpub, Mode::Random];

#[test]
fn the_parts_give_what_is_written_down() {
    let key: Vec<u8> = (0..32).collect();
    let iv = *b"0123456789abcdef";
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(hex(&*derive(b"VLESS", &key)), "80ac070db3db5eaf50b701766be041afa2d5032926c69a5c4c243bf75c0be3c2");
    assert_eq!(hex(&*derive(&iv, &key)), "ccff4af5d8f773cad7ee9ae45de35d3678f1ef8024d1b252781df79c3c651ad1");
    assert_eq!(hex(&hash32(&key)), "e528e95798037df410543d9f31e396ecdd458d71b157d6014398bae32fb56c65");
    let mut zeros = [0; 16];
    Ctr::new(&key, iv).apply(&mut zeros);
    assert_eq!(hex(&zeros), "62a4d1418ed18d3ef19ded01ce16a9a0");
    let mut length = Vec::new();
    Aead::new(&iv, &key, Cipher::Aes).unwrap().seal_onto(&1232_u16.to_be_bytes(), &mut length).unwrap();
    assert_eq!(hex(&length), "1182b17d07c23ff0a033f5b3054914111748");
}

#[test]
fn both_sides_agree_with_any_keys_in_any_mode_and_again_by_a_ticket() {
    let payload: Vec<u8> = (0..40_000_u32).map(|n| n as u8).collect();
    let keys: [&[&[u8]]; 4] = [&[&[5; 32]], &[SEED], &[&[5; 32], SEED], &[SEED, &[5; 32], &[6; 32]]];
    for keys in keys {
        for mode in MODES {
            for cipher in [Cipher::Aes, Cipher::Chacha] {
                let (client, server) = pair(keys, mode, true);
                for resumed in [false, true] {
                    let (mut near, mut far, was) = shake(&client, &server, cipher, Instant::now());
                    assert_eq!(was, resumed);
                    let up = carry(&mut near.0, &mut far.1, &payload);
                    let down = carry(&mut far.0, &mut near.1, &payload);
                    let begin = if resumed { &down[16..] } else { &down[..] };
                    assert_eq!([&up[..3], &begin[..3]].map(|b| b == [23, 3, 3]), [mode != Mode::Random; 2]);
                }
            }
        }
    }
}

#[test]
fn the_last_record_of_a_key_makes_the_next_key() {
    let (client, server) = pair(&[SEED], Mode::Random, false);
    let (mut near, mut far, _) = shake(&client, &server, Cipher::Aes, Instant::now());
    near.0.spend();
    far.1.spend();
    for _ in 0..3 {
        carry(&mut near.0, &mut far.1, b"across the border");
    }
}

#[test]
fn whoever_leaves_is_bare_but_for_hidden_headers() {
    for mode in MODES {
        let (client, server) = pair(&[SEED], mode, false);
        let (mut near, mut far, _) = shake(&client, &server, Cipher::Aes, Instant::now());
        carry(&mut near.0, &mut far.1, b"before");
        let next = if mode == Mode::Random { Next::Framed } else { Next::Bare };
        assert_eq!((near.0.leave(), far.1.leave()), (next, next));
        if mode == Mode::Random {
            let inner = [&[23, 3, 3, 0, 9][..], b"something", &[23, 3, 3, 0, 3], b"els", &[1, 2]].concat();
            let sent = carry(&mut near.0, &mut far.1, &inner);
            assert!(sent[..5] != inner[..5] && sent[5..14] == inner[5..14] && sent[19..22] == inner[19..22]);
            for piece in inner.chunks(4).chain([&inner[..3]]) {
                carry(&mut near.0, &mut far.1, piece);
            }
        }
    }
}

#[test]
fn a_hello_comes_in_any_pieces() {
    #[derive(Debug, PartialEq)]
    struct Length(usize);
    struct Whole<'a>(Greeting<'a, StdRng>, Option<Confirmed>);
    impl Handshake for Whole<'_> {
        type Output = Length;

        fn step(&mut self, input: &[u8], reply: &mut Vec<u8>) -> Result<Step<Length>, WireError> {
            if let Some(confirmed) = &mut self.1 {
                return Ok(match confirmed.step(input, reply)? {
                    Step::More { used, need } => Step::More { used, need },
                    Step::Done { used, .. } => Step::Done { used, value: Length(0) },
                });
            }
            match self.0.step(input, reply)? {
                Step::More { used, need } => Ok(Step::More { used, need }),
                Step::Done { used, value: Greeted::Asked(_, confirmed) } => {
                    self.1 = Some(confirmed);
                    Ok(match self.step(&input[used..], reply)? {
                        Step::More { used: more, need } => Step::More { used: used + more, need },
                        Step::Done { used: more, value } => Step::Done { used: used + more, value },
                    })
                }
                Step::Done { .. } => panic!("resumed"),
            }
        }
    }
    let private = || vec![PrivateKey::new(&[5; 32]).unwrap()];
    let server = Server::new(private(), Mode::Random, Padding::default(), Lifetime { from: 0, to: None });
    let public = vec![PublicKey::new(private()[0].public()).unwrap()];
    let client = Client::new(public, Mode::Random, Padding::new(&[[100, 40, 50]]), false);
    let Begun::Asked(pieces, _) = client.begin(Instant::now(), Cipher::Aes, &mut rng(3)).unwrap() else { panic!() };
    let mut hello = joined(pieces);
    let len = hello.len();
    hello.extend_from_slice(b"data");
    // One piece, halves at some places, and small ones: each try costs a key exchange.
    for at in [0, 16, 47, 48, 49, 66, 67, 1297, 1298, 1299, 1317, len - 1, len] {
        let fed = crate::wire::testing::feed(
            Whole(server.greet(Instant::now(), Cipher::Aes, rng(4)), None),
            [&hello[..at], &hello[at..]],
        );
        assert_eq!((fed.result, fed.used), (Some(Ok(Length(0))), len), "{at}");
    }
    let fed =
        crate::wire::testing::feed(Whole(server.greet(Instant::now(), Cipher::Aes, rng(4)), None), hello.chunks(3));
    assert_eq!((fed.result, fed.used), (Some(Ok(Length(0))), len));
}

#[test]
fn strangers_learn_nothing() {
    let (client, server) = pair(&[&[5; 32]], Mode::Native, true);
    let now = Instant::now();
    let garbage = |seed| any_split(|| Stranger(server.greet(now, Cipher::Aes, rng(5))), &[seed; 90]);
    for seed in [0, 23, 0x7F, 0xFF] {
        let outcome = garbage(seed);
        assert!(outcome.result.is_some_and(|result| result.is_err()) && outcome.reply.is_empty(), "{seed}");
    }
    // A client of another server.
    let (other, _) = pair(&[&[6; 32]], Mode::Native, false);
    let Begun::Asked(pieces, _) = other.begin(now, Cipher::Aes, &mut rng(6)).unwrap() else { panic!() };
    let (hello, mut reply) = (joined(pieces), Vec::new());
    assert!(server.greet(now, Cipher::Aes, rng(7)).step(&hello, &mut reply).is_err() && reply.is_empty());
    // Bytes that were changed on the way, wherever.
    for at in [0, 20, 50, 70, 1280, 1300] {
        let Begun::Asked(pieces, _) = client.begin(now, Cipher::Aes, &mut rng(6)).unwrap() else { panic!() };
        let mut hello = joined(pieces);
        hello[at] ^= 1;
        let mut greeting = server.greet(now, Cipher::Aes, rng(7));
        let refused = match greeting.step(&hello, &mut reply) {
            Ok(Step::Done { used, value: Greeted::Asked(_, mut confirmed) }) => {
                confirmed.step(&hello[used..], &mut reply).is_err()
            }
            step => step.is_err(),
        };
        assert!(refused && reply.is_empty(), "{at}");
    }
}

struct Stranger<'a>(Greeting<'a, StdRng>);

impl Handshake for Stranger<'_> {
    type Output = ();

    fn step(&mut self, input: &[u8], reply: &mut Vec<u8>) -> Result<Step<()>, WireError> {
        Ok(match self.0.step(input, reply)? {
            Step::More { used, need } => Step::More { used, need },
            Step::Done { used, .. } => Step::Done { used, value: () },
        })
    }
}

#[test]
fn a_ticket_counts_once_for_each_hello_and_only_where_it_is_known() {
    let (client, server) = pair(&[SEED], Mode::Random, true);
    let now = Instant::now();
    shake(&client, &server, Cipher::Aes, now);
    let Begun::Resumed(ready) = client.begin(now, Cipher::Aes, &mut rng(1)).unwrap() else { panic!() };
    let (mut seal, mut open) = *ready;
    let mut hello = BytesMut::new();
    seal.seal(b"first bytes", &mut hello);
    let mut reply = Vec::new();
    let greet =
        |server: &Server, reply: &mut Vec<u8>| server.greet(now, Cipher::Aes, rng(8)).step(&hello, reply).map(drop);
    assert_eq!(greet(&server, &mut reply), Ok(()));
    assert_eq!((greet(&server, &mut reply), reply.len()), (Err(WireError::Replayed), 0));
    // A server that was started again.
    let (_, again) = pair(&[SEED], Mode::Random, true);
    assert!(matches!(greet(&again, &mut reply), Err(WireError::Denied { .. })));
    assert!((1279..2279).contains(&reply.len()));
    let mut at = 0;
    let failed = loop {
        match open.open(&mut reply[at..]) {
            Ok(Opened::Plain { used, .. }) => at += used,
            other => break other,
        }
    };
    assert!(matches!(failed, Err(WireError::Denied { .. })), "{failed:?}");
    let (.., resumed) = shake(&client, &again, Cipher::Aes, now);
    assert!(!resumed);
    let (.., resumed) = shake(&client, &again, Cipher::Aes, now + Duration::from_secs(100));
    assert!(resumed);
    let (.., resumed) = shake(&client, &again, Cipher::Aes, now + Duration::from_secs(601));
    assert!(!resumed);
    // None were given.
    let (_, strict) = pair(&[SEED], Mode::Random, false);
    assert!(matches!(greet(&strict, &mut reply), Err(WireError::Denied { .. })));
}

#[test]
fn padding_is_drawn_and_cut() {
    let padding = Padding::new(&[[100, 100, 200], [100, 5, 5], [0, 1, 2], [100, 7, 7], [100, 50, 60]]);
    let drawn = padding.draw(&mut rng(9));
    let message = vec![1; 40 + drawn.whole()];
    let pieces = drawn.cut(message.clone());
    let gaps: Vec<_> = pieces.iter().map(|(_, gap)| gap.as_millis()).collect();
    assert_eq!(gaps, [12, 0]);
    assert!((140..=240).contains(&pieces[0].0.len()) && (50..=60).contains(&pieces[1].0.len()));
    assert_eq!(joined(pieces), message);
}
