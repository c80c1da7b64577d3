//! The server in the midst of a way: it takes off the identity that is meant for it, and passes on what is for the next.

use super::block::{BLOCK, Block, identity};
use super::keys::{Hash, ServerKeys};
use super::packet::HEADER;
use crate::wire::{Handshake, Reader, Step, WireError};

/// Reads the front of a stream: whose it is, and the salt, which the next server wants too.
pub struct Passage<'a>(&'a ServerKeys);

impl<'a> Passage<'a> {
    /// For those who have a key.
    #[must_use]
    pub fn new(keys: &'a ServerKeys) -> Self {
        Self(keys)
    }
}

impl Handshake for Passage<'_> {
    type Output = (usize, Vec<u8>);

    fn step(&mut self, input: &[u8], _: &mut Vec<u8>) -> Result<Step<Self::Output>, WireError> {
        let len = self.0.method().key_len();
        let wanted = len + self.0.identity_len();
        if input.len() < wanted {
            return Ok(Step::More { used: 0, need: wanted - input.len() });
        }
        let (salt, rest) = input.split_at(len);
        let (user, _) = self.0.user(|| {
            let mut hash = Reader::new(rest).take_array()?;
            identity(self.0.own(), salt)?.decrypt(&mut hash);
            Ok(hash)
        })?;
        Ok(Step::Done { used: wanted, value: (user, salt.to_vec()) })
    }
}

/// Passes on the datagrams of one session.
pub struct Passing {
    user: usize,
    hash: Hash,
    /// Seals headers for the next server.
    header: Block,
}

impl Passing {
    /// Of the session to which this datagram belongs; it was named by [`ServerKeys::name`].
    ///
    /// # Errors
    /// [`WireError`] for a datagram that no user sent.
    pub fn new(keys: &ServerKeys, named: &[u8]) -> Result<Self, WireError> {
        let hash = identity_of(named)?;
        let (user, key) = keys.user(|| Ok(hash))?;
        Ok(Self { user, hash, header: Block::new(key.bytes())? })
    }

    /// Which of the server's users it is.
    #[must_use]
    pub fn user(&self) -> usize {
        self.user
    }

    /// Makes of a named datagram the one for the next server, which begins where it says.
    ///
    /// # Errors
    /// [`WireError`] for what does not belong here.
    pub fn pass(&self, named: &mut [u8]) -> Result<usize, WireError> {
        if identity_of(named)? != self.hash {
            return Err(WireError::Malformed { what: "session" });
        }
        let mut header = Reader::new(named).take_array()?;
        self.header.encrypt(&mut header);
        named[HEADER..HEADER + BLOCK].copy_from_slice(&header);
        Ok(BLOCK)
    }
}

/// Behind the header.
fn identity_of(named: &[u8]) -> Result<Hash, WireError> {
    let mut reader = Reader::new(named);
    reader.take_bytes(HEADER)?;
    reader.take_array()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use bytes::BytesMut;

    use super::super::{ClientKeys, ClientSession, RequestSealer, Server, ServerSession};
    use super::*;
    use crate::addr::Target;
    use crate::proto::shadowsocks::{Key, Method};
    use crate::wire::Seal;

    fn key(byte: u8) -> Key {
        Key::of_bytes(Method::Aes256, &[byte; 32]).unwrap()
    }

    /// A way over one relay, which knows another user too.
    fn way() -> (ClientKeys, ServerKeys, ServerKeys) {
        let client = ClientKeys::new(vec![key(1), key(3)]).unwrap();
        (client, ServerKeys::shared(key(1), vec![key(2), key(3)]).unwrap(), ServerKeys::single(key(3)).unwrap())
    }

    #[test]
    fn a_stream_is_read_by_the_next_server() {
        let (client, relay, next) = way();
        let target: Target = "a.example:443".parse().unwrap();
        let mut wire = BytesMut::new();
        RequestSealer::new(&client, vec![5; 32], &target, 9, 1).unwrap().seal(b"hello", &mut wire);
        assert!(matches!(Passage::new(&relay).step(&wire[..47], &mut vec![]), Ok(Step::More { used: 0, need: 1 })));
        let Ok(Step::Done { used, value: (user, salt) }) = Passage::new(&relay).step(&wire, &mut vec![]) else {
            panic!("a user was refused")
        };
        assert_eq!((user, used), (1, 48));
        let passed = [&salt[..], &wire[used..]].concat();
        let read = Server::new(&next, 9, |_: &[u8]| true).step(&passed, &mut vec![]);
        let Ok(Step::Done { value, .. }) = read else { panic!("the next server refuses") };
        assert_eq!((value.target, &value.early[..]), (target, &b"hello"[..]));
        wire[40] ^= 1;
        assert!(Passage::new(&relay).step(&wire, &mut vec![]).is_err());
    }

    #[test]
    fn datagrams_are_read_by_the_next_server_and_no_other_user_joins_a_session() {
        let (client, relay, next) = way();
        let target: Target = "a.example:53".parse().unwrap();
        let sealed = |keys: ClientKeys| {
            let mut wire = BytesMut::new();
            ClientSession::new(keys, [7; 8]).unwrap().seal(&target, b"ask", 9, 0, [0; 24], &mut wire);
            relay.name(&mut wire).unwrap();
            wire
        };
        let mut wire = sealed(client);
        let passing = Passing::new(&relay, &wire).unwrap();
        let from = passing.pass(&mut wire).unwrap();
        let mut passed = wire.split_off(from);
        next.name(&mut passed).unwrap();
        let (to, at) = ServerSession::new(&next, &passed, [8; 8]).unwrap().open(&mut passed, 9).unwrap();
        assert_eq!((passing.user(), to, &passed[at]), (1, target.clone(), &b"ask"[..]));
        let mut other = sealed(ClientKeys::new(vec![key(1), key(2)]).unwrap());
        assert!(passing.pass(&mut other).is_err() && passing.pass(&mut [0; 20]).is_err());
    }
}
