//! The VMess server.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::BytesMut;
use rand::rngs::StdRng;
use rand::{SeedableRng, random_range};
use tokio::io::AsyncReadExt;
use tokio::time::{Instant, timeout_at};

use super::users::{Member, Users};
use super::visit::{Accepted, Common, Fault, Visitor, part};
use crate::addr::Network;
use crate::flow::BoxStream;
use crate::net::{Bounds, DriveError, Framed, Parceled, clock, drive};
use crate::proto::mux;
use crate::proto::vmess::{self, Command, Header, History, Knock, Opener, Request, Sealer, SessionId};
use crate::transport::Arrival;
use crate::wire::{Frames, WireError};

/// A VMess server.
#[derive(Debug)]
pub struct Vmess {
    users: Users<vmess::Users<Member>>,
    history: Mutex<History>,
    /// How much is read of a stranger; nothing where its bytes come in a carrier.
    patience: Option<usize>,
}

/// What a stranger's connection is read for at least: the parts of a header whose length is known.
const LEAST: usize = 16 + 38;

/// What is added to that, once for a server and once more for a connection (Xray's bounds): whoever tries lengths until the
/// connection closes learns the server's number, and nothing about the protocol.
const SERVERS: usize = 3266;
const CONNECTIONS: usize = 64;

impl Vmess {
    /// With these users. `bare` are visitors whose bytes nothing is put around: of these strangers are read for a while, as
    /// Xray does it, which ends the others at once.
    #[must_use]
    pub fn new(users: vmess::Users<Member>, bare: bool) -> Self {
        let patience = bare.then(|| LEAST + random_range(0..SERVERS));
        Self { users: Users::new(users), history: Mutex::new(History::new(clock::seconds())), patience }
    }

    /// Takes over the users of another.
    pub(super) fn take_users(&self, other: &Self) -> bool {
        Users::take_over(Some(&self.users), Some(&other.users))
    }

    /// Reads the header and gives the flow.
    pub(super) async fn accept(&self, common: &Common, visitor: &Visitor, arrival: Arrival) -> Result<Accepted, Fault> {
        let (mut io, mut held) = (arrival.io, BytesMut::new());
        let until = Instant::now() + common.handshake;
        let mut known = 0;
        match self.read(&mut io, &mut held, until, &mut known).await {
            Ok((member, request)) => begin(common, visitor, &member, &request, io, held),
            Err(fault) => {
                self.turn_away(&mut io, known + held.len(), until).await;
                Err(fault)
            }
        }
    }

    /// Who it is, and what is asked for. `known` is how much was used before something failed.
    async fn read(
        &self,
        io: &mut BoxStream,
        held: &mut BytesMut,
        until: Instant,
        known: &mut usize,
    ) -> Result<(Member, Request), Fault> {
        let users = self.users.now();
        let bounds = || Bounds::within(until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1)));
        let knocked = match drive(io, held, &mut Knock::new(&users, clock::seconds()), bounds()).await {
            Err(DriveError::Wire(WireError::Replayed)) => {
                return Err(Fault::NotServed("a VMess user whose clock differs from ours by more than two minutes"));
            }
            other => other?,
        };
        *known = knocked.id.len();
        let history = || self.history.lock().unwrap_or_else(PoisonError::into_inner);
        if !history().is_new_id(&knocked.id, clock::seconds()) {
            return Err(WireError::Replayed.into());
        }
        let request = drive(io, held, &mut Header::new(&knocked), bounds()).await?;
        let (account, member) = &*knocked.user;
        if !history().is_new_session(SessionId::new(account, &request), clock::seconds()) {
            return Err(WireError::Replayed.into());
        }
        Ok((member.clone(), request))
    }

    /// Ends a stranger's connection: bare ones are read for as long as any other would be, so that nobody learns at which byte
    /// it failed.
    async fn turn_away(&self, io: &mut BoxStream, read: usize, until: Instant) {
        if let Some(patience) = self.patience {
            let mut left = (patience + random_range(0..CONNECTIONS)).saturating_sub(read);
            let mut scrap = [0; 512];
            while left > 0 {
                let room = scrap.len().min(left);
                match timeout_at(until, io.read(&mut scrap[..room])).await {
                    Ok(Ok(came)) if came > 0 => left -= came,
                    _ => break,
                }
            }
        }
        part(io).await;
    }
}

/// What a request that is granted gives.
fn begin(
    common: &Common,
    visitor: &Visitor,
    member: &Member,
    request: &Request,
    io: BoxStream,
    held: BytesMut,
) -> Result<Accepted, Fault> {
    let flow = |network, target| visitor.flow_of(common, network, target, member);
    let seal = Sealer::server(request, StdRng::from_rng(&mut rand::rng()));
    let open = Opener::server(request);
    match &request.command {
        Command::Tcp(target) => {
            let io = Framed::new(io, held, seal, open);
            Ok(Accepted::Stream(flow(Network::Tcp, target.clone()), Box::new(io)))
        }
        Command::Udp(_) if request.is_bare() => Err(Fault::NotServed("datagrams that nothing keeps apart")),
        Command::Udp(target) => {
            let io = Parceled::new(io, held, Frames::new(seal, open), target.clone());
            Ok(Accepted::Packets(flow(Network::Udp, target.clone()), Box::new(io)))
        }
        Command::Mux => {
            let target = mux::carrier().map_err(|_| Fault::NotServed("mux"))?;
            let io = Box::new(Framed::new(io, held, seal, open));
            Ok(Accepted::Mux { flow: flow(Network::Tcp, target), io, datagrams_only: false })
        }
    }
}

#[cfg(test)]
mod tests;
