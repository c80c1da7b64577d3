//! The Hysteria server.

use std::sync::Arc;

use rand::SeedableRng;
use rand::rngs::SmallRng;

use super::host::Host;
use super::users::{Member, Users};
use super::visit::{Accepted, Common, Fault, Visitor, write};
use crate::addr::Network;
use crate::proto::hysteria::{auth, write_response};
use crate::transport::hysteria::{Arrived, Visit};

/// A Hysteria server.
#[derive(Debug)]
pub struct Hysteria {
    users: Arc<Users<auth::Users<Member>>>,
}

impl Hysteria {
    /// With these users.
    #[must_use]
    pub fn new(users: auth::Users<Member>) -> Self {
        Self { users: Arc::new(Users::new(users)) }
    }

    /// Takes over the users of another.
    pub(super) fn take_users(&self, other: &Self) -> bool {
        Users::take_over(Some(&*self.users), Some(&*other.users))
    }

    /// Serves a connection with all that comes by it.
    pub(super) async fn serve(&self, host: &Arc<Host>, visitor: Visitor, visit: Visit) {
        let users = Arc::clone(&self.users);
        let admit = move |shown: &[u8]| users.now().admit(shown).cloned();
        let (receiving, limit) = (Arc::clone(host), host.inbound.common.handshake);
        let take = move |member: Member, arrived: Arrived| {
            let host = Arc::clone(&receiving);
            tokio::spawn(async move {
                let accepted = Box::pin(accept(&host.inbound.common, &visitor, &member, arrived)).await;
                host.deliver(accepted, visitor.source).await;
            });
        };
        visit.run(limit, host.closing.cancelled(), admit, take).await;
    }
}

/// Answers that a flow runs, as Xray does before it knows, and gives it.
async fn accept(common: &Common, visitor: &Visitor, member: &Member, arrived: Arrived) -> Result<Accepted, Fault> {
    match arrived {
        Arrived::Stream(target, mut io) => {
            let mut answer = Vec::new();
            write_response(Ok(()), &mut answer, &mut SmallRng::from_rng(&mut rand::rng()));
            write(&mut io, &answer, common.handshake).await?;
            Ok(Accepted::Stream(visitor.flow_of(common, Network::Tcp, target, member), io))
        }
        Arrived::Packets(target, session) => {
            Ok(Accepted::Packets(visitor.flow_of(common, Network::Udp, target, member), Box::new(session)))
        }
    }
}
