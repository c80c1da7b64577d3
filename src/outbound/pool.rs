//! Connections that many flows share.
//!
//! A connection is opened by the flow that finds none with room; flows that come meanwhile have their places in it, and wait
//! with the first. If that one gives up, the next of them opens. A connection that dies takes its own sessions along and
//! nothing else.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::OnceCell;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::addr::Network;
use crate::flow::{Blame, BoxFuture, BoxPackets, BoxStream, DialError, Flow, Meter, Services, Stage};
use crate::proto::mux::carrier;
use crate::transport::mux::{Driver, Limits, Seat, Side, Trunk};

/// A way out that can carry sessions.
pub trait Beneath: fmt::Debug + Send + Sync {
    /// A stream to the flow's destination.
    fn stream<'a>(
        &'a self,
        cx: &'a dyn Services,
        flow: &'a Flow,
        first: &'a [u8],
    ) -> BoxFuture<'a, Result<BoxStream, DialError>>;

    /// An association for the flow.
    fn packets<'a>(&'a self, cx: &'a Arc<dyn Services>, flow: &'a Flow)
    -> BoxFuture<'a, Result<BoxPackets, DialError>>;

    /// Whether flows of this kind can leave there.
    fn takes(&self, network: Network) -> bool;

    /// Whether a stream is ready only once its target answered.
    fn waits(&self) -> bool;
}

/// Connections of one kind.
#[derive(Debug)]
pub(super) struct Pool {
    beneath: Arc<dyn Beneath>,
    limits: Limits,
    shared: Mutex<Vec<Arc<Shared>>>,
}

/// One connection, from the moment somebody wants it.
#[derive(Debug)]
struct Shared {
    trunk: Trunk,
    opened: OnceCell<Result<(), Failed>>,
}

/// How a dial failed, for all who waited for it.
#[derive(Debug, Clone, Copy)]
struct Failed {
    stage: Stage,
    blame: Blame,
    kind: io::ErrorKind,
}

/// Sessions of a connection in all (Xray's number): a new one takes other ways through the network.
const TOTAL: u16 = 128;

/// How often a connection without sessions is looked for; one that had none between two looks is closed (Xray's time).
const LOOK: Duration = Duration::from_secs(16);

impl Pool {
    /// With so many sessions of a connection at a time.
    pub(super) fn new(beneath: Arc<dyn Beneath>, open: usize) -> Self {
        Self { beneath, limits: Limits { open: open.max(1), total: TOTAL }, shared: Mutex::default() }
    }

    /// A place in a connection that is open.
    pub(super) async fn seat(&self, cx: &dyn Services, flow: &Flow, network: Network) -> Result<Seat, DialError> {
        let full = || DialError::us(Stage::Policy, io::ErrorKind::QuotaExceeded);
        let (shared, seat) = self.pick(network).ok_or_else(full)?;
        match shared.opened.get_or_init(|| self.open(cx, flow, &shared.trunk)).await {
            Ok(()) => Ok(seat),
            Err(failed) => Err(DialError::new(failed.stage, failed.blame, failed.kind)),
        }
    }

    /// A place in a connection, which perhaps must be opened. Never waits.
    fn pick(&self, network: Network) -> Option<(Arc<Shared>, Seat)> {
        let mut all = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|one| !one.trunk.is_closed());
        let found = all.iter().find_map(|one| Some((Arc::clone(one), Seat::take(&one.trunk, network, self.limits)?)));
        found.or_else(|| {
            let new = Arc::new(Shared { trunk: Trunk::new(Side::Client), opened: OnceCell::new() });
            all.push(Arc::clone(&new));
            let seat = Seat::take(&new.trunk, network, self.limits)?;
            Some((new, seat))
        })
    }

    async fn open(&self, cx: &dyn Services, flow: &Flow, trunk: &Trunk) -> Result<(), Failed> {
        let opened = match hop(flow) {
            Ok(hop) => self.beneath.stream(cx, &hop, &[]).await,
            Err(error) => Err(error),
        };
        match opened {
            Ok(io) => {
                tokio::spawn(drive(Driver::new(io, trunk.clone()), trunk.clone()));
                Ok(())
            }
            Err(error) => {
                trunk.fail();
                // The target of the connection is the server of its sessions.
                let error = error.instead_of_target(Blame::Server);
                tracing::debug!(%error, "no connection for sessions");
                Err(Failed { stage: error.stage, blame: error.blame, kind: error.source.kind() })
            }
        }
    }
}

/// The flow that a connection is, made of the one that wants it first.
fn hop(flow: &Flow) -> Result<Flow, DialError> {
    let target = carrier().map_err(|_| DialError::us(Stage::Policy, io::ErrorKind::InvalidInput))?;
    let mut hop = Flow { network: Network::Tcp, target, meter: Arc::<Meter>::default(), ..flow.clone() };
    (hop.route_target, hop.sniffed, hop.attributes, hop.protocol, hop.pin) = (None, None, None, None, None);
    Ok(hop)
}

async fn drive(mut driver: Driver, trunk: Trunk) {
    let mut look = interval_at(Instant::now() + LOOK, LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last = None;
    loop {
        tokio::select! {
            next = driver.next() => match next {
                Ok(Some(_)) => {}
                Ok(None) => return,
                Err(error) => {
                    tracing::debug!(%error, "a connection of many sessions broke");
                    return;
                }
            },
            _ = look.tick() => {
                if trunk.close_idle(last) {
                    driver.close().await;
                    return;
                }
                last = trunk.sessions().1;
            }
        }
    }
}
