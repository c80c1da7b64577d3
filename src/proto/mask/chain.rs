//! Masks one in another.

use rand::Rng;

use super::look::Look;
use super::salamander::Salamander;
use super::seal::{CHECK, NONCE, Seal, TAG};

/// One mask.
#[derive(Debug)]
pub enum Layer {
    /// Hysteria's own.
    Salamander(Salamander),
    /// What sealed mKCP's packets.
    Seal(Seal),
    /// What mKCP's packets looked like.
    Look(Look),
}

impl Layer {
    /// Bytes in front of a packet and behind it.
    fn room(&self) -> (usize, usize) {
        match self {
            Self::Salamander(_) => (Salamander::SALT, 0),
            Self::Seal(Seal::Sum) => (CHECK, 0),
            Self::Seal(Seal::Key(_)) => (NONCE, TAG),
            Self::Look(look) => (look.len(), 0),
        }
    }
}

/// Masks one in another, the first nearest to what is sent and the last nearest to the wire; none of them changes nothing.
///
/// Shared by all that send by one socket: sealing takes no lock.
#[derive(Debug, Default)]
pub struct Masks {
    layers: Box<[Layer]>,
    front: usize,
    back: usize,
}

impl Masks {
    /// In the order in which a configuration lists them.
    #[must_use]
    pub fn new(layers: impl IntoIterator<Item = Layer>) -> Self {
        let layers: Box<[Layer]> = layers.into_iter().collect();
        let (front, back) = layers.iter().map(Layer::room).fold((0, 0), |sum, room| (sum.0 + room.0, sum.1 + room.1));
        Self { layers, front, back }
    }

    /// Whether packets go as they are.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }

    /// Bytes by which a packet on the wire is longer.
    #[must_use]
    pub fn overhead(&self) -> usize {
        self.front + self.back
    }

    /// Appends the masked form of a packet to `out`. It has always [`Masks::overhead`] bytes more.
    pub fn seal(&self, packet: &[u8], out: &mut Vec<u8>, rng: &mut impl Rng) {
        let start = out.len();
        let end = start + self.front + packet.len();
        out.resize(start + self.front, 0);
        out.extend_from_slice(packet);
        out.resize(end + self.back, 0);
        let (mut from, mut to) = (start + self.front, end);
        for layer in &self.layers {
            let (front, back) = layer.room();
            (from, to) = (from - front, to + back);
            let place = &mut out[from..to];
            match layer {
                Layer::Salamander(mask) => mask.seal(place, rng),
                Layer::Seal(mask) => mask.seal(place, rng),
                Layer::Look(mask) => mask.seal(place, rng),
            }
        }
    }

    /// What a packet off the wire holds, opened where it lies; none if it is not one of these.
    #[must_use]
    pub fn open<'a>(&self, packet: &'a mut [u8]) -> Option<&'a mut [u8]> {
        self.layers.iter().rev().try_fold(packet, |packet, layer| match layer {
            Layer::Salamander(mask) => mask.open(packet),
            Layer::Seal(mask) => mask.open(packet),
            Layer::Look(mask) => packet.get_mut(mask.len()..),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;

    fn chains() -> Vec<Masks> {
        let salamander = || Layer::Salamander(Salamander::new(b"obfspass"));
        let looks = [Look::Srtp, Look::Utp, Look::Dtls, Look::Wechat, Look::Wireguard, Look::dns("a.example").unwrap()];
        let mut chains = vec![
            Masks::default(),
            Masks::new([salamander()]),
            Masks::new([Layer::Seal(Seal::Sum)]),
            Masks::new([Layer::Seal(Seal::keyed("seed"))]),
            Masks::new([salamander(), Layer::Seal(Seal::keyed("seed")), Layer::Look(Look::Wechat), salamander()]),
        ];
        chains.extend(looks.map(|look| Masks::new([Layer::Seal(Seal::Sum), Layer::Look(look)])));
        chains
    }

    #[test]
    fn what_is_sealed_opens() {
        let mut rng = StdRng::seed_from_u64(1);
        for masks in chains() {
            for len in [0, 1, 2, 3, 4, 5, 31, 32, 33, 1200, 1500] {
                let packet: Vec<u8> = (0..len).map(|i| i as u8).collect();
                let mut out = b"before".to_vec();
                masks.seal(&packet, &mut out, &mut rng);
                let wire = &mut out[6..];
                assert_eq!(wire.len(), len + masks.overhead(), "{masks:?}");
                assert_eq!(masks.open(wire).as_deref(), Some(&*packet), "{masks:?}");
            }
        }
    }

    #[test]
    fn what_was_cut_or_turned_over_is_no_packet() {
        let mut rng = StdRng::seed_from_u64(2);
        for masks in chains() {
            let mut wire = vec![];
            masks.seal(b"hello, you there", &mut wire, &mut rng);
            for len in 0..wire.len() {
                // It may be shorter, never longer than what came.
                assert!(masks.open(&mut wire.clone()[..len]).is_none_or(|opened| opened.len() <= len));
            }
        }
        for seal in [Seal::Sum, Seal::keyed("seed")] {
            let (masks, mut wire) = (Masks::new([Layer::Seal(seal)]), vec![]);
            masks.seal(b"hello", &mut wire, &mut rng);
            for at in 0..wire.len() {
                let mut turned = wire.clone();
                turned[at] ^= 1;
                assert!(masks.open(&mut turned).is_none(), "{at}");
            }
        }
    }
}
