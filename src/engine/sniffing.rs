//! What an inbound wants read from first bytes, and what comes of it.
//!
//! The name behind a fake address is known before any byte. Bytes are read all the same, unless `metadataOnly` forbids
//! it, because rules may ask for the protocol and for attributes. This is Xray's order (`app/dispatcher/default.go`).

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::AsyncReadExt;
use tokio::time::{Instant, Sleep, sleep, timeout_at};

use crate::addr::{DomainName, Host, Target};
use crate::dns::{Faked, Fakes};
use crate::flow::{Attributes, BoxStream, Flow, Sniffed};
use crate::geo::{Addresses, CompileError, Lists, Names};
use crate::model::sniffing::{Sniffer, Sniffing as Written};
use crate::proto::sniff::{self, Known, Sniff};

/// Compiled settings of one inbound that sniffs.
#[derive(Debug)]
pub(super) struct Sniffing {
    sniffers: Box<[Sniffer]>,
    metadata_only: bool,
    route_only: bool,
    names_excluded: Names,
    ips_excluded: Addresses,
}

/// What was heard so far of the datagrams to one target.
pub(super) struct Ear {
    faked: Faked,
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
        if !written.enabled {
            return Ok(None);
        }
        Ok(Some(Self {
            sniffers: written.dest_override.iter().copied().collect(),
            metadata_only: written.metadata_only,
            route_only: written.route_only,
            names_excluded: Names::compile(written.domains_excluded.0.iter().map(|rule| (rule, 0)), lists)?,
            ips_excluded: Addresses::compile(&written.ips_excluded.0, lists)?,
        }))
    }

    /// Reads first bytes until they say what they are, and tells the flow. They are given back for the dial.
    ///
    /// A client that says nothing is not waited for: many servers speak first.
    pub(super) async fn read(&self, fakes: &Fakes, flow: &mut Flow, io: &mut BoxStream) -> io::Result<BytesMut> {
        let mut first = BytesMut::new();
        let faked = meant(fakes, flow);
        if self.metadata_only {
            self.tell(flow, faked, None);
            return Ok(first);
        }
        let found = self.first(io, &mut first).await?;
        self.tell(flow, faked, found);
        Ok(first)
    }

    async fn first(&self, io: &mut BoxStream, first: &mut BytesMut) -> io::Result<Option<Known>> {
        let deadline = Instant::now() + WAIT;
        let (mut rounds, mut early) = (0, None);
        while rounds < ROUNDS && first.len() < MOST {
            first.reserve(CHUNK);
            match timeout_at(deadline, io.read_buf(first)).await {
                Err(_) | Ok(Ok(0)) => break,
                Ok(read) => _ = read?,
            }
            match sniff::stream(first) {
                Sniff::Known(known) => return Ok(Some(known)),
                Sniff::Unknown => return Ok(None),
                Sniff::NeedMore(known) => {
                    rounds += u32::from(known.is_none());
                    early = known;
                }
            }
        }
        Ok(early)
    }

    /// Hears the first datagram to one target; somebody must go on listening only if it is not clear yet what they are.
    pub(super) fn begin(&self, fakes: &Fakes, flow: &mut Flow, datagram: &[u8]) -> Option<Ear> {
        let faked = meant(fakes, flow);
        if self.metadata_only {
            self.tell(flow, faked, None);
            return None;
        }
        let until = Box::pin(sleep(WAIT));
        let mut ear = Ear { faked, datagrams: sniff::Datagrams::default(), early: None, until };
        (!self.hear(&mut ear, flow, datagram)).then_some(ear)
    }

    /// Hears one datagram; whether it is clear now what they are, and the flow was told.
    pub(super) fn hear(&self, ear: &mut Ear, flow: &mut Flow, datagram: &[u8]) -> bool {
        match ear.datagrams.look(datagram) {
            Sniff::Known(known) => ear.early = Some(known),
            Sniff::NeedMore(known) => {
                ear.early = known;
                return false;
            }
            Sniff::Unknown => {}
        }
        self.give_up(ear, flow);
        true
    }

    /// Waits for the time at which nobody listens any longer; the flow is told what is clear by then.
    pub(super) fn poll_over(&self, ear: &mut Ear, flow: &mut Flow, cx: &mut Context<'_>) -> Poll<()> {
        ready!(ear.until.as_mut().poll(cx));
        self.give_up(ear, flow);
        Poll::Ready(())
    }

    fn give_up(&self, ear: &mut Ear, flow: &mut Flow) {
        self.tell(flow, std::mem::replace(&mut ear.faked, Faked::No), ear.early.take());
    }

    /// Tells the flow what its target means and what it carries. What it carries is known to rules whatever the settings
    /// say; a name counts only as they say, and one that must not count is not kept, so nobody after this has to ask again.
    fn tell(&self, flow: &mut Flow, faked: Faked, known: Option<Known>) {
        let protocol = match (&known, &faked) {
            (Some(known), _) => known.protocol.as_str(),
            (None, Faked::Name(_)) => word(Sniffer::FakeDns),
            (None, _) => return,
        };
        let mut inner = None;
        if let Some(known) = known {
            if !known.attributes.is_empty() {
                let mut attributes = Attributes::default();
                known.attributes.iter().for_each(|(name, value)| attributes.push(name, value));
                flow.attributes = Some(Box::new(attributes));
            }
            inner = known.domain;
        }
        let is_fake = faked != Faked::No;
        let outer = if let Faked::Name(name) = faked { Some(name) } else { None };
        let outer = outer.filter(|name| self.wants(word(Sniffer::FakeDns), false) && self.lets(name, flow));
        // Where the fake address stands for nothing, the name in the payload counts. It does not in Xray where the address has
        // a name and `fakedns` is not listed; an address that nobody has is dialed then.
        let domain = outer.or_else(|| inner.filter(|name| self.wants(protocol, is_fake) && self.lets(name, flow)));
        if let Some(domain) = &domain
            && (!self.route_only || is_fake)
        {
            flow.route_target = Some(Target::new(Host::Domain(domain.clone()), flow.destination().port));
        }
        flow.sniffed = Some(Sniffed { protocol, domain });
    }

    /// Whether a name that was found by this may count. With `fakedns` any is better than an address that is a fake.
    fn wants(&self, by: &str, is_fake: bool) -> bool {
        self.sniffers.iter().any(|sniffer| {
            let sniffer = word(*sniffer);
            sniffer.starts_with(by) || by.starts_with(sniffer) || (is_fake && sniffer == word(Sniffer::FakeDns))
        })
    }

    /// Whether a name may stand in for the flow's target.
    fn lets(&self, name: &DomainName, flow: &Flow) -> bool {
        self.names_excluded.first(name.as_str()).is_none()
            && !flow.target.host.ip().is_some_and(|ip| self.ips_excluded.contains(ip))
    }
}

/// What the target of a flow means.
fn meant(fakes: &Fakes, flow: &Flow) -> Faked {
    let faked = flow.target.host.ip().map_or(Faked::No, |ip| fakes.look(ip));
    if faked == Faked::Nameless {
        tracing::info!(
            flow = flow.id,
            "no name is known of the fake address {}: it was given before the start, or many others were given since",
            flow.target
        );
    }
    faked
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
