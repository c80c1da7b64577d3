//! Datagrams of either generation and either side, as an association sees them: a peer and a payload.

use std::fmt;
use std::ops::Range;

use bytes::BytesMut;
use rand::{Rng, RngExt};

use super::datagram::{open_datagram, seal_datagram};
use super::method::Key;
use super::v2022::{ClientSession, Passing, ServerSession, padding};
use crate::addr::Target;
use crate::proto::socks::{read_address, write_address};
use crate::wire::{Reader, WireError};

/// What seals and opens the datagrams of one association.
pub enum Codec {
    /// Nothing: the address stands in front of the payload.
    Plain,
    /// A cipher of the old generation. Salts of those who have the key are shown, and refused where they are not new.
    Old(Key, Fresh),
    /// A client's session of 2022.
    Client(Box<ClientSession>),
    /// The server's side of one; datagrams are named before they come here.
    Server(Box<ServerSession>),
    /// Of a server in the midst of a way: the next one is the peer, and its datagrams go back as they are.
    Relay(Box<Passing>, Target),
}

/// Whether a salt was never seen before.
pub type Fresh = Box<dyn FnMut(&[u8]) -> bool + Send>;

/// What a client asks of DNS is padded, since its length would tell much; the reference client does the same.
const DNS: u16 = 53;

impl Codec {
    /// Appends a datagram to or from `peer`. `now` are seconds since 1970.
    ///
    /// # Errors
    /// [`WireError`] for a key that does not fit its method.
    pub fn seal(
        &mut self,
        peer: &Target,
        payload: &[u8],
        now: u64,
        rng: &mut impl Rng,
        out: &mut BytesMut,
    ) -> Result<(), WireError> {
        match self {
            Self::Plain => {
                write_address(peer, out);
                out.extend_from_slice(payload);
            }
            Self::Old(key, _) => {
                let mut salt = [0; 32];
                let salt = &mut salt[..key.method().key_len()];
                rng.fill_bytes(salt);
                seal_datagram(key, salt, peer, payload, out)?;
            }
            Self::Client(session) => {
                let padding = if peer.port == DNS { padding(rng) } else { 0 };
                session.seal(peer, payload, now, padding, rng.random(), out);
            }
            Self::Server(session) => session.seal(peer, payload, now, 0, rng.random(), out),
            Self::Relay(..) => out.extend_from_slice(payload),
        }
        Ok(())
    }

    /// Opens a datagram where it lies; gives its peer and where its payload is.
    ///
    /// # Errors
    /// [`WireError`] for what the other side did not seal, or came before.
    pub fn open(&mut self, datagram: &mut [u8], now: u64) -> Result<(Target, Range<usize>), WireError> {
        match self {
            Self::Plain => {
                let mut reader = Reader::new(datagram);
                let peer = read_address(&mut reader)?;
                Ok((peer, reader.used()..datagram.len()))
            }
            Self::Old(key, fresh) => {
                let opened = open_datagram(key, datagram)?;
                // The salt stands where it stood, and who had no key did not come here.
                if fresh(&datagram[..key.method().key_len()]) { Ok(opened) } else { Err(WireError::Replayed) }
            }
            Self::Client(session) => session.open(datagram, now),
            Self::Server(session) => session.open(datagram, now),
            Self::Relay(passing, server) => Ok((server.clone(), passing.pass(datagram)?..datagram.len())),
        }
    }
}

/// Without keys.
impl fmt::Debug for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "Codec(plain)",
            Self::Old(..) => "Codec(old)",
            Self::Client(_) => "Codec(client)",
            Self::Server(_) => "Codec(server)",
            Self::Relay(..) => "Codec(relay)",
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::super::method::Method;
    use super::super::window::Salts;
    use super::*;

    #[test]
    fn a_datagram_of_the_old_generation_is_taken_once() {
        let key = Key::of_password(Method::Chacha20, b"p");
        let peer: Target = "a.example:53".parse().unwrap();
        let mut salts = Salts::new(u64::MAX, 10);
        let mut server = Codec::Old(key.clone(), Box::new(move |salt| salts.admit(salt, 0)));
        let mut client = Codec::Old(key, Box::new(|_| true));
        let mut rng = StdRng::seed_from_u64(1);
        let mut sealed = || {
            let mut out = BytesMut::new();
            client.seal(&peer, b"ask", 0, &mut rng, &mut out).unwrap();
            out
        };
        let (mut first, mut second) = (sealed(), sealed());
        let mut broken = first.clone();
        *broken.last_mut().unwrap() ^= 1;
        assert!(server.open(&mut broken, 0).is_err(), "a stranger's copy");
        assert!(server.open(&mut first.clone(), 0).is_ok(), "which does not use the salt up");
        assert!(matches!(server.open(&mut first, 0), Err(WireError::Replayed)));
        let (to, at) = server.open(&mut second, 0).unwrap();
        assert_eq!((to, &second[at]), (peer.clone(), &b"ask"[..]));
    }
}
