//! Shadowsocks clients.

use crate::engine::ciphers::cipher;
use crate::model::keys::base64;
use crate::model::protocol::SsAccount;
use crate::model::server::Served;
use crate::outbound::{Shadowsocks, ShadowsocksKey, ShadowsocksServer, Way};
use crate::proto::shadowsocks::Key;
use crate::proto::shadowsocks::v2022::ClientKeys;

pub(super) fn shadowsocks(way: Way, written: &Served<SsAccount>) -> Result<Shadowsocks, String> {
    let servers = written.servers.iter().map(|server| {
        let address = server.target();
        let key = key(&server.account).ok_or_else(|| format!("the key for {address} does not fit its method"))?;
        Ok::<_, String>(ShadowsocksServer { address, key })
    });
    Ok(Shadowsocks::new(way, servers.collect::<Result<_, _>>()?))
}

fn key(account: &SsAccount) -> Option<ShadowsocksKey> {
    let Some(method) = cipher(account.method) else { return Some(ShadowsocksKey::Plain) };
    let password = account.password.expose();
    if !account.method.is_2022() {
        return Some(ShadowsocksKey::Old(Key::of_password(method, password.as_bytes())));
    }
    let keys = password.split(':').map(|part| Key::of_bytes(method, &base64(part)?));
    ClientKeys::new(keys.collect::<Option<_>>()?).map(ShadowsocksKey::New)
}
