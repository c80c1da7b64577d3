//! The key for a server, and the stream that it seals.

use std::time::Duration;

use bytes::BytesMut;
use rand::Rng;

use crate::addr::Target;
use crate::flow::BoxStream;
use crate::net::{Framed, clock};
use crate::proto::shadowsocks::v2022::{ClientKeys, ClientSession, RequestSealer, ResponseOpener, padding};
use crate::proto::shadowsocks::{Codec, Key, Opener, Salts, Sealer};
use crate::proto::socks::write_address;
use crate::wire::{Preface, Unframed, WireError};

/// What seals the bytes.
#[derive(Debug)]
pub enum ShadowsocksKey {
    /// A cipher of the generation of 2022.
    New(ClientKeys),
    /// A cipher of the old generation.
    Old(Key),
    /// Nothing.
    Plain,
}

/// How long the opening waits for the client's first bytes (Xray's wait).
const HOLD: Duration = Duration::from_millis(100);

/// Salts of answers that an association remembers at least: whoever recorded one of them could send it again.
const SALTS: usize = 448;

impl ShadowsocksKey {
    /// What seals the datagrams of an association.
    pub(super) fn codec(&self) -> Result<Codec, WireError> {
        Ok(match self {
            Self::Plain => Codec::Plain,
            Self::Old(key) => {
                let mut salts = Salts::new(u64::MAX, SALTS);
                Codec::Old(key.clone(), Box::new(move |salt| salts.admit(salt, 0)))
            }
            Self::New(keys) => Codec::Client(Box::new(ClientSession::new(keys.clone(), rand::random())?)),
        })
    }

    /// A stream to the target around one to the server.
    pub(super) fn around(&self, io: BoxStream, target: &Target) -> Result<BoxStream, WireError> {
        let nothing = BytesMut::new();
        Ok(match self {
            Self::Plain => {
                let mut address = Vec::new();
                write_address(target, &mut address);
                Box::new(Framed::new(io, nothing, Preface::new(address), Unframed).within(HOLD))
            }
            Self::Old(key) => {
                let seal = Sealer::request(key, salt(key), target)?;
                Box::new(Framed::new(io, nothing, seal, Opener::response(key.clone())).within(HOLD))
            }
            Self::New(keys) => {
                let salt = salt(keys.user());
                let open = ResponseOpener::new(keys.user().clone(), salt.clone(), clock::seconds);
                let seal = RequestSealer::new(keys, salt, target, clock::seconds(), padding(&mut rand::rng()))?;
                Box::new(Framed::new(io, nothing, seal, open).within(HOLD))
            }
        })
    }
}

/// A fresh salt.
fn salt(key: &Key) -> Vec<u8> {
    let mut salt = vec![0; key.method().key_len()];
    rand::rng().fill_bytes(&mut salt);
    salt
}
