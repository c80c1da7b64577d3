//! Who is let in.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_lc_rs::agreement::{PrivateKey, X25519};
use subtle::{Choice, ConstantTimeEq};

use super::super::super::error::TlsError;
use super::super::super::tls13::{ClientHello, SESSION_ID};
use super::super::replay::Replays;
use super::super::token::{AuthKey, SEALED, Token, auth_key};
use super::options::RealityServerOptions;
use super::refusal::Refusal;

/// The conditions.
pub(super) struct Rules {
    key: PrivateKey,
    names: Vec<Box<str>>,
    short_ids: Vec<[u8; 8]>,
    oldest: [u8; 3],
    newest: Option<[u8; 3]>,
    max_diff: Duration,
    replays: Arc<Mutex<Replays>>,
}

/// Somebody who met them.
pub(super) struct Admitted {
    /// What was agreed on with it.
    pub(super) key: AuthKey,
    /// The name it asked for.
    pub(super) name: Box<str>,
}

impl Rules {
    pub(super) fn new(options: &RealityServerOptions, replays: Arc<Mutex<Replays>>) -> Result<Self, TlsError> {
        let key = PrivateKey::from_private_key(&X25519, &options.private_key[..]);
        Ok(Self {
            key: key.map_err(|_| TlsError::Key { what: "privateKey" })?,
            names: options.server_names.clone(),
            short_ids: options.short_ids.clone(),
            oldest: options.oldest,
            newest: options.newest,
            max_diff: options.max_diff,
            replays,
        })
    }

    /// Judges a hello. `now` is the time since 1970.
    pub(super) fn judge(&self, hello: &ClientHello<'_>, now: Duration) -> Result<Admitted, Refusal> {
        let share = hello.x25519().filter(|_| hello.tls13).ok_or(Refusal::OldHello)?;
        let asked = hello.server_name.unwrap_or_default();
        let name = self.names.iter().find(|name| name.as_bytes() == asked).ok_or(Refusal::Name)?;
        let sealed: [u8; SEALED] = hello.session_id.try_into().map_err(|_| Refusal::Token)?;
        let key = auth_key(&self.key, share, hello.random).map_err(|_| Refusal::Token)?;
        let mut blank = hello.message.to_vec();
        blank[SESSION_ID..SESSION_ID + SEALED].fill(0);
        let token = Token::open(&key, hello.random, &blank, sealed).ok_or(Refusal::Token)?;
        if token.version < self.oldest || self.newest.is_some_and(|newest| token.version > newest) {
            return Err(Refusal::Version(token.version));
        }
        let diff = now.abs_diff(Duration::from_secs(token.time.into()));
        if !self.max_diff.is_zero() && diff > self.max_diff {
            return Err(Refusal::Time);
        }
        let known = self.short_ids.iter().fold(Choice::from(0), |known, id| known | id.ct_eq(&token.short_id));
        if !bool::from(known) {
            return Err(Refusal::ShortId);
        }
        // Last, so that only those who would be let in are remembered. A poisoned lock has seen nothing bad.
        let mut replays = self.replays.lock().unwrap_or_else(PoisonError::into_inner);
        if !replays.is_new(hello.random) {
            return Err(Refusal::Replay);
        }
        Ok(Admitted { key, name: name.clone() })
    }
}

/// Ids and keys are secrets.
impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rules").field("names", &self.names).finish_non_exhaustive()
    }
}
