//! A house that knows a few names and notes what it was asked to dial.
#![allow(clippy::unwrap_used)]

use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;

use crate::addr::{DomainName, Network};
use crate::flow::{BoxFuture, BoxPackets, BoxStream, DialError, Flow, Services, Stage, Via};

#[derive(Default)]
pub(super) struct House {
    names: Vec<(String, Vec<IpAddr>)>,
    gate: Mutex<Option<oneshot::Receiver<()>>>,
    dialed: Mutex<Vec<Flow>>,
}

impl House {
    pub(super) fn knowing(name: &str, ips: &[&str]) -> Self {
        let mut house = Self::default();
        house.learns(name, ips);
        house
    }

    pub(super) fn learns(&mut self, name: &str, ips: &[&str]) {
        self.names.push((name.to_owned(), ips.iter().map(|ip| ip.parse().unwrap()).collect()));
    }

    /// One that answers only when told to.
    pub(super) fn slow(name: &str, ips: &[&str]) -> (Self, oneshot::Sender<()>) {
        let (sender, gate) = oneshot::channel();
        (Self { gate: Mutex::new(Some(gate)), ..Self::knowing(name, ips) }, sender)
    }

    pub(super) fn dialed(&self) -> Vec<Flow> {
        self.dialed.lock().unwrap().clone()
    }

    fn refuse<T: Send + 'static>(&self, flow: &Flow) -> BoxFuture<'static, Result<T, DialError>> {
        self.dialed.lock().unwrap().push(flow.clone());
        Box::pin(async { Err(DialError::us(Stage::Policy, io::ErrorKind::Unsupported)) })
    }
}

impl Services for House {
    fn resolve<'a>(&'a self, name: &'a DomainName) -> BoxFuture<'a, Result<Arc<[IpAddr]>, DialError>> {
        let gate = self.gate.lock().unwrap().take();
        Box::pin(async move {
            if let Some(gate) = gate {
                gate.await.unwrap();
            }
            let found = self.names.iter().find(|(known, _)| known == name.as_str());
            found
                .map(|(_, ips)| ips.as_slice().into())
                .ok_or_else(|| DialError::target(Stage::Resolve, io::ErrorKind::NotFound))
        })
    }

    fn dial<'a>(&'a self, _: Via, flow: &'a Flow, _: &'a [u8]) -> BoxFuture<'a, Result<BoxStream, DialError>> {
        self.refuse(flow)
    }

    fn associate<'a>(&'a self, _: Via, flow: &'a Flow) -> BoxFuture<'a, Result<BoxPackets, DialError>> {
        self.refuse(flow)
    }
}

pub(super) fn flow(target: &str) -> Flow {
    let client = ([192, 0, 2, 1], 5000).into();
    Flow::new("in".into(), Network::Tcp, client, ([127, 0, 0, 1], 1080).into(), target.parse().unwrap())
}
