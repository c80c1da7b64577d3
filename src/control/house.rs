//! What the server needs of a running engine.

use std::future::Future;

use super::protocol::{EngineReport, Refused};
use crate::addr::Tag;
use crate::balance::{Order, Report};

/// A running engine. It is asked anew each time, since a reload changes what there is.
pub trait House: Send + Sync + 'static {
    /// Who it is.
    fn engine(&self) -> EngineReport;

    /// What its balancers know now.
    fn reports(&self) -> Vec<Report>;

    /// Gives an order to a balancer.
    ///
    /// # Errors
    /// [`Refused`] where it cannot be followed; nothing was changed then.
    fn order(&self, balancer: &Tag, order: Order) -> impl Future<Output = Result<(), Refused>> + Send;
}
