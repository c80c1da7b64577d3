//! What is said of a flow: one access line, one line at debug, and one at info if it could not be led anywhere.

use std::fmt;
use std::io;
use std::time::Duration;

use super::choose::{Because, Nowhere, Why};
use super::house::House;
use super::level::Level;
use super::shared::Shared;
use super::snapshot::Snapshot;
use crate::addr::OutboundId;
use crate::flow::{Blame, DialError, Flow, Stage};

/// Tells where a flow goes. Measurements of our own are no user's business.
pub(super) fn accepted(house: &House, flow: &Flow, because: Because, exit: OutboundId, levels: &[Level]) {
    let snapshot = &*house.snapshot;
    let tag = snapshot.exit(exit).map_or("", |exit| exit.tag.as_str());
    let why = Why { snapshot, because, levels };
    tracing::debug!(flow = flow.id, "{} goes to {}: {why}", Headed(flow), Named(tag));
    if flow.probe {
        return;
    }
    tracing::info!(
        target: "access",
        from = %From(flow, house.asks),
        verdict = "accepted",
        to = %Asked(flow),
        inbound = flow.inbound.as_str(),
        arrow = match because {
            Because::Rule(_) => "->",
            Because::Default => ">>",
            Because::Pinned => "==>",
        },
        outbound = tag,
        email = flow.user.as_deref().unwrap_or_default(),
    );
}

/// Where a flow comes from; questions to name servers, as in Xray, from ourselves.
struct From<'a>(&'a Flow, bool);

impl fmt::Display for From<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.1 { f.write_str("DNS") } else { self.0.source.fmt(f) }
    }
}

/// Tells that a flow goes nowhere. What is wrong with the config is warned of once, not for every flow.
pub(super) fn refused(shared: &Shared, flow: &Flow, nowhere: &Nowhere) {
    shared.warn_once(nowhere);
    tracing::debug!(flow = flow.id, "{} is closed: {nowhere}", Headed(flow));
}

/// Tells that a way could not be opened, and which is tried next. Peers fail all the time, and while another is left that is
/// told at debug; that nobody is left, at info, as Xray does; and what this machine itself lacks is worth a warning.
pub(super) fn failed(
    house: &House,
    flow: &Flow,
    exit: OutboundId,
    took: Duration,
    error: &DialError,
    next: Option<OutboundId>,
) {
    let (by, id) = (name_of(&house.snapshot, exit), flow.id);
    if error.blame == Blame::Us && error.stage != Stage::Policy && is_want(&error.source) {
        house.shared.warn_once(&format_args!("{by}: {error}"));
    }
    match next {
        Some(next) => {
            let (millis, next) = (took.as_millis(), name_of(&house.snapshot, next));
            tracing::debug!(flow = id, "{} failed by {by} after {millis} ms: {error}; next is {next}", Headed(flow));
        }
        None => tracing::info!(flow = id, %error, "{} to {} failed by {by}", flow.network, flow.destination()),
    }
}

/// Whether the machine lacks something that all flows want.
fn is_want(error: &io::Error) -> bool {
    !matches!(error.kind(), io::ErrorKind::Other | io::ErrorKind::Unsupported)
}

/// The tag of an outbound that may have none.
struct Named<'a>(&'a str);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "the outbound without a tag" } else { self.0 })
    }
}

/// `tcp:host:port` as the client asked.
struct Asked<'a>(&'a Flow);

impl fmt::Display for Asked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.0.network, self.0.target)
    }
}

/// The same as it is routed, with the name that was found.
struct Headed<'a>(&'a Flow);

impl fmt::Display for Headed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flow = self.0;
        write!(f, "{}:{}", flow.network, flow.destination())?;
        match flow.sniffed.as_ref() {
            Some(sniffed) => match &sniffed.domain {
                Some(name) => write!(f, " ({} {name})", sniffed.protocol),
                None => write!(f, " ({})", sniffed.protocol),
            },
            None => Ok(()),
        }
    }
}

/// What an outbound is called in a line.
fn name_of(snapshot: &Snapshot, exit: OutboundId) -> Named<'_> {
    Named(snapshot.exit(exit).map_or("", |exit| exit.tag.as_str()))
}
