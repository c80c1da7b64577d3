//! Vision.

use bytes::BytesMut;
use etemenanki::proto::vision::{Filter, Pad, SEED, Unpad};
use etemenanki::wire::{Next, Seal};
use rand::SeedableRng;
use rand::rngs::SmallRng;

use super::feed;

const ID: [u8; 16] = [3; 16];

/// What a peer sends: as it is, and behind the id, without which nothing counts as padded.
pub fn blocks(data: &[u8]) {
    for wire in [data.to_vec(), [&ID, data].concat()] {
        let (plain, _) = feed::open(&wire, || Unpad::new(ID, Filter::default()));
        assert!(plain.len() <= wire.len());
    }
}

/// An inner stream, padded and read again. The first byte says how long its writes are.
pub fn padded(data: &[u8]) {
    let Some((&first, inner)) = data.split_first() else { return };
    let write = [1, 7, 300, 1400, 8192, 40_000][usize::from(first) % 6];
    let mut pad = Pad::new(b"head".to_vec(), ID, Filter::default(), SEED, SmallRng::seed_from_u64(7));
    let mut wire = BytesMut::new();
    // A header may leave alone.
    if first & 0x80 != 0 {
        assert_eq!(pad.seal(&[], &mut wire), 0);
    }
    let mut taken = 0;
    for mut piece in inner.chunks(write) {
        while !piece.is_empty() && pad.next() == Next::Framed {
            let took = pad.seal(piece, &mut wire);
            assert!(took > 0, "nothing was taken");
            piece = &piece[took..];
            taken += took;
        }
    }
    // What is left travels as it is.
    wire.extend_from_slice(&inner[taken..]);
    if wire.is_empty() {
        return;
    }
    let wire = wire.strip_prefix(b"head").expect("the header comes first");
    let (plain, ended) = feed::open(wire, || Unpad::new(ID, Filter::default()));
    let rest = inner.strip_prefix(&plain[..]).expect("what was written");
    assert!(wire.ends_with(rest), "and behind it what travels as it is");
    match pad.next() {
        Next::Framed => assert_eq!((rest.len(), ended.as_str()), (0, "open")),
        next => assert_eq!(ended, format!("{next:?}")),
    }
}
