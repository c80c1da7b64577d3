//! What an inbound wants read from first bytes, and what comes of it.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::AsyncReadExt;
use tokio::time::{Instant, Sleep, sleep, timeout_at};

use crate::addr::{Host, Target};
use crate::flow::{Attributes, BoxStream, Flow, Sniffed};
use crate::geo::{Addresses, CompileError, Lists, Names};
use crate::model::sniffing::{Sniffer, Sniffing as Written};
use crate::proto::sniff::{self, Known, Sniff};

/// Compiled settings of one inbound; there are none where no byte need be read.
#[derive(Debug)]
pub(super) struct Sniffing {
    sniffers: Box<[Sniffer]>,
    route_only: bool,
    names_excluded: Names,
    ips_excluded: Addresses,
}

/// What was heard so far of the datagrams to one target.
pub(super) struct Ear {
    datagrams: sniff::Datagrams,
    early: Option<Known>,
    until: Pin<Box<Sleep>>,
}

/// Why settings cannot be compiled.
#[derive(Debug, thiserror::Error)]
pub(super) enum BadSniffing {
    #[error("sniffing: {0}")]
    Compile(#[from] CompileError),
}

impl Sniffing {
    pub(super) fn compile(written: &Written, lists: &Lists) -> Result<Option<Self>, BadSniffing> {
        if !written.enabled || written.metadata_only {
            return Ok(None);
        }
        Ok(Some(Self {
            sniffers: written.dest_override.iter().copied().collect(),
            route_only: written.route_only,
            names_excluded: Names::compile(written.domains_excluded.0.iter().map(|rule| (rule, 0)), lists)?,
            ips_excluded: Addresses::compile(&written.ips_excluded.0, lists)?,
        }))
    }

    /// Reads first bytes until they say what they are, and tells the flow. They are given back for the dial.
    ///
    /// A client that says nothing is not waited for: many servers speak first.
    pub(super) async fn read(&self, flow: &mut Flow, io: &mut BoxStream) -> io::Result<BytesMut> {
        let mut first = BytesMut::new();
        let deadline = Instant::now() + WAIT;
        let (mut rounds, mut early) = (0, None);
        while rounds < ROUNDS && first.len() < MOST {
            first.reserve(CHUNK);
            match timeout_at(deadline, io.read_buf(&mut first)).await {
                Err(_) | Ok(Ok(0)) => break,
                Ok(read) => _ = read?,
            }
            match sniff::stream(&first) {
                Sniff::Known(known) => {
                    self.tell(flow, known);
                    return Ok(first);
                }
                Sniff::Unknown => return Ok(first),
                Sniff::NeedMore(known) => {
                    rounds += u32::from(known.is_none());
                    early = known;
                }
            }
        }
        if let Some(known) = early {
            self.tell(flow, known);
        }
        Ok(first)
    }

    /// Begins to listen to what is sent to one target.
    pub(super) fn ear() -> Ear {
        Ear { datagrams: sniff::Datagrams::default(), early: None, until: Box::pin(sleep(WAIT)) }
    }

    /// Hears one datagram; whether it is clear now what they are, and the flow was told.
    pub(super) fn hear(&self, ear: &mut Ear, flow: &mut Flow, datagram: &[u8]) -> bool {
        match ear.datagrams.look(datagram) {
            Sniff::Known(known) => self.tell(flow, known),
            Sniff::NeedMore(known) => {
                ear.early = known;
                return false;
            }
            Sniff::Unknown => self.give_up(ear, flow),
        }
        true
    }

    /// Waits for the time at which nobody listens any longer; the flow is told what is clear by then.
    pub(super) fn poll_over(&self, ear: &mut Ear, flow: &mut Flow, cx: &mut Context<'_>) -> Poll<()> {
        ready!(ear.until.as_mut().poll(cx));
        self.give_up(ear, flow);
        Poll::Ready(())
    }

    fn give_up(&self, ear: &mut Ear, flow: &mut Flow) {
        if let Some(known) = ear.early.take() {
            self.tell(flow, known);
        }
    }

    fn tell(&self, flow: &mut Flow, known: Known) {
        let protocol = known.protocol.as_str();
        if !known.attributes.is_empty() {
            let mut attributes = Attributes::default();
            known.attributes.iter().for_each(|(name, value)| attributes.push(name, value));
            flow.attributes = Some(Box::new(attributes));
        }
        // A name that must not count is not kept, so nobody after this has to ask again.
        let domain = known.domain.filter(|domain| {
            self.sniffers
                .iter()
                .any(|sniffer| word(*sniffer).starts_with(protocol) || protocol.starts_with(word(*sniffer)))
                && self.names_excluded.first(domain.as_str()).is_none()
                && !flow.target.host.ip().is_some_and(|ip| self.ips_excluded.contains(ip))
        });
        if let Some(domain) = &domain
            && !self.route_only
        {
            flow.route_target = Some(Target::new(Host::Domain(domain.clone()), flow.destination().port));
        }
        flow.sniffed = Some(Sniffed { protocol, domain });
    }
}

/// The protocol's name as findings carry it.
fn word(sniffer: Sniffer) -> &'static str {
    match sniffer {
        Sniffer::Http => "http",
        Sniffer::Tls => "tls",
        Sniffer::Quic => "quic",
        Sniffer::FakeDns => "fakedns",
    }
}

/// How long first bytes are waited for (Xray's dispatcher).
const WAIT: Duration = Duration::from_millis(200);

/// Looks that told nothing before it is given up (Xray's dispatcher).
const ROUNDS: u32 = 2;

/// As much as is looked at.
const MOST: usize = 32 * 1024;

/// A ClientHello, or a request's head.
const CHUNK: usize = 4 * 1024;
