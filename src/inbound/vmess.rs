//! The VMess server.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::BytesMut;
use rand::SeedableRng;
use rand::rngs::StdRng;
use tokio::time::Instant;

use super::drain::Drain;
use super::skewed::Skewed;
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
    users: Users<Table>,
    history: Mutex<History>,
    skewed: Skewed,
}

/// Who may come in, and how others are sent away.
#[derive(Debug)]
struct Table {
    users: vmess::Users<Member>,
    /// How much is read of a stranger; nothing where its bytes come in a carrier.
    drain: Option<Drain>,
}

/// What a stranger's connection is read for at least: the parts of a header whose length is known.
const LEAST: usize = 16 + 38;

impl Vmess {
    /// With these users. `bare` are visitors whose bytes nothing is put around: of these strangers are read for a while, as
    /// Xray does it, which ends the others at once. For how long depends on the users and on nothing else, so that a restart
    /// changes nothing: whoever tries lengths until the connection closes learns that number, and nothing about the protocol.
    #[must_use]
    pub fn new(users: vmess::Users<Member>, bare: bool) -> Self {
        let drain = bare.then(|| Drain::new(users.seed(), LEAST));
        let (users, history) = (Users::new(Table { users, drain }), Mutex::new(History::new(clock::seconds())));
        Self { users, history, skewed: Skewed::default() }
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
        let table = self.users.now();
        match self.read(&table.users, &mut io, &mut held, until, &mut known).await {
            Ok((member, request)) => begin(common, visitor, &member, &request, io, held),
            Err(fault) => {
                if let Fault::Handshake(DriveError::Wire(error)) = &fault {
                    self.skewed.tell(common, error, vmess::WINDOW);
                }
                match table.drain {
                    // However far it came, so that nobody learns at which byte it failed.
                    Some(drain) => drain.run(&mut io, known + held.len(), until).await,
                    None => part(&mut io).await,
                }
                Err(fault)
            }
        }
    }

    /// Who it is, and what is asked for. `known` is how much was used before something failed.
    async fn read(
        &self,
        users: &vmess::Users<Member>,
        io: &mut BoxStream,
        held: &mut BytesMut,
        until: Instant,
        known: &mut usize,
    ) -> Result<(Member, Request), Fault> {
        let bounds = || Bounds::within(until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1)));
        let knocked = drive(io, held, &mut Knock::new(users, clock::seconds()), bounds()).await?;
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
