use rand::SeedableRng;

use super::super::options::{Options, Security};
use super::super::request::tests::known;
use super::super::vectors::hex;
use super::*;
use crate::addr::Target;
use crate::wire::{Frames, Parcel, Unpacked};

fn rng() -> StdRng {
    StdRng::seed_from_u64(7)
}

fn request(security: Security, options: u8) -> Request {
    Request { security, options: Options(options), ..known() }
}

/// What goes over the wire for some payloads and the end.
fn sent(seal: &mut Sealer, payloads: &[&[u8]]) -> BytesMut {
    let mut out = BytesMut::new();
    for payload in payloads {
        let mut rest = *payload;
        while !rest.is_empty() {
            let taken = seal.seal(rest, &mut out);
            rest = &rest[taken..];
        }
    }
    seal.finish(&mut out);
    out
}

/// What is heard of it, shown in pieces, and whether it ended.
fn heard(mut open: Opener, wire: &[u8], piece: usize) -> (Vec<u8>, bool) {
    let (mut held, mut plain, mut bare) = (Vec::new(), Vec::new(), false);
    for piece in wire.chunks(piece) {
        held.extend_from_slice(piece);
        while !bare {
            match open.open(&mut held).unwrap() {
                Opened::More { need } => {
                    assert!(need > 0);
                    break;
                }
                Opened::Plain { used, at } => {
                    plain.extend_from_slice(&held[at]);
                    held.drain(..used);
                }
                Opened::Over { used, next } => {
                    assert_eq!(next, Next::Bare);
                    held.drain(..used);
                    bare = true;
                }
                Opened::End { used } => {
                    held.drain(..used);
                    assert!(held.is_empty());
                    return (plain, true);
                }
            }
        }
        if bare {
            plain.append(&mut held);
        }
    }
    (plain, false)
}

#[test]
fn known_chunks() {
    let mut seal = Sealer::client(&known(), b"head".to_vec(), true, rng());
    let mut out = BytesMut::new();
    assert_eq!(seal.seal(b"hello", &mut out), 5);
    let first = hex("8e6526aca2da2078f552797282c9aa9cf67d935233aad8");
    assert_eq!((&out[..4], &out[4..4 + first.len()], out.len()), (&b"head"[..], &first[..], 4 + first.len() + 17));
    out.clear();
    seal.finish(&mut out);
    let end = hex("b6baccd579192f2c952dce50d25bca363611");
    assert_eq!((&out[..end.len()], out.len()), (&end[..], end.len() + 4));

    let mut seal = Sealer::client(&request(Security::ChaCha20Poly1305, 0x0d), vec![], true, rng());
    out.clear();
    seal.seal(b"hello", &mut out);
    assert_eq!(out[..23], hex("8e658fa7c8ae8c6567bf102495bdd19d574bf38eefa3c3"));
}

#[test]
fn every_form_comes_through_in_any_pieces() {
    let large: Vec<u8> = (0..20_000u32).map(|n| n as u8).collect();
    for security in [Security::Aes128Gcm, Security::ChaCha20Poly1305, Security::None] {
        for options in [0x00, 0x01, 0x05, 0x09, 0x0d, 0x11, 0x1d] {
            let request = request(security, options);
            let (up, down) = (sent(&mut Sealer::client(&request, vec![], true, rng()), &[b"ask"]), {
                sent(&mut Sealer::server(&request, rng()), &[b"answer", &large])
            });
            let answer = [&b"answer"[..], &large].concat();
            let ends = !request.is_bare();
            for piece in 1..=up.len() {
                assert_eq!(heard(Opener::server(&request), &up, piece), (b"ask".to_vec(), ends));
            }
            for piece in [1, 2, 3, 17, 18, 19, 4096, down.len()] {
                let (plain, ended) = heard(Opener::client(&request), &down, piece);
                assert!(plain == answer && ended == ends, "{security:?} {options:#x} in pieces of {piece}");
            }
        }
    }
}

#[test]
fn a_client_that_tells_no_end_tells_none() {
    let out = sent(&mut Sealer::client(&known(), vec![], false, rng()), &[b"ask"]);
    assert_eq!(heard(Opener::server(&known()), &out, 8), (b"ask".to_vec(), false));
}

#[test]
fn a_changed_chunk_is_refused_and_asks_for_no_more_than_a_length_can_say() {
    for security in [Security::Aes128Gcm, Security::ChaCha20Poly1305] {
        for options in [0x01, 0x0d, 0x1d] {
            let request = request(security, options);
            let wire = sent(&mut Sealer::client(&request, vec![], false, rng()), &[&[9; 100]]);
            for at in 0..wire.len() {
                let mut bad = wire.clone();
                bad[at] ^= 0x80;
                match Opener::server(&request).open(&mut bad) {
                    Ok(Opened::More { need }) => assert!(need <= usize::from(u16::MAX)),
                    // Padding is not sealed, and a shorter chunk may seem to be the end.
                    Ok(Opened::Plain { at: plain, .. }) => assert!(at >= plain.end + 16),
                    Ok(Opened::End { .. }) => assert!(at < 2),
                    Err(_) => {}
                    Ok(other) => unreachable!("{other:?}"),
                }
            }
        }
    }
}

/// Its keys count what was sealed, so a datagram that does not leave must not be sealed either.
#[test]
fn a_datagram_that_fits_no_chunk_is_dropped_and_those_behind_it_arrive() {
    let peer: Target = "10.0.0.1:53".parse().unwrap();
    let seal = Sealer::client(&known(), b"head".to_vec(), false, rng());
    let (mut client, mut out) = (Frames::new(seal, Opener::client(&known())), BytesMut::new());
    assert!(!client.pack(&[7; CHUNK + 1], &peer, &mut out));
    assert!(out.is_empty());
    assert!(client.pack(&[8; CHUNK], &peer, &mut out));
    assert_eq!(&out.split_to(4)[..], b"head");
    let seal = Sealer::server(&known(), rng());
    let mut server: Frames<_, _, Target> = Frames::new(seal, Opener::server(&known()));
    let Ok(Unpacked::Packet { at, .. }) = server.unpack(&mut out) else { unreachable!("no datagram") };
    assert_eq!(out[at], [8; CHUNK]);
}
