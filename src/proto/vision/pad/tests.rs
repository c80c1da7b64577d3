#![allow(clippy::unwrap_used)]

use rand::SeedableRng;

use super::super::filter::server_hello;
use super::*;

const ID: [u8; 16] = [0xb8, 0x31, 0x38, 0x1d, 0x63, 0x24, 0x4d, 0x53, 0xad, 0x4f, 0x8c, 0xda, 0x48, 0xb3, 8, 0x11];

fn pad(filter: &Filter, seed: Seed) -> Pad {
    Pad::new(b"head".to_vec(), ID, filter.clone(), seed, SmallRng::seed_from_u64(7))
}

/// Commands, contents and paddings of what was sealed, and what is bare behind them.
fn blocks(mut bytes: &[u8]) -> (Vec<(u8, usize, usize)>, Vec<u8>) {
    let mut found = vec![];
    while let [command, c1, c0, p1, p0, rest @ ..] = bytes {
        let (content, padding) = (u16::from_be_bytes([*c1, *c0]), u16::from_be_bytes([*p1, *p0]));
        found.push((*command, content.into(), padding.into()));
        bytes = &rest[usize::from(content + padding)..];
        if *command != CONTINUE {
            break;
        }
    }
    (found, bytes.to_vec())
}

fn sealed(pad: &mut Pad, plain: &[u8]) -> BytesMut {
    let mut out = BytesMut::new();
    assert_eq!(pad.seal(plain, &mut out), plain.len());
    out
}

fn record(len: usize) -> Vec<u8> {
    let bytes = u16::try_from(len).unwrap().to_be_bytes();
    [&[0x17, 3, 3, bytes[0], bytes[1]][..], &vec![1; len]].concat()
}

fn after_hello(suite: u16, tls13: bool) -> Filter {
    let filter = Filter::default();
    filter.look(&server_hello(suite, tls13));
    filter
}

/// Read by sing-box 1.14.4.
#[test]
fn a_known_block() {
    let mut out = sealed(&mut pad(&Filter::default(), [0, 0, 0, 0]), b"hello");
    let known = [&b"head"[..], &ID, b"\0\0\x05\0\0hello"].concat();
    assert_eq!(&out[..], known);
    out.clear();
    let padded = sealed(&mut pad(&Filter::default(), [900, 0, 8, 0]), &[0x16, 3, 1, 0, 1, 1, 9]);
    assert_eq!(blocks(&padded[20..]).0, [(CONTINUE, 7, 1)]);
}

#[test]
fn a_header_alone_hides_behind_a_block_of_padding() {
    let mut pad = pad(&Filter::default(), SEED);
    let out = sealed(&mut pad, b"");
    let (found, _) = blocks(&out[20..]);
    assert!(matches!(found[..], [(CONTINUE, 0, 900..1400)]), "{found:?}");
    assert!(sealed(&mut pad, b"").is_empty(), "once");
    assert_eq!(blocks(&sealed(&mut pad, b"x")).0[0].1, 1, "without another id");
}

#[test]
fn tls_13_leaves_behind_the_first_whole_records() {
    let mut pad = pad(&after_hello(0x1301, true), SEED);
    drop(sealed(&mut pad, b""));
    let two = [record(40), record(60)].concat();
    assert_eq!(blocks(&sealed(&mut pad, &two[..50])).0[0].0, CONTINUE, "half a record");
    let out = sealed(&mut pad, &two);
    assert!(matches!(blocks(&out).0[..], [(DIRECT, 110, 700..1400)]));
    assert_eq!(pad.next(), Next::Direct);
}

#[test]
fn tls_12_and_the_short_tag_stay_in_the_outer_tls() {
    for (suite, tls13) in [(0xc02f, false), (0x1305, true)] {
        let mut pad = pad(&after_hello(suite, tls13), SEED);
        let out = sealed(&mut pad, &record(40));
        assert_eq!((blocks(&out[20..]).0[0].0, pad.next()), (END, Next::Bare));
    }
}

#[test]
fn what_is_no_tls_is_padded_for_seven_blocks() {
    let filter = Filter::default();
    let mut pad = pad(&filter, SEED);
    drop(sealed(&mut pad, b""));
    for n in 1..=7 {
        let (found, bare) = blocks(&sealed(&mut pad, b"GET / HTTP/1.1\r\n\r\n"));
        let (command, next) = if n < 7 { (CONTINUE, Next::Framed) } else { (END, Next::Bare) };
        assert!(matches!(found[..], [(c, 18, 0..256)] if c == command), "{n}: {found:?}");
        assert_eq!((pad.next(), bare.len()), (next, 0));
    }
}

#[test]
fn a_long_write_is_cut_into_blocks_that_fit() {
    let filter = after_hello(0x1301, true);
    let mut pad = pad(&filter, SEED);
    drop(sealed(&mut pad, b""));
    let plain = [record(8000), record(8000), record(100)].concat();
    let (found, _) = blocks(&sealed(&mut pad, &plain));
    assert_eq!(found.iter().map(|block| block.1).sum::<usize>(), plain.len());
    assert!(found.iter().all(|(_, content, padding)| FIRST + content + padding <= LONGEST));
    assert_eq!((found[0].1, found.last().unwrap().0), (8005, DIRECT));
    assert!(found[..found.len() - 1].iter().all(|block| block.0 == CONTINUE));
}

#[test]
fn the_rest_of_the_write_in_which_padding_ends_is_bare() {
    let filter = Filter::default();
    (0..7).for_each(|_| filter.look(b"plain"));
    let mut pad = pad(&filter, SEED);
    drop(sealed(&mut pad, b""));
    let (found, bare) = blocks(&sealed(&mut pad, &[7; 10_000]));
    assert!(matches!(found[..], [(END, 4096, _)]), "{found:?}");
    assert_eq!((bare, pad.next()), (vec![7; 5904], Next::Bare));
}

#[test]
fn only_whole_records_of_data_count() {
    assert!(are_records(&record(1)) && are_records(&[record(3), record(300)].concat()));
    let mut torn = record(9);
    torn.pop();
    for bad in [&torn[..], &[&record(3)[..], b"\x17\x03"].concat(), &[0x17, 3, 3, 0, 0], &[0x16, 3, 3, 0, 1, 0], b""] {
        assert!(!are_records(bad), "{bad:x?}");
    }
}

/// Numbers that leave no room for a choice do not fail.
#[test]
fn odd_seeds_are_bounded_by_the_block() {
    for seed in [[0, 0, 0, 0], [u32::MAX, 0, u32::MAX, 0], [u32::MAX; 4], [9000, 1, 0, 1], [0, 0, 0, 60_000]] {
        let filter = after_hello(0x1301, true);
        let out = sealed(&mut pad(&filter, seed), &record(500));
        let (found, rest) = blocks(&out[20..]);
        assert!(found[0].1 == 505 && found[0].1 + found[0].2 + FIRST <= LONGEST && rest.is_empty(), "{found:?}");
    }
}
