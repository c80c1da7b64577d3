//! From a config to what runs. Nothing is opened here: whoever only wants to know whether a config could run asks this.

use std::sync::Arc;

use super::diff::only_users_differ;
use super::doors::{common, door};
use super::error::{BuildError, name_of};
use super::exits::Maker;
use super::life::Life;
use super::pairs::{self, Fate, Pairs};
use super::snapshot::{Exit, Group, Levels, Rule, Snapshot};
use super::sniffing::Sniffing;
use crate::addr::{Hop, Network, OutboundId};
use crate::balance::Balancer;
use crate::dns::{Dns, Fakes, Given};
use crate::geo::Lists;
use crate::inbound::Inbound;
use crate::model::config::{Config, LinkedBalancer};
use crate::model::lists::{inbound_names_any, outbound_names_any};
use crate::model::outbound::Outbound as Written;
use crate::outbound::Outbound;
use crate::probe::{Known, Watched, choose};
use crate::route::Router;
use crate::tls::Crypto;

/// What a config becomes.
#[derive(Debug)]
pub(super) struct Built {
    pub(super) snapshot: Snapshot,
    /// What becomes of each inbound, in their order.
    pub(super) entries: Vec<Entry>,
    pub(super) watched: Vec<Watched>,
}

/// What runs already, for parts that go on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Before<'a> {
    pub(super) config: &'a Config,
    pub(super) snapshot: &'a Snapshot,
    /// Its inbounds, in their order.
    pub(super) inbounds: &'a [Arc<Inbound>],
    /// Whether the geodata lists are the same, so that what was compiled of them still holds.
    pub(super) same_lists: bool,
}

/// What becomes of an inbound.
#[derive(Debug)]
pub(super) enum Entry {
    /// Nothing: the one at this place goes on.
    Kept(usize),
    /// The one at this place goes on with the users of this.
    Users(usize, Made),
    /// The one at this place has new limits; its flows go on.
    Limits(usize, Made),
    /// It is new, or takes the place of that one.
    New(Option<usize>, Made),
}

impl Entry {
    /// The earlier inbound that goes on in it.
    pub(super) fn stays(&self) -> Option<usize> {
        match self {
            Self::Kept(at) | Self::Users(at, _) | Self::Limits(at, _) => Some(*at),
            Self::New(..) => None,
        }
    }

    /// What was made for it.
    pub(super) fn made(self) -> Option<Made> {
        match self {
            Self::Kept(_) => None,
            Self::Users(_, made) | Self::Limits(_, made) | Self::New(_, made) => Some(made),
        }
    }
}

/// An inbound, and what it wants of the dispatcher.
#[derive(Debug)]
pub(super) struct Made {
    /// Its tag, or its place.
    pub(super) name: String,
    pub(super) inbound: Arc<Inbound>,
    pub(super) sniffing: Option<Arc<Sniffing>>,
}

/// Makes everything that flows will need, but for the parts that go on.
///
/// # Errors
/// [`BuildError`] names the first part that cannot run.
pub(super) fn build(config: &Config, lists: &Lists, before: Option<Before<'_>>) -> Result<Built, BuildError> {
    let crypto = before.map_or_else(Crypto::default, |before| before.snapshot.crypto.renewed());
    let exits = exits(config, before, &crypto, lists)?;
    let (groups, watched) = groups(config, before, &exits)?;
    let router =
        Router::compile(config.strategy, config.rules.iter().map(|rule| (rule.name.as_str(), &*rule.when)), lists)?;
    let fakes = Fakes::new(&config.fake_dns, config.dns.as_ref(), before.map(|before| &before.snapshot.fakes));
    let snapshot = Snapshot {
        generation: before.map_or(0, |before| before.snapshot.generation + 1),
        router,
        rules: config.rules.iter().map(|rule| Rule { name: rule.name.as_str().into(), to: rule.to.clone() }).collect(),
        default: config.default.clone(),
        responders: responders(&exits),
        exits,
        groups,
        dns: Dns::new(
            config.dns.as_ref(),
            Given { lists, fakes: &fakes, crypto: &crypto },
            before.map(|before| &before.snapshot.dns),
        )
        .map_err(BuildError::Dns)?,
        fakes,
        levels: Levels::new(&config.policy),
        crypto,
    };
    let entries = entries(config, before, &snapshot.crypto, lists)?;
    Ok(Built { snapshot, entries, watched })
}

fn responders(exits: &[Exit]) -> Box<[OutboundId]> {
    let ids = (0..).map(OutboundId).zip(exits);
    ids.filter(|(_, exit)| matches!(*exit.outbound, Outbound::Responder(_))).map(|(id, _)| id).collect()
}

fn exits(
    config: &Config,
    before: Option<Before<'_>>,
    crypto: &Crypto,
    lists: &Lists,
) -> Result<Box<[Exit]>, BuildError> {
    let levels = Levels::new(&config.policy);
    let maker = Maker { all: &config.outbounds, crypto, lists, levels: &levels };
    let kept = before.map(|before| Kept { before, now: config, pairs: pairs::outbounds(before.config, config) });
    let one = |(at, written): (usize, &Written)| {
        let (life, running) = kept.as_ref().map(|kept| kept.parts(at)).unwrap_or_default();
        let made = |what| BuildError::Outbound { name: name_of("outbounds", at, &written.tag), what };
        let outbound = match running {
            Some(running) => running,
            None => Arc::new(maker.exit(written).map_err(made)?),
        };
        let life = life.unwrap_or_default();
        Ok(Exit { tag: written.tag.clone(), outbound, strategy: written.target_strategy, life })
    };
    config.outbounds.iter().enumerate().map(one).collect()
}

/// Which outbounds go on.
struct Kept<'a> {
    before: Before<'a>,
    now: &'a Config,
    pairs: Pairs,
}

impl Kept<'_> {
    /// The life and the running object of an outbound, as far as it goes on. One that dials through another knows that by its
    /// place, so it is made anew where that has moved; its flows do not notice.
    fn parts(&self, at: usize) -> (Option<Arc<Life>>, Option<Arc<Outbound>>) {
        let old = self.pairs.fates.get(at).and_then(|fate| fate.same());
        let Some(exit) = old.and_then(|old| self.before.snapshot.exits.get(old)) else { return (None, None) };
        let same_lists =
            self.before.same_lists || self.now.outbounds.get(at).is_none_or(|one| !outbound_names_any(one));
        // Of the policy this kind alone keeps something itself.
        let same_limits = !matches!(*exit.outbound, Outbound::Dns(_)) || self.before.config.policy == self.now.policy;
        (
            Some(Arc::clone(&exit.life)),
            (same_lists && same_limits && self.runs_on(at)).then(|| Arc::clone(&exit.outbound)),
        )
    }

    fn runs_on(&self, mut at: usize) -> bool {
        // A ring was refused at load; this bounds the walk all the same.
        for _ in 0..self.now.outbounds.len() {
            let Some(old) = self.pairs.fates.get(at).and_then(|fate| fate.same()) else { return false };
            match (behind(self.before.config, old), behind(self.now, at)) {
                (None, None) => return true,
                (Some(was), Some(is)) if was == is => at = is,
                _ => return false,
            }
        }
        false
    }
}

/// The place of the outbound through which one dials.
fn behind(config: &Config, at: usize) -> Option<usize> {
    let chain = config.outbounds.get(at)?.chained()?;
    config.outbounds.iter().position(|other| other.tag == *chain.tag)
}

fn groups(
    config: &Config,
    before: Option<Before<'_>>,
    exits: &[Exit],
) -> Result<(Box<[Group]>, Vec<Watched>), BuildError> {
    let carries_udp = |hop: Hop| carries_datagrams(config, exits, hop);
    let carries = |id: OutboundId, network| exits.get(id.index()).is_some_and(|exit| exit.outbound.carries(network));
    let mut groups = vec![];
    for linked in &config.balancers {
        let old = before.and_then(|before| earlier(before, linked));
        let balancer = match old {
            Some((old, was)) if old == linked && same_members(before, exits, linked) => was,
            old => {
                let new = Balancer::of(linked, carries_udp);
                Arc::new(match old {
                    Some((_, was)) => new.resume(&was),
                    None => new,
                })
            }
        };
        groups.push(Group { balancer, fallback: linked.fallback.clone(), guards: linked.guards });
    }
    let balancers: Vec<_> = groups.iter().map(|group| Arc::clone(&group.balancer)).collect();
    let known = |hop: Hop| {
        let id = if let Hop::Outbound(id) = hop { Some(id) } else { None };
        Known {
            server: id.and_then(|id| config.outbound(id)).and_then(Written::probe_target),
            only_udp: id.is_some_and(|id| carries(id, Network::Udp) && !carries(id, Network::Tcp)),
            print: config.print_of(hop),
        }
    };
    Ok((groups.into(), choose(config, &balancers, known)?))
}

/// Whether datagrams can leave here; by a balancer, if they can by one of its members. A config holds no rings.
fn carries_datagrams(config: &Config, exits: &[Exit], hop: Hop) -> bool {
    match hop {
        Hop::Outbound(id) => exits.get(id.index()).is_some_and(|exit| exit.outbound.carries(Network::Udp)),
        Hop::Balancer(id) => {
            let members = config.balancers.get(id.index()).into_iter().flat_map(|inner| &inner.members);
            members.into_iter().any(|member| carries_datagrams(config, exits, member.hop))
        }
    }
}

/// The balancer that had the tag before.
fn earlier<'a>(before: Before<'a>, now: &LinkedBalancer) -> Option<(&'a LinkedBalancer, Arc<Balancer>)> {
    let at = before.config.balancers.iter().position(|old| old.tag == now.tag)?;
    Some((before.config.balancers.get(at)?, Arc::clone(&before.snapshot.groups.get(at)?.balancer)))
}

/// Whether each member is the outbound that stood at its place before: what is known of it then still holds.
fn same_members(before: Option<Before<'_>>, exits: &[Exit], now: &LinkedBalancer) -> bool {
    let old = before.map(|before| &before.snapshot.exits);
    let same = |id: OutboundId| {
        let old = old.and_then(|exits| exits.get(id.index()));
        old.zip(exits.get(id.index())).is_some_and(|(old, new)| Arc::ptr_eq(&old.life, &new.life))
    };
    now.members.iter().all(|member| member.outbound().is_none_or(same))
}

fn entries(
    config: &Config,
    before: Option<Before<'_>>,
    crypto: &Crypto,
    lists: &Lists,
) -> Result<Vec<Entry>, BuildError> {
    let pairs = before.map(|before| pairs::inbounds(before.config, config));
    let mut entries = vec![];
    for (at, written) in config.inbounds.iter().enumerate() {
        let name = name_of("inbounds", at, &written.tag);
        let bad = |what| BuildError::Inbound { name: name.clone(), what };
        let made = || {
            let inbound = Arc::new(door(written, &config.policy, crypto).map_err(bad)?);
            let sniffing = Sniffing::compile(&written.sniffing, lists).map_err(|error| bad(error.to_string()))?;
            Ok::<_, BuildError>(Made { inbound, sniffing: sniffing.map(Arc::new), name: name.clone() })
        };
        let fate = pairs.as_ref().map_or(Fate::New, |pairs| pairs.fates[at]);
        let old = before.zip(fate.old());
        let same_limits = || {
            let runs = old.and_then(|(before, at)| before.inbounds.get(at));
            runs.is_some_and(|inbound| inbound.common == common(written, &config.policy))
        };
        let same_lists = |named: bool| !named || before.is_some_and(|before| before.same_lists);
        let only_users =
            |at: usize| before.is_some_and(|before| only_users_differ(&before.config.inbounds[at], written));
        entries.push(match fate {
            Fate::Same(old) if same_limits() && same_lists(inbound_names_any(written)) => Entry::Kept(old),
            Fate::Same(old) => Entry::Limits(old, made()?),
            Fate::Changed(old) if same_limits() && only_users(old) => Entry::Users(old, made()?),
            Fate::Changed(old) => Entry::New(Some(old), made()?),
            Fate::New => Entry::New(None, made()?),
        });
    }
    Ok(entries)
}
