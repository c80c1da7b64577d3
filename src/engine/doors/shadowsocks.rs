//! Shadowsocks servers.

use crate::addr::Target;
use crate::engine::ciphers::cipher;
use crate::inbound::{Member, Shadowsocks, ShadowsocksUsers};
use crate::model::keys::base64;
use crate::model::protocol::{SsIn, SsMethod, SsUser};
use crate::proto::shadowsocks::v2022::ServerKeys;
use crate::proto::shadowsocks::{Key, Method, seed_of};

pub(super) fn shadowsocks(written: &SsIn) -> Result<Shadowsocks, String> {
    let users = match written.method {
        Some(method) if method.is_2022() => new(written, method)?,
        method => match &written.clients {
            Some(_) => old(written)?,
            None => single(written, method)?,
        },
    };
    Ok(Shadowsocks::new(users))
}

fn single(written: &SsIn, method: Option<SsMethod>) -> Result<ShadowsocksUsers, String> {
    let member = Member::new(&written.email, written.level.into());
    let method = method.ok_or("it has no method")?;
    let Some(method) = cipher(method) else { return Ok(ShadowsocksUsers::plain(member)) };
    Ok(sealed(vec![(Key::of_password(method, written.password.expose().as_bytes()), member)]))
}

fn old(written: &SsIn) -> Result<ShadowsocksUsers, String> {
    let users = written.users().iter().enumerate().map(|(place, user)| {
        let method = user.method.and_then(cipher).ok_or("users of one port need methods that seal something")?;
        let key = Key::of_password(method, user.password.expose().as_bytes());
        Ok::<_, String>((key, Member::new(&user.email, user.level.into()).at(place)))
    });
    Ok(sealed(users.collect::<Result<_, _>>()?))
}

fn sealed(users: Vec<(Key, Member)>) -> ShadowsocksUsers {
    let seed = seed_of(users.iter().map(|(key, _)| key));
    ShadowsocksUsers::old(users, seed)
}

fn new(written: &SsIn, method: SsMethod) -> Result<ShadowsocksUsers, String> {
    let unfit = || "a key does not fit the method".to_owned();
    let method = cipher(method).ok_or_else(unfit)?;
    let own = key(method, written.password.expose()).ok_or_else(unfit)?;
    if written.users().is_empty() {
        let keys = ServerKeys::single(own).ok_or_else(unfit)?;
        return Ok(ShadowsocksUsers::new(keys, vec![Member::new(&written.email, written.level.into())]));
    }
    let keys = written.users().iter().map(|user| key(method, user.password.expose()));
    let keys = keys.collect::<Option<_>>().and_then(|keys| ServerKeys::shared(own, keys)).ok_or_else(unfit)?;
    let members = written.users().iter().enumerate();
    let members = members.map(|(place, user)| Member::new(&user.email, user.level.into()).at(place));
    let next = |user: &SsUser| user.address.clone().map(|host| Target { host, port: user.port.0 });
    let servers: Vec<Target> = written.users().iter().filter_map(next).collect();
    // The model lets a relay through only if each of its users has a server.
    Ok(ShadowsocksUsers::relay(keys, members.collect(), servers))
}

fn key(method: Method, text: &str) -> Option<Key> {
    Key::of_bytes(method, &base64(text)?)
}
