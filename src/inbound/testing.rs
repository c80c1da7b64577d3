//! A sink that hands what it got to the test, and short ways to talk.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::{mpsc, oneshot};

use super::visit::{Common, Visitor};
use crate::flow::{BoxFuture, BoxPackets, BoxStream, Flow, Sink};

pub(super) enum Got {
    Stream(Flow, BoxStream),
    Packets(Flow, BoxPackets),
}

struct Collector(mpsc::UnboundedSender<(Got, oneshot::Sender<()>)>);

/// What a test holds of a flow; the sink's future ends when it is dropped.
pub(super) struct Held(oneshot::Sender<()>);

pub(super) struct Flows(mpsc::UnboundedReceiver<(Got, oneshot::Sender<()>)>);

pub(super) fn sink() -> (Arc<dyn Sink>, Flows) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (Arc::new(Collector(sender)), Flows(receiver))
}

impl Collector {
    fn put(&self, got: Got) -> BoxFuture<'static, ()> {
        let (held, ended) = oneshot::channel();
        let sent = self.0.send((got, held));
        Box::pin(async move {
            if sent.is_ok() {
                let _ = ended.await;
            }
        })
    }
}

impl Sink for Collector {
    fn stream(&self, flow: Flow, io: BoxStream) -> BoxFuture<'static, ()> {
        self.put(Got::Stream(flow, io))
    }

    fn packets(&self, flow: Flow, io: BoxPackets) -> BoxFuture<'static, ()> {
        self.put(Got::Packets(flow, io))
    }
}

impl Flows {
    pub(super) async fn stream(&mut self) -> (Flow, BoxStream, Held) {
        match self.0.recv().await {
            Some((Got::Stream(flow, io), held)) => (flow, io, Held(held)),
            _ => unreachable!("expected a stream"),
        }
    }

    pub(super) async fn packets(&mut self) -> (Flow, BoxPackets, Held) {
        match self.0.recv().await {
            Some((Got::Packets(flow, io), held)) => (flow, io, Held(held)),
            _ => unreachable!("expected an association"),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Held {
    pub(super) fn end(self) {
        drop(self.0);
    }
}

pub(super) fn common() -> Common {
    let second = Duration::from_secs(1);
    Common {
        tag: "in".into(),
        level: 0,
        remote: false,
        handshake: 5 * second,
        idle: 60 * second,
        uplink_only: second,
        downlink_only: second,
    }
}

pub(super) fn visitor() -> Visitor {
    Visitor { source: ([127, 0, 0, 1], 5000).into(), local: ([127, 0, 0, 1], 1080).into(), original: None }
}

/// Reads until the text appears at the end of what was read.
pub(super) async fn until(io: &mut (impl AsyncRead + Unpin), end: &str) -> String {
    let mut all = Vec::new();
    while !all.ends_with(end.as_bytes()) {
        match io.read_u8().await {
            Ok(byte) => all.push(byte),
            Err(error) => unreachable!("{error} after {:?}", String::from_utf8_lossy(&all)),
        }
    }
    String::from_utf8_lossy(&all).into_owned()
}
