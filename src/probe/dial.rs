//! The flows of measurements, and dials that go by no member.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use tokio::net::TcpStream;

use crate::addr::{Host, Network, Tag, Target};
use crate::flow::{Blame, DialError, Flow, Services, Stage};

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

/// A plain TCP connection to the first address that takes one.
///
/// # Errors
/// That of the last address.
pub async fn connect(services: &dyn Services, target: &Target) -> Result<TcpStream, DialError> {
    let found: Arc<[IpAddr]> = match &target.host {
        Host::Ip(ip) => Arc::new([*ip]),
        Host::Domain(name) => services.resolve(name).await?,
    };
    let mut last = DialError::target(Stage::Resolve, io::ErrorKind::NotFound);
    for &ip in found.iter() {
        match TcpStream::connect(SocketAddr::new(ip, target.port)).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = DialError::target(Stage::Dial, error),
        }
    }
    Err(last)
}
