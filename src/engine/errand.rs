//! What the program fetches for itself, by the ways that flows take.

use std::sync::Arc;

use super::handle::Handle;
use super::house::House;
use super::life::Lease;
use crate::addr::Tag;
use crate::flow::{Services, Via};
use crate::probe::{Failure, Taker, download};

/// A way to fetch files by, through the engine of one moment.
#[derive(Debug)]
pub struct Errand {
    house: Arc<House>,
    via: Via,
}

/// There is nobody of this name to go by.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no outbound or balancer {0}")]
pub struct NoWay(pub Tag);

impl Handle {
    /// A way by an outbound or a member of a balancer; as the rules say where none is named.
    ///
    /// # Errors
    /// [`NoWay`] for a name that nobody has.
    pub fn errand(&self, by: &Tag) -> Result<Errand, NoWay> {
        let house = House::now(&self.0, &Lease::under(&self.0.end));
        let via = if by.is_empty() {
            Via::Route
        } else {
            let outbound = house.snapshot.tagged(by).map(Via::Outbound);
            let balancer = || house.snapshot.group_tagged(by).map(Via::Balancer);
            outbound.or_else(balancer).ok_or_else(|| NoWay(by.clone()))?
        };
        Ok(Errand { house: Arc::new(house), via })
    }
}

impl Errand {
    /// Fetches a file; see [`download`].
    ///
    /// # Errors
    /// [`Failure`].
    pub async fn get(&self, url: &str, take: Taker<'_>) -> Result<u64, Failure> {
        let services: Arc<dyn Services> = Arc::<House>::clone(&self.house);
        download(&services, self.via, url, take).await
    }
}
