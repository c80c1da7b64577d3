//! Who a user is, and the id with which a connection begins.

use std::fmt;

use aes::Aes128;
use aes::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use md5::{Digest, Md5};
use zeroize::Zeroizing;

use super::kdf::kdf16;

/// A user's keys.
#[derive(Clone)]
pub struct Account {
    command: Zeroizing<[u8; 16]>,
    auth: Aes128,
}

/// What a connection begins with: a time and something random, readable to whoever knows the user.
pub type AuthId = [u8; 16];

/// Hashed behind each id.
const SALT: &[u8] = b"c48619fe-8f02-49e0-b9e9-edf763e17e21";

/// Seconds by which clocks may differ, both ways.
pub const WINDOW: u64 = 120;

/// A connection was begun by this user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fresh {
    /// Just now.
    Yes,
    /// At another time: a replay, or somebody's clock is wrong.
    No {
        /// Seconds between the two clocks.
        off: u64,
    },
}

impl Account {
    /// Of the sixteen bytes of a UUID.
    #[must_use]
    pub fn new(id: &[u8; 16]) -> Self {
        Self::with_key(Md5::new().chain_update(id).chain_update(SALT).finalize().into())
    }

    fn with_key(command: [u8; 16]) -> Self {
        let auth = Aes128::new(&Array::from(kdf16(&command, &[b"AES Auth ID Encryption"])));
        Self { command: Zeroizing::new(command), auth }
    }

    /// The key from which those of the header are derived.
    pub(super) fn command(&self) -> &[u8; 16] {
        &self.command
    }

    /// The id of a connection that begins now.
    #[must_use]
    pub fn auth_id(&self, now: u64, random: [u8; 4]) -> AuthId {
        let mut id = [0; 16];
        id[..8].copy_from_slice(&now.to_be_bytes());
        id[8..12].copy_from_slice(&random);
        let sum = crc32fast::hash(&id[..12]);
        id[12..].copy_from_slice(&sum.to_be_bytes());
        let mut block = Array::from(id);
        self.auth.encrypt_block(&mut block);
        block.into()
    }

    /// Whether the user has made an id, and in time.
    pub(super) fn knows(&self, id: &AuthId, now: u64) -> Option<Fresh> {
        let mut block = Array::from(*id);
        self.auth.decrypt_block(&mut block);
        let id: [u8; 16] = block.into();
        let (said, sum) = id.split_at(12);
        if crc32fast::hash(said).to_be_bytes() != sum {
            return None;
        }
        let time = said.first_chunk().map_or(0, |time| u64::from_be_bytes(*time));
        // Times before 1970 are those of no clock.
        let off = time.abs_diff(now);
        Some(if i64::try_from(time).is_ok() && off <= WINDOW { Fresh::Yes } else { Fresh::No { off } })
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Account(***)")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::vectors::{AUTH_ID, CMD_KEY, TIME, UUID, array, hex};
    use super::*;

    #[test]
    fn known_answers() {
        let account = Account::new(&array(UUID));
        assert_eq!(account.command()[..], hex(CMD_KEY));
        assert_eq!(kdf16(account.command(), &[b"AES Auth ID Encryption"])[..], hex("1415ba74ca8b3d041a8f583fb4116315"));
        assert_eq!(account.auth_id(TIME, [1, 2, 3, 4])[..], hex(AUTH_ID));
        assert!(!format!("{account:?}").contains("b5"));
    }

    #[test]
    fn an_id_is_known_by_its_user_and_for_two_minutes() {
        let account = Account::new(&array(UUID));
        let id = account.auth_id(TIME, [9; 4]);
        for (now, fresh) in [
            (TIME, Fresh::Yes),
            (TIME - 120, Fresh::Yes),
            (TIME + 120, Fresh::Yes),
            (TIME - 121, Fresh::No { off: 121 }),
            (TIME + 121, Fresh::No { off: 121 }),
            (u64::MAX, Fresh::No { off: u64::MAX - TIME }),
        ] {
            assert_eq!(account.knows(&id, now), Some(fresh), "{now}");
        }
        assert_eq!(Account::new(&[0; 16]).knows(&id, TIME), None);
        assert_eq!(account.knows(&account.auth_id(u64::MAX, [0; 4]), u64::MAX), Some(Fresh::No { off: 0 }));
        let mut other = id;
        other[3] ^= 1;
        assert_eq!(account.knows(&other, TIME), None);
    }
}
