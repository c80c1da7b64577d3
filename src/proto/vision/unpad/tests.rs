#![allow(clippy::unwrap_used)]

use bytes::BytesMut;
use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::SmallRng;

use super::super::filter::server_hello;
use super::super::{Pad, SEED};
use super::*;
use crate::wire::Seal;

const ID: [u8; 16] = [3; 16];

/// Everything that comes out, how the half goes on, and what is left for that.
type Out = (Vec<u8>, Option<Next>, Vec<u8>);

/// Opens what is shown in these pieces.
fn opened(bytes: &[u8], piece: usize) -> Result<Out, WireError> {
    let mut unpad = Unpad::new(ID, Filter::default());
    let (mut held, mut plain, mut over) = (Vec::new(), Vec::new(), None);
    for piece in bytes.chunks(piece.max(1)) {
        held.extend_from_slice(piece);
        while over.is_none() {
            match unpad.open(&mut held)? {
                Opened::More { need } => {
                    assert!(need > 0 && need <= LONGEST);
                    break;
                }
                Opened::Plain { used, at } => {
                    plain.extend_from_slice(&held[at]);
                    held.drain(..used);
                }
                Opened::Over { used, next } => {
                    held.drain(..used);
                    over = Some(next);
                }
                Opened::End { .. } => unreachable!("nothing says so"),
            }
        }
    }
    Ok((plain, over, held))
}

#[test]
fn blocks_are_opened_however_they_are_split() {
    for (command, next) in [(END, Next::Bare), (DIRECT, Next::Direct)] {
        let blocks = [&ID[..], b"\0\0\x05\0\x03hello\0\0\0", &[0, 0, 0, 0, 2, 9, 9], &[command, 0, 2, 0, 1], b"!?\0"];
        let wire = [&blocks.concat()[..], b"behind"].concat();
        for piece in 1..=wire.len() {
            let wanted = (b"hello!?".to_vec(), Some(next), b"behind".to_vec());
            assert_eq!(opened(&wire, piece), Ok(wanted), "pieces of {piece}");
        }
    }
}

#[test]
fn what_does_not_begin_with_the_id_was_not_padded() {
    for wire in [&b"HTTP/1.1 200 OK\r\n"[..], &[&ID[..15], b"x and more"].concat()] {
        for piece in 1..=wire.len() {
            assert_eq!(opened(wire, piece), Ok((vec![], Some(Next::Bare), wire.to_vec())));
        }
    }
}

#[test]
fn unknown_commands_end_the_stream() {
    let wire = [&ID[..], &[3, 0, 0, 0, 0]].concat();
    assert_eq!(opened(&wire, 99), Err(WireError::Malformed { what: "command of a padded block" }));
}

#[test]
fn content_longer_than_a_block_is_passed_on_as_it_comes() {
    let wire = [&ID[..], &[1, 0xff, 0xff, 0, 0], &[5; 0xffff]].concat();
    assert_eq!(opened(&wire, 1000).unwrap().0.len(), 0xffff);
}

/// The two halves of one side learn from each other: what was read decides how what is written goes on.
#[test]
fn a_hello_that_is_read_lets_what_is_written_leave() {
    let filter = Filter::default();
    let (rng, other) = (SmallRng::seed_from_u64(1), Filter::default());
    let mut far = Pad::new(vec![], ID, other, SEED, rng.clone());
    let mut out = BytesMut::new();
    far.seal(&server_hello(0x1303, true), &mut out);
    let mut unpad = Unpad::new(ID, filter.clone());
    let mut at = 0;
    while let Opened::Plain { used, .. } = unpad.open(&mut out[at..]).unwrap() {
        at += used;
    }
    let mut near = Pad::new(vec![], ID, filter, SEED, rng);
    out.clear();
    near.seal(&[0x17, 3, 3, 0, 1, 9], &mut out);
    assert_eq!(near.next(), Next::Direct);
}

proptest! {
    #[test]
    fn what_was_padded_comes_out_the_same(writes in prop::collection::vec(1usize..20_000, 0..12), seed: u64, piece in 1usize..9000) {
        let mut pad = Pad::new(vec![], ID, Filter::default(), SEED, SmallRng::seed_from_u64(seed));
        let (mut out, mut plain) = (BytesMut::new(), Vec::new());
        for (n, len) in writes.into_iter().enumerate() {
            let bytes = vec![u8::try_from(n).unwrap(); len];
            plain.extend_from_slice(&bytes);
            if pad.next() == Next::Framed {
                prop_assert_eq!(pad.seal(&bytes, &mut out), len);
            } else {
                out.extend_from_slice(&bytes);
            }
        }
        let (mut got, _, rest) = opened(&out, piece).unwrap();
        got.extend_from_slice(&rest);
        prop_assert_eq!(got, plain);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>, piece in 1usize..64) {
        let _ = opened(&[&ID[..], &bytes].concat(), piece);
    }
}
