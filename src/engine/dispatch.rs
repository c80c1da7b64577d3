//! One TCP flow: look at its first bytes, ask the rules, dial, relay.
//!
//! Everything up to the relay is one boxed future that is gone when the relay begins. Tens of thousands of tunnels may
//! idle, and each keeps what the relay needs and no more.

use std::io;
use std::sync::Arc;

use bytes::BytesMut;
use tracing::Instrument;

use super::assoc;
use super::choose::{Choice, choose, head};
use super::services::House;
use super::shared::Shared;
use super::sniffing::Sniffing;
use super::tell;
use crate::flow::{Blame, BoxFuture, BoxPackets, BoxStream, DialError, Flow, Meter, Sink, Stage};
use crate::net::{Limits, relay};

/// Where one inbound delivers.
#[derive(Debug)]
pub(super) struct Door {
    pub(super) shared: Arc<Shared>,
    /// What the inbound wants read from first bytes.
    pub(super) sniffing: Option<Arc<Sniffing>>,
}

impl Sink for Door {
    fn stream(&self, flow: Flow, io: BoxStream) -> BoxFuture<'static, ()> {
        stream(Arc::clone(&self.shared), self.sniffing.clone(), flow, io)
    }

    fn packets(&self, mut flow: Flow, io: BoxPackets) -> BoxFuture<'static, ()> {
        let running = self.shared.flows.token();
        let end = self.shared.end.clone();
        flow.id = self.shared.number();
        let house = House::now(&self.shared);
        Box::pin(async move {
            let _running = running;
            assoc::run(house, flow, io, &end).await;
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
}

fn stream(shared: Arc<Shared>, sniffing: Option<Arc<Sniffing>>, flow: Flow, io: BoxStream) -> BoxFuture<'static, ()> {
    let (running, end) = (shared.flows.token(), shared.end.clone());
    let opening = Box::pin(opened(shared, sniffing, flow, io));
    Box::pin(async move {
        let _running = running;
        let Some(tunnel) = opening.await else { return };
        let Tunnel { client, server, limits, meter, id } = tunnel;
        let done = relay(client, server, limits, &meter, &end).await;
        tracing::debug!(flow = id, up = done.up, down = done.down, "ended: {}", done.end);
    })
}

async fn opened(shared: Arc<Shared>, sniffing: Option<Arc<Sniffing>>, mut flow: Flow, io: BoxStream) -> Option<Tunnel> {
    flow.id = shared.number();
    let end = shared.end.clone();
    let span = tracing::debug_span!("flow", id = flow.id);
    end.run_until_cancelled(open(House::now(&shared), sniffing, flow, io).instrument(span)).await.flatten()
}

async fn open(house: House, sniffing: Option<Arc<Sniffing>>, mut flow: Flow, mut client: BoxStream) -> Option<Tunnel> {
    let first = match &sniffing {
        Some(sniffing) => match Box::pin(sniffing.read(&mut flow, &mut client)).await {
            Ok(first) => first,
            Err(error) => {
                tracing::debug!(%error, "the client left");
                return None;
            }
        },
        None => BytesMut::new(),
    };
    let choice = settle(&house, &flow).await?;
    match house.connect(choice.exit, &flow, &first).await {
        Ok(server) => {
            flow.meter.add_up(first.len() as u64);
            let limits = house.snapshot.levels.of(flow.level);
            Some(Tunnel { client, server, limits, meter: flow.meter, id: flow.id })
        }
        Err(error) => {
            failed(&house, &flow, choice, &error);
            None
        }
    }
}

/// The outbound for the flow, told to the logs.
async fn settle(house: &House, flow: &Flow) -> Option<Choice> {
    let (shared, snapshot) = (&house.shared, &house.snapshot);
    let chosen = match head(snapshot, flow).await {
        Ok(heading) => choose(shared, snapshot, &heading.to, flow).await.map(|choice| (heading.because, choice)),
        Err(nowhere) => Err(nowhere),
    };
    match chosen {
        Ok((because, choice)) => {
            tell::accepted(snapshot, flow, because, choice);
            Some(choice)
        }
        Err(nowhere) => {
            tell::refused(shared, flow, &nowhere);
            None
        }
    }
}

/// Peers fail all the time, and that is told at debug; what this machine itself lacks is worth a warning.
fn failed(house: &House, flow: &Flow, choice: Choice, error: &DialError) {
    let outbound = tell::name_of(&house.snapshot, choice);
    if error.blame == Blame::Us && error.stage != Stage::Policy && is_want(&error.source) {
        house.shared.warn_once(&format_args!("{outbound}: {error}"));
    }
    tracing::debug!(%error, "{} to {} failed by {outbound}", flow.network, flow.destination());
}

/// Whether the machine lacks something that all flows want.
fn is_want(error: &io::Error) -> bool {
    !matches!(error.kind(), io::ErrorKind::Other | io::ErrorKind::Unsupported)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::io::duplex;

    use super::super::build::build;
    use super::*;
    use crate::addr::Network;
    use crate::model::check::link;
    use crate::model::draft::Draft;
    use crate::shape::Dialect;

    /// What a tunnel keeps while nothing moves, beside its sockets.
    #[tokio::test]
    async fn the_future_of_a_running_flow_is_small() {
        let config = link(&Draft::default(), Dialect::Json).config.unwrap();
        let shared = Arc::new(Shared::new(build(&config).unwrap().snapshot));
        let door = Door { shared, sniffing: None };
        let any = ([127, 0, 0, 1], 1).into();
        let flow = Flow::new("in".into(), Network::Tcp, any, any, "10.0.0.1:1".parse().unwrap());
        let future = door.stream(flow, Box::new(duplex(1).0));
        let size = size_of_val(&*future);
        assert!(size <= 900, "{size} bytes");
    }
}
