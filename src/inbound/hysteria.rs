//! The Hysteria server.

use std::future::Future;
use std::sync::Arc;

use rand::SeedableRng;
use rand::rngs::SmallRng;

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

    /// Serves a connection, and gives all that comes by it to `deliver`; after `closing` that is nothing more.
    pub(super) async fn serve<D, F>(
        &self,
        common: &Common,
        visitor: Visitor,
        visit: Visit,
        closing: impl Future<Output = ()>,
        deliver: D,
    ) where
        D: Fn(Result<Accepted, Fault>) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = ()> + Send,
    {
        let users = Arc::clone(&self.users);
        let admit = move |shown: &[u8]| users.now().admit(shown).cloned();
        let (limit, common) = (common.handshake, Arc::new(common.clone()));
        let take = move |member: Member, arrived: Arrived| {
            let (common, deliver) = (Arc::clone(&common), deliver.clone());
            tokio::spawn(async move {
                let accepted = Box::pin(accept(&common, &visitor, &member, arrived)).await;
                deliver(accepted).await;
            });
        };
        visit.run(limit, closing, admit, take).await;
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
