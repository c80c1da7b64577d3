//! Inbounds at work: their sockets, whoever receives at them, and the life of the flows that came in.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::build::Made;
use super::dispatch::Door;
use super::life::Lease;
use super::shared::Shared;
use crate::flow::Sink;
use crate::inbound::{Host, Listener, Place};
use crate::net::{Hours, SocketOptions};

/// An inbound at work.
pub(super) struct Running {
    /// Its tag, or its place.
    pub(super) name: String,
    /// Who receives now.
    pub(super) host: Arc<Host>,
    /// The life of its flows.
    pub(super) lease: Arc<Lease>,
    /// Its sockets.
    pub(super) seats: Vec<Seat>,
}

/// A socket at which somebody receives. It may change hands.
pub(super) struct Seat {
    pub(super) place: Place,
    pub(super) options: SocketOptions,
    /// Where it really is.
    pub(super) local: Option<SocketAddr>,
    host: Arc<ArcSwap<Host>>,
    hours: Hours,
}

impl Running {
    /// An inbound whose sockets are not its own yet. It ends with `stop`.
    pub(super) fn new(shared: &Arc<Shared>, made: Made, stop: &CancellationToken) -> Self {
        let lease = Lease::under(&shared.end);
        Self { name: made.name.clone(), host: host(shared, made, &lease, stop), lease, seats: vec![] }
    }

    /// Serves at a socket that was opened for it.
    pub(super) fn open(&mut self, shared: &Shared, listener: Listener, stop: &CancellationToken) {
        let seat = Seat {
            place: listener.place().clone(),
            options: listener.options().clone(),
            local: listener.local(),
            host: Arc::new(ArcSwap::new(Arc::clone(&self.host))),
            hours: Hours { closing: stop.child_token(), over: stop.child_token() },
        };
        shared.doors.spawn(listener.run(Arc::clone(&seat.host), seat.hours.clone()));
        self.seats.push(seat);
    }

    /// Takes over a socket of another: whoever comes from now on is received here.
    pub(super) fn take(&mut self, mut seat: Seat, place: Place) {
        if let Err(error) = place.settle(&seat.place) {
            tracing::warn!(inbound = %self.name, %error, "the permissions of {place} stay");
        }
        seat.place = place;
        seat.host.store(Arc::clone(&self.host));
        self.seats.push(seat);
    }

    /// Receives from now on with other settings; flows that run go on, and have the same life as those that come.
    pub(super) fn renew(&mut self, shared: &Arc<Shared>, made: Made, stop: &CancellationToken) {
        let earlier = std::mem::replace(&mut self.host, host(shared, made, &self.lease, stop));
        self.seats.iter().for_each(|seat| seat.host.store(Arc::clone(&self.host)));
        earlier.closing.cancel();
    }

    /// Receives nobody any more; flows go on until they have drained. Sockets that wait for that are returned.
    pub(super) fn close(self, shared: &Arc<Shared>, drain: Duration) -> Vec<Seat> {
        let Self { host, lease, seats, .. } = self;
        host.closing.cancel();
        seats.iter().for_each(|seat| seat.hours.closing.cancel());
        let over: Vec<_> = seats.iter().map(|seat| seat.hours.over.clone()).collect();
        after(shared, drain, move || {
            lease.end();
            over.iter().for_each(CancellationToken::cancel);
        });
        // Connections live without their listener; datagrams do not.
        seats
            .into_iter()
            .filter(|seat| {
                let datagrams = matches!(
                    seat.place,
                    Place::Udp(_) | Place::Quic(_) | Place::Quics(_) | Place::Mkcp(_) | Place::Tunnel(_)
                );
                datagrams && !seat.is_over()
            })
            .collect()
    }
}

impl Seat {
    /// Whether nobody is served here any more.
    pub(super) fn is_over(&self) -> bool {
        self.hours.over.is_cancelled()
    }

    /// Ends it, and all that still came in by it.
    pub(super) fn end(&self) {
        self.hours.over.cancel();
    }
}

fn host(shared: &Arc<Shared>, made: Made, lease: &Arc<Lease>, stop: &CancellationToken) -> Arc<Host> {
    let Made { inbound, sniffing, .. } = made;
    let sink: Arc<dyn Sink> = Arc::new(Door { shared: Arc::clone(shared), lease: Arc::clone(lease), sniffing });
    Arc::new(Host { inbound, sink, closing: stop.child_token() })
}

/// Does something when removed parts have drained: at once where they have no time for it.
pub(super) fn after(shared: &Arc<Shared>, drain: Duration, end: impl FnOnce() + Send + 'static) {
    if drain.is_zero() {
        return end();
    }
    let all = shared.end.clone();
    tokio::spawn(async move {
        all.run_until_cancelled(sleep(drain)).await;
        end();
    });
}
