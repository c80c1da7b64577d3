//! Shadowsocks, both generations.

use bytes::BytesMut;
use etemenanki::proto::shadowsocks::v2022::{
    self, ClientKeys, ClientSession, RequestSealer, ServerKeys, ServerSession,
};
use etemenanki::proto::shadowsocks::{Key, Method, Sealer, Server, open_datagram, seal_datagram};
use etemenanki::wire::{Open, Opened};

use super::feed;
use super::plan::{Plan, seal, target};

/// Takes what is left of a stream. An opener knows the keys of its stream, and is not made twice.
fn rest(mut open: impl Open, wire: &[u8], plain: &mut Vec<u8>) {
    let mut held = wire.to_vec();
    while let Ok(opened) = open.open(&mut held) {
        let Opened::Plain { used, at } = opened else { return };
        plain.extend_from_slice(&held[at]);
        held.drain(..used);
    }
}

/// A stream with its opening.
pub fn stream(data: &[u8]) {
    let Some(plan) = Plan::of(data) else { return };
    let key = Key::of_password(Method::Aes128, b"password");
    let sealer = Sealer::request(&key, vec![7; 16], &target()).expect("a key that fits");
    let mut wire = seal(sealer, plan.payload);
    plan.bend(&mut wire);
    let keys = [key];
    let mut read = None;
    let shaken = feed::shake(
        &wire,
        || Server::new(&keys, |_: &[u8]| true),
        |request| {
            let mut plain = request.early.clone();
            let words = format!("{} {} {}", request.user, request.target, plain.len());
            read = Some((request, std::mem::take(&mut plain)));
            words
        },
    );
    let plain = read.zip(shaken).and_then(|((request, mut plain), shaken)| {
        rest(request.open, &shaken.ok()?.1, &mut plain);
        (plan.by != 0 || request.target == target()).then_some(plain)
    });
    plan.judge(plain.as_deref());
}

/// A datagram; the input itself is shown too.
pub fn udp(data: &[u8]) {
    let key = Key::of_password(Method::Chacha20, b"password");
    let _ = open_datagram(&key, &mut data.to_vec());
    let Some(plan) = Plan::of(data) else { return };
    let mut wire = BytesMut::new();
    seal_datagram(&key, &[7; 32], &target(), plan.payload, &mut wire).expect("a key that fits");
    plan.bend(&mut wire);
    let opened = open_datagram(&key, &mut wire);
    assert_eq!(opened.is_ok(), plan.by == 0);
    plan.judge(opened.ok().map(|(_, at)| &wire[at]));
}

const NOW: u64 = 1_700_000_000;

fn keys() -> (ClientKeys, ServerKeys) {
    let key = |byte| Key::of_bytes(Method::Aes128, &[byte; 16]).expect("a key that fits");
    let client = ClientKeys::new(vec![key(1), key(2)]).expect("keys that fit");
    (client, ServerKeys::shared(key(1), vec![key(3), key(2)]).expect("keys that fit"))
}

/// A stream of the second generation, of one of several users.
pub fn stream_2022(data: &[u8]) {
    let Some(plan) = Plan::of(data) else { return };
    let (client, server) = keys();
    let sealer = RequestSealer::new(&client, vec![7; 16], &target(), NOW, 9).expect("keys that fit");
    let mut wire = seal(sealer, plan.payload);
    plan.bend(&mut wire);
    let mut read = None;
    let shaken = feed::shake(
        &wire,
        || v2022::Server::new(&server, NOW, |_: &[u8]| true),
        |accepted| {
            let words = format!("{} {}", accepted.user, accepted.target);
            read = Some(accepted);
            words
        },
    );
    let plain = read.zip(shaken).and_then(|(mut accepted, shaken)| {
        let mut plain = std::mem::take(&mut accepted.early);
        rest(accepted.open, &shaken.ok()?.1, &mut plain);
        (plan.by != 0 || (accepted.user, accepted.target) == (1, target())).then_some(plain)
    });
    plan.judge(plain.as_deref());
}

/// A datagram of the second generation; the input itself is shown too.
pub fn udp_2022(data: &[u8]) {
    let (client, server) = keys();
    let mut raw = data.to_vec();
    let _ = server.name(&mut raw);
    let mut session = ClientSession::new(client, [5; 8]).expect("keys that fit");
    let _ = session.open(&mut data.to_vec(), NOW);
    let Some(plan) = Plan::of(data) else { return };
    let mut wire = BytesMut::new();
    session.seal(&target(), plan.payload, NOW, 9, Default::default(), &mut wire);
    plan.bend(&mut wire);
    let opened = server.name(&mut wire).and_then(|_| {
        let mut session = ServerSession::new(&server, &wire, [6; 8])?;
        session.open(&mut wire, NOW)
    });
    assert_eq!(opened.is_ok(), plan.by == 0);
    plan.judge(opened.ok().map(|(_, at)| &wire[at]));
}
