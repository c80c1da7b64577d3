//! One TCP flow: look at its first bytes, ask the rules, dial, relay.
//!
//! Everything up to the relay is one boxed future that is gone when the relay begins. Tens of thousands of tunnels may
//! idle, and each keeps what the relay needs and no more.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;

use bytes::BytesMut;
use tokio::time::Instant;
use tracing::Instrument;

use super::assoc;
use super::choose::head;
use super::house::House;
use super::life::Lease;
use super::presence::Presence;
use super::shared::Shared;
use super::sniffing::Sniffing;
use super::tell;
use crate::flow::{BoxFuture, BoxPackets, BoxStream, Flow, FlowEnd, Meter, Sink};
use crate::net::{Limits, relay};

/// Where one inbound delivers.
#[derive(Debug)]
pub(super) struct Door {
    pub(super) shared: Arc<Shared>,
    /// How long its flows may go on.
    pub(super) lease: Arc<Lease>,
    /// What the inbound wants read from first bytes.
    pub(super) sniffing: Option<Arc<Sniffing>>,
}

impl Sink for Door {
    fn stream(&self, flow: Flow, io: BoxStream) -> BoxFuture<'static, ()> {
        stream(Arc::clone(&self.shared), Arc::clone(&self.lease), self.sniffing.clone(), flow, io)
    }

    fn packets(&self, mut flow: Flow, io: BoxPackets) -> BoxFuture<'static, ()> {
        let running = self.shared.flows.token();
        flow.id = self.shared.number();
        let (house, lease) = (House::now(&self.shared, &self.lease), Arc::clone(&self.lease));
        let sniffing = self.sniffing.clone();
        Box::pin(async move {
            let _running = running;
            assoc::run(house, flow, io, &lease, sniffing).await;
        })
    }
}

/// What is left of a flow once both ends are open.
struct Tunnel {
    client: BoxStream,
    server: BoxStream,
    limits: Limits,
    meter: Arc<Meter>,
    id: u64,
    /// In the balancers that chose its way.
    presence: Option<Presence>,
    lease: Arc<Lease>,
}

fn stream(
    shared: Arc<Shared>,
    lease: Arc<Lease>,
    sniffing: Option<Arc<Sniffing>>,
    flow: Flow,
    io: BoxStream,
) -> BoxFuture<'static, ()> {
    let running = shared.flows.token();
    let opening = Box::pin(opened(shared, lease, sniffing, flow, io));
    Box::pin(async move {
        let _running = running;
        let Some(tunnel) = opening.await else { return };
        let Tunnel { client, server, limits, meter, id, mut presence, lease } = tunnel;
        let mut relaying = pin!(relay(client, server, limits, &meter, lease.token()));
        let done = poll_fn(|cx| {
            let turn = relaying.as_mut().poll(cx);
            if let Some(presence) = &mut presence {
                presence.look(&meter);
            }
            turn
        })
        .await;
        if let Some(presence) = presence {
            presence.end(&meter, matches!(done.end, FlowEnd::Idle));
        }
        tracing::debug!(flow = id, up = done.up, down = done.down, "ended: {}", done.end);
    })
}

async fn opened(
    shared: Arc<Shared>,
    lease: Arc<Lease>,
    sniffing: Option<Arc<Sniffing>>,
    mut flow: Flow,
    io: BoxStream,
) -> Option<Tunnel> {
    flow.id = shared.number();
    let span = tracing::debug_span!("flow", id = flow.id);
    let opening = open(House::now(&shared, &lease), sniffing, flow, io).instrument(span);
    lease.token().run_until_cancelled(opening).await.flatten()
}

async fn open(house: House, sniffing: Option<Arc<Sniffing>>, mut flow: Flow, mut client: BoxStream) -> Option<Tunnel> {
    let first = match &sniffing {
        Some(sniffing) => match Box::pin(sniffing.read(&house.snapshot.fakes, &mut flow, &mut client)).await {
            Ok(first) => first,
            Err(error) => {
                tracing::debug!(%error, "the client left");
                return None;
            }
        },
        None => BytesMut::new(),
    };
    let heading = match head(&house, &flow).await {
        Ok(heading) => heading,
        Err(nowhere) => {
            tell::refused(&house.shared, &flow, &nowhere);
            return None;
        }
    };
    // Whoever fails has told so.
    let (server, presence) = house.stream(&flow, &first, &heading.to, Some(heading.because)).await.ok()?;
    flow.meter.moved(first.len() as u64, 0, Instant::now());
    let limits = house.snapshot.levels.of(flow.level);
    Some(Tunnel { client, server, limits, meter: flow.meter, id: flow.id, presence, lease: house.trail.lease() })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::io::duplex;

    use super::super::build::build;
    use super::*;
    use crate::addr::Network;
    use crate::geo::Lists;
    use crate::model::check::link;
    use crate::model::draft::Draft;
    use crate::shape::Dialect;

    /// What a tunnel keeps while nothing moves, beside its sockets.
    #[tokio::test]
    async fn the_future_of_a_running_flow_is_small() {
        let config = link(&Draft::default(), Dialect::Json).config.unwrap();
        let shared = Arc::new(Shared::new(build(&config, &Lists::default(), None).unwrap().snapshot));
        let door = Door { lease: Lease::under(&shared.end), shared, sniffing: None };
        let any = ([127, 0, 0, 1], 1).into();
        let flow = Flow::new("in".into(), Network::Tcp, any, any, "10.0.0.1:1".parse().unwrap());
        let future = door.stream(flow, Box::new(duplex(1).0));
        let size = size_of_val(&*future);
        assert!(size <= 900, "{size} bytes");
    }
}
