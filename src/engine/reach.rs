//! From a destination to an open way: balancers choose, the way is dialed, and where a member fails before any byte of
//! the client left, the next one is tried (balancing rule 12.4).
//!
//! A destination may lead through several balancers, one a member of the other. What fails is tried again in the innermost
//! first, then further out, [`Tried::MOST`] ways in all. A retry never leaves a group by its fallback: that is for groups
//! whose members are known to be dead, not for one flow's bad luck.

use std::borrow::Cow;
use std::io;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::choose::{Because, Nowhere};
use super::facts::key;
use super::house::House;
use super::level::Level;
use super::presence::Presence;
use super::snapshot::Group;
use super::tell;
use crate::addr::{Hop, Network, OutboundId};
use crate::balance::{Ask, Evidence, InUse, Pick, Tried};
use crate::flow::{Blame, BoxFuture, DialError, Flow, Stage};
use crate::model::config::Dest;

/// Balancers and fallbacks in a row. A config holds no rings, so this is more than any of them has.
const STEPS: usize = 16;

/// The limit of an attempt of which nothing better is known, and of the last one.
const LIMIT: Duration = Duration::from_secs(5);

/// Opens a way to a destination; `open` dials by an outbound. `because` is told to the logs, where somebody decided.
pub(super) async fn reach<'a, T>(
    house: &'a House,
    flow: &'a Flow,
    to: &Dest,
    because: Option<Because>,
    open: impl Fn(OutboundId) -> BoxFuture<'a, Result<T, DialError>>,
) -> Result<(T, Option<Presence>), DialError> {
    let mut reach = Reach { house, flow, levels: Vec::new() };
    let mut exit = match reach.descend(to).await {
        Ok(exit) => exit,
        Err(nowhere) => return Err(closed(house, flow, nowhere)),
    };
    if let Some(because) = because {
        tell::accepted(house, flow, because, exit, &reach.levels);
    }
    let lease = house.trail.lease();
    loop {
        house.trail.back_to(&lease);
        let (begun, before) = (Instant::now(), flow.meter.failures());
        let opened = match reach.limit(exit) {
            Some(limit) => timeout(limit, open(exit)).await.unwrap_or_else(|_| Err(cut(limit))),
            None => open(exit).await,
        };
        let error = match opened {
            Ok(opened) => return Ok((opened, reach.arrived(begun.elapsed()))),
            Err(error) => error,
        };
        let next = reach.next(&error, before).await;
        tell::failed(house, flow, exit, begun.elapsed(), &error, next);
        exit = next.ok_or(error)?;
    }
}

/// A flow that goes nowhere, told to the logs.
pub(super) fn closed(house: &House, flow: &Flow, nowhere: Nowhere) -> DialError {
    tell::refused(&house.shared, flow, &nowhere);
    DialError::us(Stage::Policy, io::Error::other(nowhere))
}

fn cut(limit: Duration) -> DialError {
    let why = format!("not ready within {} ms", limit.as_millis());
    DialError::server(Stage::Dial, io::Error::new(io::ErrorKind::TimedOut, why))
}

/// What a target may take beside, where the member's own readiness cannot be told from it.
const TARGET: Duration = Duration::from_millis(900);

struct Reach<'a> {
    house: &'a House,
    flow: &'a Flow,
    /// The balancers on the way, the outermost first.
    levels: Vec<Level>,
}

impl Reach<'_> {
    /// The outbound that a destination stands for right now. The levels are those of before where there is none.
    async fn descend(&mut self, to: &Dest) -> Result<OutboundId, Nowhere> {
        let depth = self.levels.len();
        let found = self.walk(to).await;
        if found.is_err() {
            self.levels.truncate(depth);
        }
        found
    }

    async fn walk(&mut self, to: &Dest) -> Result<OutboundId, Nowhere> {
        let house = self.house;
        let mut to = Cow::Borrowed(to);
        for _ in 0..STEPS {
            let id = match &*to {
                Dest::Closed(tag) => return Err(Nowhere::Missing(tag.clone())),
                Dest::Outbound(exit) => return Ok(*exit),
                Dest::Balancer(id) => *id,
            };
            let group = house.snapshot.group(id).ok_or(Nowhere::NoOutbound)?;
            let tag = || group.balancer.tag().clone();
            match self.pick(group, Tried::NONE).await {
                Pick::Member(member, hop) => {
                    let seat = self.seat(group, member);
                    self.levels.push(Level { id, member, tried: Tried::NONE, seat });
                    to = Cow::Owned(dest(hop));
                }
                Pick::Fallback => to = Cow::Borrowed(group.fallback.as_ref().ok_or_else(|| Nowhere::Empty(tag()))?),
                Pick::NoDatagrams => return Err(Nowhere::NoDatagrams(tag())),
                Pick::Spent => return Err(Nowhere::Spent(tag())),
                Pick::Empty | Pick::Wait => return Err(Nowhere::Empty(tag())),
            }
        }
        Err(Nowhere::NoOutbound)
    }

    /// A member, when the balancer is ready to name one.
    async fn pick(&self, group: &Group, tried: Tried) -> Pick {
        let (shared, balancer) = (&self.house.shared, &group.balancer);
        let ask = Ask { network: self.flow.network, key: key(balancer, self.flow), tried };
        let picked = balancer.pick(ask, &mut rand::rng());
        if picked != Pick::Wait {
            return picked;
        }
        if let Some(prober) = shared.prober.load_full() {
            Box::pin(prober.released(balancer.tag())).await;
        }
        // Nobody is left to release it if there is no prober: it must not hold flows for ever.
        balancer.release();
        balancer.pick(ask, &mut rand::rng())
    }

    fn seat(&self, group: &Group, member: usize) -> Option<InUse> {
        (!self.flow.probe).then(|| group.balancer.enter(member))
    }

    /// How long this attempt may take. Where no other way is left, an outbound has its own limits as always.
    fn limit(&self, exit: OutboundId) -> Option<Duration> {
        if self.flow.probe {
            return None;
        }
        let failures = usize::from(self.flow.meter.failures());
        let more = failures + 1 < Tried::MOST && self.levels.iter().any(|level| self.has_other(level));
        match (more, failures) {
            (false, 0) => None,
            (false, _) => Some(LIMIT),
            (true, _) => {
                let level = self.levels.last()?;
                let board = self.house.snapshot.group(level.id)?.balancer.board();
                let limit = board.members.get(level.member).and_then(|state| state.dial_limit);
                let waits = self.house.snapshot.exit(exit).is_some_and(|exit| exit.outbound.waits_for_target());
                let share = if waits { TARGET } else { Duration::ZERO };
                Some(limit.map_or(LIMIT, |limit| limit.saturating_add(share).min(LIMIT)))
            }
        }
    }

    /// Whether a retry in this balancer would find another member.
    fn has_other(&self, level: &Level) -> bool {
        let Some(group) = self.house.snapshot.group(level.id).filter(|group| self.may_retry(group)) else {
            return false;
        };
        let (members, board) = (group.balancer.members(), group.balancer.board());
        let ask = Ask { network: self.flow.network, tried: level.tried.and(level.member), ..Ask::TCP };
        let stays = group.fallback.is_none();
        let own = members.get(level.member).map(|member| member.hop);
        (0..members.len())
            .any(|at| ask.open(members, at) && Some(members[at].hop) != own && (stays || board.usable(at, ask.network)))
    }

    /// A measurement shows one way as it is.
    fn may_retry(&self, group: &Group) -> bool {
        group.guards && !self.flow.probe
    }

    /// Takes a failure, and names the next way if there is one. `before` is how many there were before this attempt.
    async fn next(&mut self, error: &DialError, before: u8) -> Option<OutboundId> {
        if error.blame != Blame::Server {
            return None;
        }
        let what = if error.source.kind() == io::ErrorKind::TimedOut { Evidence::TimedOut } else { Evidence::Refused };
        self.saw(what);
        let failures = usize::from(match self.flow.meter.failures() {
            // A way back to the rules has counted its own failures.
            counted if counted > before => counted,
            _ => self.flow.meter.fail(),
        });
        let retry = failures < Tried::MOST && !self.flow.meter.is_given();
        loop {
            if retry && let Some(exit) = self.other().await {
                return Some(exit);
            }
            // The whole balancer failed for this flow, which speaks against it where it is a member.
            self.levels.pop()?;
            self.saw(what);
        }
    }

    /// Another way by the innermost balancer.
    async fn other(&mut self) -> Option<OutboundId> {
        let house = self.house;
        loop {
            let level = self.levels.last()?;
            let group = house.snapshot.group(level.id).filter(|group| self.may_retry(group))?;
            let tried = level.tried.and(level.member);
            if tried.len() == level.tried.len() {
                return None;
            }
            let picked = self.pick(group, tried).await;
            let Pick::Member(member, hop) = picked else { return None };
            // A member may be listed twice, or lead where another leads.
            let members = group.balancer.members();
            let twin = (0..members.len()).any(|at| tried.contains(at) && members[at].hop == hop);
            let seat = if twin { None } else { self.seat(group, member) };
            let level = self.levels.last_mut()?;
            (level.member, level.tried, level.seat) = (member, tried, seat);
            if !twin && let Ok(exit) = self.descend(&dest(hop)).await {
                return Some(exit);
            }
        }
    }

    /// Tells the innermost balancer of its member.
    fn saw(&self, what: Evidence) {
        if let Some(seat) = self.levels.last().and_then(|level| level.seat.as_ref()) {
            seat.saw(self.flow.network, what);
        }
    }

    /// The way is open: every balancer hears of it, and counts the flow for as long as it runs. An association that was
    /// opened shows nothing yet of whether datagrams come through: most are opened without a word to anybody.
    fn arrived(self, took: Duration) -> Option<Presence> {
        let network = self.flow.network;
        let seats: Vec<InUse> = self.levels.into_iter().rev().filter_map(|level| level.seat).collect();
        if network != Network::Udp {
            seats.iter().for_each(|seat| seat.saw(network, Evidence::Dialed(took)));
        }
        Presence::new(seats, network)
    }
}

fn dest(hop: Hop) -> Dest {
    match hop {
        Hop::Outbound(id) => Dest::Outbound(id),
        Hop::Balancer(id) => Dest::Balancer(id),
    }
}

#[cfg(test)]
mod tests;
