//! VLESS' own encryption.

use std::time::Instant;

use etemenanki::proto::vless::encryption::{
    Answer, Begun, Cipher, Client, Confirmed, Greeted, Lifetime, Mode, Opener, Padding, PrivateKey, PublicKey, Sealer,
    Server,
};
use etemenanki::wire::{Handshake, Open, Opened, Step, WireError};
use rand::SeedableRng;
use rand::rngs::StdRng;

use super::feed;
use super::plan::{Plan, seal};

/// Two keys, one behind the other, and everything hidden.
fn sides() -> (Client, Server) {
    let private: Vec<_> = [&[5; 32][..], &[7; 64]].map(|key| PrivateKey::new(key).expect("a key")).into();
    let public = private.iter().map(|key| PublicKey::new(key.public()).expect("a key")).collect();
    let padding = || Padding::new(&[[100, 35, 60]]);
    let client = Client::new(public, Mode::Random, padding(), false);
    (client, Server::new(private, Mode::Random, padding(), Lifetime { from: 600, to: None }))
}

fn rng() -> StdRng {
    StdRng::seed_from_u64(1)
}

fn hello(client: &Client) -> (Vec<u8>, Answer) {
    match client.begin(Instant::now(), Cipher::Aes, &mut rng()).expect("keys that fit") {
        Begun::Asked(pieces, answer) => (pieces.into_iter().flat_map(|(bytes, _)| bytes).collect(), *answer),
        Begun::Resumed(_) => panic!("nothing was kept"),
    }
}

fn whole<H: Handshake>(mut shake: H, input: &[u8]) -> Result<(usize, H::Output), WireError> {
    match shake.step(input, &mut Vec::new())? {
        Step::Done { used, value } => Ok((used, value)),
        Step::More { .. } => Err(WireError::Malformed { what: "end" }),
    }
}

fn greeted(server: &Server, hello: &[u8]) -> Result<(Vec<u8>, Confirmed, usize), WireError> {
    match whole(server.greet(Instant::now(), Cipher::Aes, rng()), hello)? {
        (used, Greeted::Asked(pieces, confirmed)) => {
            Ok((pieces.into_iter().flat_map(|(bytes, _)| bytes).collect(), confirmed, used))
        }
        (_, Greeted::Resumed(_)) => panic!("no ticket was given"),
    }
}

/// What a client begins with, as a server reads it: the input alone, and behind keys that fit where it is bent.
pub fn hello_of_a_client(data: &[u8]) {
    let (client, server) = sides();
    let greet = || server.greet(Instant::now(), Cipher::Aes, rng());
    let _ = feed::shake(data, greet, |_| "greeted".to_owned());
    let Some(plan) = Plan::of(data) else { return };
    let (mut wire, _) = hello(&client);
    plan.bend(&mut wire);
    let _ = feed::shake(&wire, greet, |_| "greeted".to_owned());
    let read = greeted(&server, &wire).and_then(|(_, confirmed, used)| whole(confirmed, &wire[used..]));
    assert_eq!(read.is_ok(), plan.by == 0);
}

/// What a server answers, as its client reads it.
pub fn answer(data: &[u8]) {
    let (client, server) = sides();
    let _ = whole(hello(&client).1, data);
    let Some(plan) = Plan::of(data) else { return };
    let ((wire, own), (_, other)) = (hello(&client), hello(&client));
    let (mut said, _, _) = greeted(&server, &wire).expect("it was not bent");
    plan.bend(&mut said);
    // Somebody else's answer.
    assert!(whole(other, &said).is_err());
    match whole(own, &said) {
        // The padding behind it is read with the first record.
        Ok((used, mut ready)) => {
            let padding = ready.open.open(&mut said[used..]);
            assert_eq!(matches!(padding, Ok(Opened::Plain { .. })), plan.by == 0);
        }
        Err(_) => assert_ne!(plan.by, 0),
    }
}

fn established() -> (Sealer, Opener) {
    let (client, server) = sides();
    let (wire, answer) = hello(&client);
    let (said, confirmed, used) = greeted(&server, &wire).expect("it was not bent");
    let (_, far) = whole(confirmed, &wire[used..]).expect("it was not bent");
    let (_, near) = whole(answer, &said).expect("it was not bent");
    (near.seal, far.1)
}

/// Records, and the input in their place.
pub fn records(data: &[u8]) {
    let _ = rest(established().1, data);
    let Some(plan) = Plan::of(data) else { return };
    let (sealer, opener) = established();
    let mut wire = seal(sealer, plan.payload);
    plan.bend(&mut wire);
    plan.judge(Some(&rest(opener, &wire)));
}

fn rest(mut open: Opener, wire: &[u8]) -> Vec<u8> {
    let (mut held, mut plain) = (wire.to_vec(), Vec::new());
    while let Ok(Opened::Plain { used, at }) = open.open(&mut held) {
        plain.extend_from_slice(&held[at]);
        held.drain(..used);
    }
    plain
}
