//! The Shadowsocks server, of both generations.
//!
//! Strangers are sent away as the reference servers do it: of the old generation as Xray does, which reads on for a while
//! that its keys fix and closes; of that of 2022 as sing-box does, which wants salt and header in the first segment and
//! resets the connection at once; inside of a carrier, which sing-box does not have, as Xray ends it. The filter of salts
//! keeps replays of the old generation out too, which Xray lets in.

mod datagrams;
mod ended;
mod replays;
mod users;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::BytesMut;
use rand::Rng;
use tokio::time::Instant;

use super::drain::reset;
use super::skewed::Skewed;
use super::users::{Member, Users};
use super::visit::{Accepted, Common, Fault, Visitor, part};
use crate::addr::{Network, Target};
use crate::flow::{BoxStream, Half};
use crate::net::{Bounds, Client, DriveError, Framed, Session, boxed, clock, drive, look};
use crate::proto::shadowsocks::v2022::{self, Passage, ResponseSealer, ServerKeys, first};
use crate::proto::shadowsocks::{self as old, Salts, Sealer};
use crate::proto::socks::read_address;
use crate::wire::{Handshake, Step, WireError, whole};
use datagrams::Datagrams;
use ended::Ended;
use replays::Replays;
pub use users::ShadowsocksUsers;
use users::{Old, Table, next};

/// A Shadowsocks server.
#[derive(Debug)]
pub struct Shadowsocks {
    users: Users<ShadowsocksUsers>,
    salts: Mutex<Salts>,
    replays: Arc<Replays>,
    ended: Arc<Ended>,
    skewed: Skewed,
}

/// Seconds by which clocks may differ.
const CLOCKS: u64 = 30;

/// Seconds for which a salt is kept at least: twice what clocks may differ.
const TURN: u64 = 60;

/// Salts kept at most, twice: 16 bytes each.
const SALTS: usize = 128 * 1024;

/// Bytes of the largest opening: its headers, and one chunk of the largest size.
const OPENING: usize = 72 * 1024;

impl Shadowsocks {
    /// With these users.
    #[must_use]
    pub fn new(users: ShadowsocksUsers) -> Self {
        // Without times in its headers, a salt of the old generation is kept for as long as there is room.
        let turn = if matches!(users.0, Table::New { .. }) { TURN } else { u64::MAX };
        let (salts, replays) = (Mutex::new(Salts::new(turn, SALTS)), Arc::default());
        Self { users: Users::new(users), salts, replays, ended: Arc::default(), skewed: Skewed::default() }
    }

    /// Takes over the users of another.
    pub(super) fn take_users(&self, other: &Self) -> bool {
        Users::take_over(Some(&self.users), Some(&other.users))
    }

    /// Whose a datagram is: of 2022 that of its session, wherever it came from.
    pub(super) fn name(&self, datagram: &mut [u8], from: SocketAddr) -> Option<Client> {
        match &self.users.now().0 {
            Table::New { keys, .. } => match keys.name(datagram) {
                Ok(name) => Some(Client::Session(name.0)),
                Err(error) => {
                    tracing::debug!(%from, %error, "a datagram was dropped");
                    None
                }
            },
            Table::Old(_) | Table::Plain(_) => Some(Client::Address(from)),
        }
    }

    /// The association of one client of a shared socket.
    pub(super) fn packets(&self, common: &Common, visitor: &Visitor, session: Session) -> Result<Accepted, Fault> {
        let users = self.users.now();
        let begun = Datagrams::begin(&users, &self.replays, &self.ended, session);
        let (user, packets) = begun.inspect_err(|error| self.skewed.tell(common, error, CLOCKS))?;
        let mut flow = visitor.flow_of(common, Network::Udp, packets.target().clone(), users.member(user));
        flow.remote &= !users.relays();
        Ok(Accepted::Packets(flow, Box::new(packets)))
    }

    /// Reads the opening and gives the flow.
    pub(super) async fn accept(&self, common: &Common, visitor: &Visitor, io: BoxStream) -> Result<Accepted, Fault> {
        let users = self.users.now();
        let visit = Visit { server: self, common, visitor, until: Instant::now() + common.handshake };
        match &users.0 {
            Table::New { keys, servers, .. } if servers.is_empty() => visit.new_generation(&users, keys, io).await,
            Table::New { keys, servers, .. } => visit.passage(&users, keys, servers, io).await,
            Table::Old(old) => visit.old_generation(&users, old, io).await,
            Table::Plain(member) => visit.plain(member, io).await,
        }
    }

    fn fresh(&self, salt: &[u8]) -> bool {
        self.salts.lock().unwrap_or_else(PoisonError::into_inner).admit(salt, clock::seconds())
    }
}

/// One visit.
struct Visit<'a> {
    server: &'a Shadowsocks,
    common: &'a Common,
    visitor: &'a Visitor,
    until: Instant,
}

impl Visit<'_> {
    async fn read<H: Handshake>(
        &self,
        io: &mut BoxStream,
        held: &mut BytesMut,
        shake: &mut H,
    ) -> Result<H::Output, DriveError> {
        let left = self.until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        drive(io, held, shake, Bounds { limit: left, cap: OPENING }).await
    }

    fn begun(&self, member: &Member, target: Target, io: BoxStream, early: Vec<u8>) -> Accepted {
        let flow = self.visitor.flow_of(self.common, Network::Tcp, target, member);
        Accepted::Stream(flow, boxed(io, BytesMut::from(&early[..])))
    }

    async fn old_generation(&self, users: &ShadowsocksUsers, old: &Old, mut io: BoxStream) -> Result<Accepted, Fault> {
        let mut held = BytesMut::new();
        let mut server = old::Server::new(&old.keys, |salt: &[u8]| self.server.fresh(salt));
        let request = match self.read(&mut io, &mut held, &mut server).await {
            Ok(request) => request,
            Err(fault) => {
                if let DriveError::Wire(_) = fault {
                    old.drain.run(&mut io, held.len(), self.until).await;
                }
                return Err(fault.into());
            }
        };
        let key = &old.keys[request.user];
        let seal = Sealer::response(key, salt(key.method().key_len()))?;
        let io = Box::new(Framed::new(io, held, seal, request.open));
        Ok(self.begun(users.member(request.user), request.target, io, request.early))
    }

    async fn new_generation(
        &self,
        users: &ShadowsocksUsers,
        keys: &ServerKeys,
        mut io: BoxStream,
    ) -> Result<Accepted, Fault> {
        let mut held = self.front(keys, &mut io).await?;
        let mut server = v2022::Server::new(keys, clock::seconds(), |salt: &[u8]| self.server.fresh(salt));
        let accepted = match self.read(&mut io, &mut held, &mut server).await {
            Ok(accepted) => accepted,
            Err(fault) => {
                if let DriveError::Wire(error) = &fault {
                    self.server.skewed.tell(self.common, error, CLOCKS);
                    leave(&mut io).await;
                }
                return Err(fault.into());
            }
        };
        let salt = salt(keys.method().key_len());
        let seal = ResponseSealer::new(keys, accepted.user, accepted.salt, salt, clock::seconds)?;
        let io = Box::new(Framed::new(io, held, seal, accepted.open));
        Ok(self.begun(users.member(accepted.user), accepted.target, io, accepted.early))
    }

    /// In the midst of a way: the salt and all behind the identity are for the next server.
    async fn passage(
        &self,
        users: &ShadowsocksUsers,
        keys: &ServerKeys,
        servers: &[Target],
        mut io: BoxStream,
    ) -> Result<Accepted, Fault> {
        let mut held = self.front(keys, &mut io).await?;
        let read = self.read(&mut io, &mut held, &mut Passage::new(keys)).await;
        let (user, mut early) = match read {
            Ok(read) => read,
            Err(fault) => {
                if let DriveError::Wire(_) = fault {
                    leave(&mut io).await;
                }
                return Err(fault.into());
            }
        };
        early.extend_from_slice(&held);
        let server = next(servers, user)?.clone();
        let mut flow = self.visitor.flow_of(self.common, Network::Tcp, server, users.member(user));
        // Whom the configuration names may be dialed wherever it is.
        flow.remote = false;
        Ok(Accepted::Stream(flow, boxed(io, BytesMut::from(&early[..]))))
    }

    /// What a client of 2022 says at once.
    async fn front(&self, keys: &ServerKeys, io: &mut BoxStream) -> Result<BytesMut, Fault> {
        let mut held = BytesMut::new();
        look(io, &mut held, Bounds { limit: self.common.handshake, cap: OPENING }).await?;
        // Whoever could send byte after byte would learn how many are read before they are judged.
        let short = first(keys).saturating_sub(held.len());
        if short > 0 {
            leave(io).await;
            return Err(WireError::Truncated { need: short }.into());
        }
        Ok(held)
    }

    async fn plain(&self, member: &Member, mut io: BoxStream) -> Result<Accepted, Fault> {
        let mut held = BytesMut::new();
        let target = self.read(&mut io, &mut held, &mut Plain).await?;
        Ok(self.begun(member, target, io, held.to_vec()))
    }
}

/// The opening of a client that seals nothing: the address alone.
struct Plain;

impl Handshake for Plain {
    type Output = Target;

    fn step(&mut self, input: &[u8], _: &mut Vec<u8>) -> Result<Step<Target>, WireError> {
        whole(input, read_address)
    }
}

/// Ends a stranger's connection of 2022 at once: by a reset, or where it is carried by what the carrier says.
async fn leave(io: &mut BoxStream) {
    if io.raw(Half::Read).is_some() {
        reset(io);
    } else {
        part(io).await;
    }
}

/// A fresh salt.
fn salt(len: usize) -> Vec<u8> {
    let mut salt = vec![0; len];
    rand::rng().fill_bytes(&mut salt);
    salt
}

#[cfg(test)]
mod tests;
