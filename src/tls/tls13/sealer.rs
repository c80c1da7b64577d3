//! Payload into protected records.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use aws_lc_rs::error::Unspecified;
use bytes::BytesMut;

use super::record::{ALERT, APPLICATION_DATA, CONTENT, HANDSHAKE, RecordKey};
use super::schedule::TrafficSecret;
use crate::wire::{Seal, WireError};

/// The writing half of a connection.
pub struct Sealer {
    secret: TrafficSecret,
    key: RecordKey,
    owed: Owed,
}

/// The peer asked for new keys of ours; told by the reading half to the writing one.
#[derive(Debug, Clone, Default)]
pub(super) struct Owed(Arc<AtomicBool>);

impl Owed {
    pub(super) fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Records under one key. RFC 8446, section 5.5, allows 2^24.5 of them with AES-GCM.
const RENEW: u64 = 1 << 23;
/// First bytes of a KeyUpdate: new keys from here on. Behind them stands whether the peer is asked for the same.
pub(super) const KEY_UPDATE: [u8; 4] = [24, 0, 0, 1];

const WARNING: u8 = 1;
const FATAL: u8 = 2;
const CLOSE_NOTIFY: u8 = 0;
const UNEXPECTED_MESSAGE: u8 = 10;
const BAD_RECORD_MAC: u8 = 20;
const RECORD_OVERFLOW: u8 = 22;

impl Sealer {
    pub(super) fn new(secret: TrafficSecret, owed: Owed) -> Result<Self, Unspecified> {
        Ok(Self { key: secret.key()?, secret, owed })
    }

    /// Appends a record without payload that is as long on the wire as `len` says, or as short as can be.
    ///
    /// # Errors
    /// If no record is that long.
    pub fn seal_nothing(&mut self, len: usize, out: &mut BytesMut) -> Result<(), Unspecified> {
        self.key.seal(APPLICATION_DATA, &[], len.saturating_sub(EMPTY), out)
    }

    /// Renews the key; with 1 the peer is asked to do the same.
    pub(super) fn renew(&mut self, ask: u8, out: &mut BytesMut) -> Result<(), Unspecified> {
        let [kind, a, b, c] = KEY_UPDATE;
        self.key.seal(HANDSHAKE, &[kind, a, b, c, ask], 0, out)?;
        self.secret = self.secret.next()?;
        self.key = self.secret.key()?;
        Ok(())
    }

    fn alert(&mut self, level: u8, what: u8, out: &mut BytesMut) {
        // A failure appends nothing, and then the connection ends without it.
        let _ = self.key.seal(ALERT, &[level, what], 0, out);
    }
}

/// Length of a record with nothing in it.
const EMPTY: usize = super::record::HEADER + 1 + super::record::TAG;

impl Seal for Sealer {
    fn seal(&mut self, plain: &[u8], out: &mut BytesMut) -> usize {
        if plain.is_empty() {
            return 0;
        }
        if self.key.count() >= RENEW || self.owed.0.swap(false, Ordering::Relaxed) {
            // Never goes on with a key that ought to be gone.
            if self.renew(0, out).is_err() {
                return 0;
            }
        }
        let len = plain.len().min(CONTENT);
        self.key.seal(APPLICATION_DATA, &plain[..len], 0, out).map_or(0, |()| len)
    }

    fn finish(&mut self, out: &mut BytesMut) {
        self.alert(WARNING, CLOSE_NOTIFY, out);
    }

    fn complain(&mut self, error: &WireError, out: &mut BytesMut) {
        let what = match error {
            WireError::Denied { .. } => BAD_RECORD_MAC,
            WireError::TooLong => RECORD_OVERFLOW,
            _ => UNEXPECTED_MESSAGE,
        };
        self.alert(FATAL, what, out);
    }

    fn may_leave(&self) -> bool {
        true
    }
}
