//! Hysteria 2.

use etemenanki::proto::hysteria::{
    Fragment, Gather, HEAD, Opening, Pieces, ReadOpening, Responded, Whole, write_request,
};
use etemenanki::wire::Unframed;
use rand::SeedableRng;
use rand::rngs::SmallRng;

use super::feed;

/// What a stream begins with. The type of a flow is put in front, and the input alone is shown too; what is written of it
/// reads the same.
pub fn request(data: &[u8]) {
    let known = [&[0x44, 1][..], data].concat();
    for input in [data, &known] {
        let words = |opening| {
            if let Opening::Flow(target) = &opening {
                let mut again = Vec::new();
                write_request(target, &mut again, &mut SmallRng::seed_from_u64(1));
                let read = feed::shake(&again, || ReadOpening, |opening| format!("{opening:?}"));
                assert_eq!(read, Some(Ok((format!("{opening:?}"), vec![]))));
            }
            format!("{opening:?}")
        };
        feed::shake(input, || ReadOpening, words);
    }
}

/// A server's answer, and what is behind it.
pub fn response(data: &[u8]) {
    feed::open(data, || Responded::new(Unframed));
}

/// Datagrams, each behind its length: what comes together of their pieces, and what is kept meanwhile, is bounded. What is
/// written of a payload comes together as it was.
pub fn datagrams(data: &[u8]) {
    let (mut gather, mut rest) = (Gather::default(), data);
    while let [len, more @ ..] = rest {
        let (one, left) = more.split_at(more.len().min(usize::from(*len)));
        rest = left;
        let Ok(fragment) = Fragment::read(one) else { continue };
        assert_eq!(Fragment::session(one), Some(fragment.session));
        let mut whole = Vec::new();
        match gather.add(&fragment) {
            Whole::Not => {}
            Whole::Itself(payload) => assert_eq!(payload, fragment.payload),
            Whole::Gathered => gather.take(&mut whole),
        }
        assert!(whole.len() <= 65_535 && gather.held() <= 65_535);
        again(&fragment.target.to_string(), fragment.payload, usize::from(*len));
    }
}

fn again(address: &str, payload: &[u8], most: usize) {
    let Some(mut pieces) = Pieces::new(7, 9, address, payload, most) else { return };
    let (mut gather, mut whole) = (Gather::default(), Vec::new());
    let mut piece = Vec::new();
    while pieces.write(&mut piece) {
        assert!(piece.len() > HEAD && piece.len() <= most);
        match gather.add(&Fragment::read(&piece).expect("what is written reads")) {
            Whole::Not => {}
            Whole::Itself(payload) => whole.extend_from_slice(payload),
            Whole::Gathered => gather.take(&mut whole),
        }
        piece.clear();
    }
    assert_eq!(whole, payload);
}
