//! The server's side of a header, in two steps: who knocks, and what for.
//!
//! Between them stands the question whether somebody knocked like that before, which only the caller can answer.

use std::fmt;
use std::sync::Arc;

use super::account::{Account, AuthId, Fresh};
use super::cipher::TAG;
use super::request::Request;
use super::sealed;
use crate::wire::{Handshake, Step, WireError, whole};

/// Who may come in. An id says nothing about its user to others, so all are tried.
pub struct Users<U>(Vec<Arc<(Account, U)>>);

impl<U> Users<U> {
    /// Of these; of two with one id the first counts.
    pub fn new(users: impl IntoIterator<Item = (Account, U)>) -> Self {
        Self(users.into_iter().map(Arc::new).collect())
    }
}

impl<U> Users<U> {
    /// A number that depends on who they are and on nothing else, and tells nothing of them.
    #[must_use]
    pub fn seed(&self) -> u64 {
        let mut hasher = blake3::Hasher::new_derive_key("etemenanki vmess how strangers are sent away");
        for user in &self.0 {
            hasher.update(user.0.command());
        }
        hasher.finalize().as_bytes().first_chunk().map_or(0, |front| u64::from_be_bytes(*front))
    }
}

impl<U> fmt::Debug for Users<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Users({})", self.0.len())
    }
}

/// Reads the id with which a connection begins.
#[derive(Debug)]
pub struct Knock<'a, U> {
    users: &'a Users<U>,
    now: u64,
}

/// Whose connection it is.
#[derive(Debug, Clone)]
pub struct Knocked<U> {
    /// The user.
    pub user: Arc<(Account, U)>,
    /// The id.
    pub id: AuthId,
}

impl<'a, U> Knock<'a, U> {
    /// Of one of these users, in this second.
    #[must_use]
    pub fn new(users: &'a Users<U>, now: u64) -> Self {
        Self { users, now }
    }
}

impl<U> Handshake for Knock<'_, U> {
    type Output = Knocked<U>;

    /// [`WireError::Clock`] means that a user made the id, but not in these minutes.
    fn step(&mut self, input: &[u8], _: &mut Vec<u8>) -> Result<Step<Knocked<U>>, WireError> {
        whole(input, |reader| {
            let id = reader.take_array()?;
            let found = self.users.0.iter().find_map(|user| user.0.knows(&id, self.now).map(|fresh| (user, fresh)));
            match found {
                Some((user, Fresh::Yes)) => Ok(Knocked { user: Arc::clone(user), id }),
                Some((_, Fresh::No { off })) => Err(WireError::Clock { off }),
                None => Err(WireError::Denied { what: "VMess user" }),
            }
        })
    }
}

/// Reads what stands behind the id.
#[derive(Debug)]
pub struct Header<'a, U> {
    knocked: &'a Knocked<U>,
}

/// Longest header in the clear: fixed fields, the longest name, padding and sum, with some room.
const LONGEST: usize = 512;

impl<'a, U> Header<'a, U> {
    /// For who knocked.
    #[must_use]
    pub fn new(knocked: &'a Knocked<U>) -> Self {
        Self { knocked }
    }
}

impl<U> Handshake for Header<'_, U> {
    type Output = Request;

    fn step(&mut self, input: &[u8], _: &mut Vec<u8>) -> Result<Step<Request>, WireError> {
        let (command, id) = (self.knocked.user.0.command(), &self.knocked.id);
        whole(input, |reader| {
            let length = reader.take_bytes(2 + TAG)?;
            let nonce = reader.take_array()?;
            let length = sealed::length(command, id, &nonce).open(length, id)?;
            let length = length.first_chunk().map_or(0, |word| usize::from(u16::from_be_bytes(*word)));
            if length > LONGEST {
                return Err(WireError::TooLong);
            }
            let plain = sealed::header(command, id, &nonce).open(reader.take_bytes(length + TAG)?, id)?;
            Request::read(&plain)
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::request::tests::known;
    use super::super::vectors::{SEALED, TIME, UUID, array, hex};
    use super::*;
    use crate::wire::testing::any_split;

    fn users() -> Users<u8> {
        Users::new([(Account::new(&[1; 16]), 1), (Account::new(&array(UUID)), 2)])
    }

    /// Both steps in one, for the test of all splits.
    struct Both<'a>(&'a Users<u8>, Option<Knocked<u8>>);

    impl Handshake for Both<'_> {
        type Output = (u8, Request);

        fn step(&mut self, input: &[u8], reply: &mut Vec<u8>) -> Result<Step<(u8, Request)>, WireError> {
            let mut before = 0;
            if self.1.is_none() {
                match Knock::new(self.0, TIME).step(input, reply)? {
                    Step::More { used, need } => return Ok(Step::More { used, need }),
                    Step::Done { used, value } => {
                        self.1 = Some(value);
                        before = used;
                    }
                }
            }
            let knocked = self.1.as_ref().unwrap();
            Ok(match Header::new(knocked).step(&input[before..], reply)? {
                Step::More { used, need } => Step::More { used: used + before, need },
                Step::Done { used, value } => Step::Done { used: used + before, value: (knocked.user.1, value) },
            })
        }
    }

    #[test]
    fn the_known_header_is_read_however_it_comes() {
        let users = users();
        let mut wire = hex(SEALED);
        let len = wire.len();
        wire.extend_from_slice(b"body");
        let outcome = any_split(|| Both(&users, None), &wire);
        assert_eq!((outcome.result, outcome.used), (Some(Ok((2, known()))), len));
        assert!(outcome.reply.is_empty());
    }

    #[test]
    fn strangers_and_late_comers_are_told_apart() {
        let wire = hex(SEALED);
        let knock = |users: &Users<u8>, now| Knock::new(users, now).step(&wire, &mut vec![]).map(|_| ());
        assert_eq!(knock(&users(), TIME + 200), Err(WireError::Clock { off: 200 }));
        let others = Users::new([(Account::new(&[1; 16]), 1)]);
        assert_eq!(knock(&others, TIME), Err(WireError::Denied { what: "VMess user" }));
        assert!(knock(&users(), TIME).is_ok());
    }

    #[test]
    fn the_seed_is_that_of_the_users() {
        let others = Users::new([(Account::new(&[1; 16]), 1)]);
        assert_eq!(users().seed(), users().seed());
        assert_ne!(users().seed(), others.seed());
    }

    #[test]
    fn a_changed_header_is_refused() {
        let users = users();
        let good = hex(SEALED);
        for at in 16..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            let Ok(Step::Done { value, .. }) = Knock::new(&users, TIME).step(&bad, &mut vec![]) else { unreachable!() };
            assert!(Header::new(&value).step(&bad[16..], &mut vec![]).is_err(), "{at}");
        }
    }
}
