//! What mKCP's packets looked like: a few bytes in front, as some other protocol has them. Nobody reads them but onlookers.

use rand::{Rng, RngExt};

/// Whose bytes stand in front.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    /// Voice and video.
    Srtp,
    /// BitTorrent's transport.
    Utp,
    /// DTLS 1.2.
    Dtls,
    /// Video calls of a messenger.
    Wechat,
    /// WireGuard.
    Wireguard,
    /// A question for the address of this name, as it stands behind the question's id.
    Dns(Box<[u8]>),
}

/// Longest name that a question has, its end included (RFC 1035).
const LONGEST: usize = 255;

impl Look {
    /// A question for a name. None if the name has no such form.
    #[must_use]
    pub fn dns(name: &str) -> Option<Self> {
        // One question; recursion desired.
        let mut question = vec![1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        let start = question.len();
        for label in name.trim_end_matches('.').split('.') {
            let len = u8::try_from(label.len()).ok().filter(|len| (1..64).contains(len))?;
            question.push(len);
            question.extend_from_slice(label.as_bytes());
        }
        question.push(0);
        let fits = question.len() - start <= LONGEST;
        // Type A, class IN.
        question.extend_from_slice(&[0, 1, 0, 1]);
        fits.then(|| Self::Dns(question.into()))
    }

    /// Bytes in front.
    #[must_use]
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Srtp | Self::Utp | Self::Wireguard => 4,
            Self::Dtls | Self::Wechat => 13,
            Self::Dns(question) => 2 + question.len(),
        }
    }

    /// Writes them. What counts up or stays in others' packets is drawn anew in each: readers skip it, and a count would have
    /// to be shared by all who send.
    pub(super) fn seal(&self, place: &mut [u8], rng: &mut impl Rng) {
        let [a, b, c, d] = rng.random::<u32>().to_be_bytes();
        let written: &[u8] = match self {
            Self::Srtp => &[0xe1, 0xf8, a, b],
            Self::Utp => &[0x31, 0x56, 1, 0],
            Self::Dtls => &[0x17, 0xfe, 0xfd, 0, 1, 0, 0, 0, a, b, c, 0, 17 + d % 84],
            Self::Wechat => &[0xa1, 8, 0, a, b, c, 0, 0x10, 0x11, 0x18, 0x30, 0x22, 0x30],
            Self::Wireguard => &[4, 0, 0, 0],
            Self::Dns(question) => {
                if let Some((id, rest)) = place.split_first_chunk_mut::<2>() {
                    *id = [a, b];
                    rest.iter_mut().zip(question.iter()).for_each(|(place, byte)| *place = *byte);
                }
                return;
            }
        };
        place.iter_mut().zip(written).for_each(|(place, byte)| *place = *byte);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;

    #[test]
    fn bytes_in_front() {
        for (look, want) in [
            (Look::Wireguard, &[4, 0, 0, 0][..]),
            (Look::Dtls, &[0x17, 0xfe, 0xfd]),
            (Look::Wechat, &[0xa1, 8]),
            (Look::Srtp, &[0xe1, 0xf8]),
            (Look::Utp, &[0x31, 0x56, 1, 0]),
        ] {
            let mut place = vec![9; look.len() + 1];
            look.seal(&mut place, &mut StdRng::seed_from_u64(1));
            assert!(place.starts_with(want) && place.ends_with(&[9]), "{look:?}");
        }
    }

    #[test]
    fn a_question_is_one_that_resolvers_read() {
        let look = Look::dns("www.example.com").unwrap();
        let mut place = vec![0; look.len()];
        look.seal(&mut place, &mut StdRng::seed_from_u64(1));
        assert_eq!(
            place[2..],
            *b"\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03www\x07example\x03com\x00\x00\x01\x00\x01"
        );
    }

    #[test]
    fn names_that_no_question_has() {
        let long = ["a".repeat(63), "b".repeat(63), "c".repeat(63), "d".repeat(63)].join(".");
        for name in ["", "a..b", &"a".repeat(64), &long] {
            assert_eq!(Look::dns(name), None, "{name}");
        }
        assert!(Look::dns("a.example.").is_some());
    }
}
