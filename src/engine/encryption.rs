//! From the key texts of VLESS' encryption to what both sides run with.

use crate::model::protocol::{EncryptionMode, EncryptionParts};
use crate::proto::vless::encryption::{Client, Lifetime, Mode, Padding, PrivateKey, PublicKey, Server};
use crate::shape::Secret;
use crate::wire::WireError;

pub(super) fn client(parts: &EncryptionParts<bool>) -> Result<Client, String> {
    let keys = keys(&parts.keys, PublicKey::new)?;
    Ok(Client::new(keys, mode(parts.mode), Padding::new(&parts.padding), parts.tickets))
}

pub(super) fn server(parts: &EncryptionParts<(u32, Option<u32>)>) -> Result<Server, String> {
    let keys = keys(&parts.keys, PrivateKey::new)?;
    let (from, to) = parts.tickets;
    // A ticket can say no more.
    let seconds = |number| u16::try_from(number).unwrap_or(u16::MAX);
    // Xray takes a second number of 0 for none.
    let lifetime = Lifetime { from: seconds(from), to: to.filter(|to| *to > 0).map(seconds) };
    Ok(Server::new(keys, mode(parts.mode), Padding::new(&parts.padding), lifetime))
}

fn keys<T>(written: &[Secret<Vec<u8>>], read: fn(&[u8]) -> Result<T, WireError>) -> Result<Vec<T>, String> {
    written.iter().map(|key| read(key.expose()).map_err(|error| error.to_string())).collect()
}

fn mode(mode: EncryptionMode) -> Mode {
    match mode {
        EncryptionMode::Native => Mode::Native,
        EncryptionMode::Xorpub => Mode::Xorpub,
        EncryptionMode::Random => Mode::Random,
    }
}
