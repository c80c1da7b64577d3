//! The engine of this process, as the server needs it.

use std::time::{SystemTime, UNIX_EPOCH};

use super::house::House;
use super::protocol::{Code, EngineReport, Refused};
use crate::addr::Tag;
use crate::balance::{Order, Refusal, Report};
use crate::engine::{Handle, NotDone};

/// The engine of this process.
#[derive(Debug)]
pub struct Live {
    handle: Handle,
    engine: EngineReport,
}

impl Live {
    /// The engine behind this handle, which started now.
    #[must_use]
    pub fn new(handle: Handle) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let started_ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        let engine = EngineReport { pid: std::process::id(), version: env!("CARGO_PKG_VERSION").into(), started_ms };
        Self { handle, engine }
    }
}

/// The reason for programs.
fn code(error: &NotDone) -> Code {
    match error {
        NotDone::NoBalancer { .. } => Code::UnknownBalancer,
        NotDone::Refused(Refusal::NoMember { .. }) => Code::UnknownMember,
        NotDone::Refused(Refusal::NoProbe(_) | Refusal::Service(_)) => Code::NothingToTest,
        NotDone::Stopping => Code::Stopping,
    }
}

impl House for Live {
    fn engine(&self) -> EngineReport {
        self.engine.clone()
    }

    fn reports(&self) -> Vec<Report> {
        self.handle.reports()
    }

    async fn order(&self, balancer: &Tag, order: Order) -> Result<(), Refused> {
        let done = match self.handle.order_service(balancer, &order) {
            Some(done) => done.map_err(NotDone::Refused),
            None => self.handle.order(balancer, order).await,
        };
        done.map_err(|error| Refused::new(code(&error), error.to_string()))
    }
}
