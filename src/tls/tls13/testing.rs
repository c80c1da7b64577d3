//! What a client in tests needs of the parts that are private here.
#![allow(clippy::unwrap_used)]

use super::opener::Opener;
use super::schedule::TrafficSecret;
use super::sealer::{Owed, Sealer};
use super::suite::Suite;
use super::template::ServerHello;

/// The halves of the side that writes with `own` and reads with `peer`.
pub fn halves(own: TrafficSecret, peer: TrafficSecret) -> (Sealer, Opener) {
    let owed = Owed::default();
    (Sealer::new(own, owed.clone()).unwrap(), Opener::new(peer, owed).unwrap())
}

/// The suite and the share of a ServerHello.
pub fn server_hello(message: &[u8]) -> (Suite, Vec<u8>) {
    let hello = ServerHello::read(message).unwrap();
    (hello.suite, hello.share().to_vec())
}

impl Sealer {
    /// New keys for what is said, and a wish for those of the other side.
    pub fn ask_to_renew(&mut self, out: &mut bytes::BytesMut) {
        self.renew(1, out).unwrap();
    }
}
