//! The flows of measurements, and dials that go by no member.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;

use crate::addr::{Host, Network, Tag, Target};
use crate::flow::{Blame, DialError, Flow, Services, Stage};
use crate::net::{SocketOptions, tcp};

/// The flow of a measurement: pinned and marked, so that no rule routes it and nobody counts it.
pub fn marked(tag: &Tag, network: Network, target: Target) -> Flow {
    let nowhere = SocketAddr::from(([0, 0, 0, 0], 0));
    let mut flow = Flow::new(Tag::default(), network, nowhere, nowhere, target);
    flow.pin = Some(tag.clone());
    flow.probe = true;
    flow
}

/// Whether somebody said no, instead of saying nothing.
pub fn refused(error: &DialError) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionRefused, ConnectionReset, UnexpectedEof};
    let kinds = [ConnectionRefused, ConnectionReset, ConnectionAborted, BrokenPipe, UnexpectedEof];
    error.blame != Blame::Us && kinds.contains(&error.source.kind())
}

/// A plain TCP connection to the first address that takes one; a silent address holds up the others only for a moment.
/// Bounded by whoever waits for it.
///
/// # Errors
/// That of the first address that failed.
pub async fn connect(services: &dyn Services, target: &Target) -> Result<TcpStream, DialError> {
    let found: Arc<[IpAddr]> = match &target.host {
        Host::Ip(ip) => Arc::new([*ip]),
        Host::Domain(name) => services.resolve(name).await?,
    };
    let addresses: Vec<SocketAddr> = found.iter().map(|&ip| SocketAddr::new(ip, target.port)).collect();
    tcp::dial(&addresses, &SocketOptions::default(), Duration::MAX)
        .await
        .map_err(|error| DialError::target(Stage::Dial, error))
}
