//! From one config to the next while flows run.
//!
//! Everything that can fail comes first: the next snapshot is built, then sockets are opened that nobody has yet. From there
//! on nothing can fail: the snapshot is swapped, sockets change hands, and what is gone is left to drain. A part that is
//! the same in both configs is the same object in both snapshots, so what is known of it, and whoever uses it, stays.

use std::collections::HashSet;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::bench::Bench;
use super::build::{Before, Built, Entry, build};
use super::diff::Applied;
use super::error::{ApplyError, BindError};
use super::life::Life;
use super::pairs;
use super::plan::Plan;
use super::shared::Shared;
use super::snapshot::{Exit, Snapshot};
use super::tasks::{Running, Seat, after};
use super::web::{RunningWeb, Web};
use crate::balance::Memory;
use crate::geo::Lists;
use crate::inbound::{Inbound, Listener, Place};
use crate::model::config::Config;
use crate::model::outbound::OutboundKind;
use crate::net::SocketOptions;
use crate::probe::{Prober, Watched};

/// What runs.
pub(super) struct Standing {
    pub(super) config: Config,
    /// The geodata lists that it names.
    pub(super) lists: Lists,
    /// The inbounds in their order.
    pub(super) inbounds: Vec<Running>,
    /// Sockets that nobody new is received at, until those who are inside have drained.
    pub(super) draining: Vec<Seat>,
    pub(super) bench: Arc<Bench>,
    pub(super) web: RunningWeb,
    /// Ends everything.
    pub(super) stop: CancellationToken,
}

/// Where an inbound gets a socket from.
enum Chair {
    /// From another that goes, or from its former self: this inbound's seat at this place.
    Taken(usize, usize),
    Opened(Box<Listener>),
}

/// Changes what runs into what the config says.
///
/// # Errors
/// [`ApplyError`] says why not; nothing was changed then.
pub(super) async fn apply(shared: &Arc<Shared>, standing: &mut Standing, next: Plan) -> Result<Applied, ApplyError> {
    let Plan { config: next, lists } = next;
    let same_lists = standing.lists.is_same(&lists);
    if standing.config == next && same_lists {
        return Ok(Applied::default());
    }
    let earlier = shared.snapshot();
    let inbounds: Vec<Arc<Inbound>> = standing.inbounds.iter().map(|one| Arc::clone(&one.host.inbound)).collect();
    let before = Before { config: &standing.config, snapshot: &earlier, inbounds: &inbounds, same_lists };
    let Built { snapshot, entries, watched } = build(&next, &lists, Some(before))?;
    let web = Some(Web::new(&next)?)
        .filter(|web| standing.config.http_services != next.http_services || !standing.web.is_like(web));
    let chairs = chairs(&standing.inbounds, &entries)?;
    let web = web.map(Web::bind).transpose()?;

    let applied = Applied::between(&standing.config, &next, same_lists);
    let snapshot = Arc::new(snapshot);
    let same_members = measured_alike(&standing.config, &next);
    if same_members {
        standing.bench.renew(Arc::clone(&snapshot));
    } else {
        standing.bench = Arc::new(Bench::new(Arc::clone(shared), Arc::clone(&snapshot)));
        probe(shared, standing, watched, Memory::default()).await;
    }
    shared.now.store(Arc::clone(&snapshot));
    let drain = next.policy.drain.0;
    let gone = seat(shared, standing, entries, chairs);
    for inbound in gone {
        standing.draining.extend(inbound.close(shared, drain));
    }
    match web {
        Some(web) => std::mem::replace(&mut standing.web, web.start(shared, &standing.stop)).end(),
        None => standing.web.renew(Arc::clone(&snapshot)),
    }
    let lives = ended(&earlier, &snapshot);
    if !lives.is_empty() {
        after(shared, drain, move || lives.iter().for_each(|life| life.end()));
    }
    snapshot.exits.iter().for_each(|exit| exit.life.tidy());
    standing.config = next;
    standing.lists = lists;
    Ok(applied)
}

/// The lives of outbounds that are not in the later snapshot.
fn ended(earlier: &Snapshot, later: &Snapshot) -> Vec<Arc<Life>> {
    let gone = |exit: &&Exit| !later.exits.iter().any(|other| Arc::ptr_eq(&other.life, &exit.life));
    earlier.exits.iter().filter(gone).map(|exit| Arc::clone(&exit.life)).collect()
}

/// Starts to measure, with what whoever measured before remembers; the first is given something. They have stopped then,
/// so a board never has two writers.
pub(super) async fn probe(shared: &Arc<Shared>, standing: &Standing, watched: Vec<Watched>, first: Memory) {
    let memory = match shared.prober.swap(None) {
        Some(before) => {
            let memory = before.remember().await;
            before.stop().await;
            memory
        }
        None => first,
    };
    let bench = Arc::clone(&standing.bench);
    let prober = Prober::start(watched, bench, &memory, shared.witnesses(), &standing.stop);
    shared.prober.store(Some(Arc::new(prober)));
}

/// Whether whoever measures may go on: the same members are at the same places, and what is measured leads the same way.
fn measured_alike(old: &Config, new: &Config) -> bool {
    let loops = |config: &Config| config.outbounds.iter().any(|one| matches!(one.kind, OutboundKind::Loopback(_)));
    let services =
        |config: &Config| (config.services.observatories.clone(), config.services.burst_observatories.clone());
    pairs::outbounds(old, new).all_same()
        && old.balancers == new.balancers
        && old.dns == new.dns
        && services(old) == services(new)
        && (old.rules == new.rules || !loops(new))
}

/// A socket for every place that has to be served. Those that are there are kept, whoever had them; the rest is opened.
fn chairs(running: &[Running], entries: &[Entry]) -> Result<Vec<Vec<Chair>>, BindError> {
    let stays: HashSet<usize> = entries.iter().filter_map(Entry::stays).collect();
    let mut taken: HashSet<(usize, usize)> = HashSet::new();
    let mut chairs = vec![];
    for entry in entries {
        let Entry::New(own, made) = entry else {
            chairs.push(vec![]);
            continue;
        };
        let mut find = |place: &Place, options: &SocketOptions| {
            // Its former self first: the same place may be written twice where the system chooses the port.
            let others = (0..running.len()).filter(|at| Some(*at) != *own && !place.is_any());
            let free = own.iter().copied().chain(others).filter(|at| !stays.contains(at));
            let fits = |seat: &Seat| seat.place.is_where(place) && seat.options == *options;
            let seats = free.flat_map(|at| running[at].seats.iter().enumerate().map(move |(n, seat)| ((at, n), seat)));
            let found = seats.filter(|(key, seat)| !taken.contains(key) && fits(seat)).map(|(key, _)| key).next();
            found.inspect(|key| _ = taken.insert(*key))
        };
        let mut own_chairs = vec![];
        for place in &made.inbound.places {
            own_chairs.push(match find(place, &made.inbound.options) {
                Some((inbound, seat)) => Chair::Taken(inbound, seat),
                None => {
                    let failed = |source| BindError { door: format!("inbound {}", made.name), source };
                    Chair::Opened(Box::new(Listener::open(&made.inbound, place).map_err(failed)?))
                }
            });
        }
        chairs.push(own_chairs);
    }
    Ok(chairs)
}

/// Puts every inbound to work; those that nothing goes on with are returned, with the sockets that nobody took.
fn seat(shared: &Arc<Shared>, standing: &mut Standing, entries: Vec<Entry>, chairs: Vec<Vec<Chair>>) -> Vec<Running> {
    type Seats = Vec<Option<Seat>>;
    let take_seats = |mut running: Running| -> (Option<Running>, Seats) {
        let seats = std::mem::take(&mut running.seats).into_iter().map(Some).collect();
        (Some(running), seats)
    };
    let mut old: Vec<(Option<Running>, Seats)> =
        std::mem::take(&mut standing.inbounds).into_iter().map(take_seats).collect();
    let Standing { inbounds, draining, stop, .. } = standing;
    draining.retain(|seat| !seat.is_over());
    for (entry, chairs) in entries.into_iter().zip(chairs) {
        if let Entry::New(_, made) = entry {
            let places = made.inbound.places.clone();
            let mut new = Running::new(shared, made, stop);
            for (chair, place) in chairs.into_iter().zip(places) {
                match chair {
                    Chair::Taken(inbound, seat) => {
                        let seat = old.get_mut(inbound).and_then(|(_, seats)| seats.get_mut(seat)?.take());
                        seat.into_iter().for_each(|seat| new.take(seat, place.clone()));
                    }
                    Chair::Opened(listener) => {
                        // Two sockets at one address would share its datagrams between them.
                        draining.iter().filter(|seat| seat.place == *listener.place()).for_each(Seat::end);
                        new.open(shared, *listener, stop);
                    }
                }
            }
            inbounds.push(new);
            continue;
        }
        let goes_on = entry.stays().and_then(|at| old.get_mut(at));
        let Some((Some(mut running), seats)) = goes_on.map(|(running, seats)| (running.take(), seats)) else {
            continue;
        };
        running.seats = seats.drain(..).flatten().collect();
        match entry {
            Entry::Limits(_, made) => running.renew(shared, made, stop),
            Entry::Users(_, made) if running.host.inbound.kind.take_users(&made.inbound.kind) => {}
            Entry::Users(_, made) => running.renew(shared, made, stop),
            Entry::Kept(_) | Entry::New(..) => {}
        }
        inbounds.push(running);
    }
    let gone = old.into_iter().filter_map(|(running, seats)| {
        let mut running = running?;
        running.seats = seats.into_iter().flatten().collect();
        Some(running)
    });
    gone.collect()
}
