//! From a config to what runs. Nothing is opened here: whoever only wants to know whether a config could run asks this.

use std::sync::Arc;

use super::doors::door;
use super::error::{BuildError, name_of};
use super::exits::Maker;
use super::resolver::Resolver;
use super::snapshot::{Exit, Group, Levels, Rule, Snapshot};
use super::sniffing::Sniffing;
use crate::addr::{Hop, Network, OutboundId};
use crate::balance::Balancer;
use crate::inbound::Inbound;
use crate::model::config::{Config, LinkedBalancer};
use crate::model::outbound::Outbound as Written;
use crate::probe::{Plan, Watched};
use crate::route::Router;
use crate::tls::Crypto;

/// What a config becomes.
#[derive(Debug)]
pub(super) struct Built {
    pub(super) snapshot: Snapshot,
    pub(super) entries: Vec<Entry>,
    pub(super) watched: Vec<Watched>,
}

/// An inbound, and what it wants of the dispatcher.
#[derive(Debug)]
pub(super) struct Entry {
    /// Its tag, or its place.
    pub(super) name: String,
    pub(super) inbound: Arc<Inbound>,
    pub(super) sniffing: Option<Arc<Sniffing>>,
}

/// Makes everything that flows will need.
///
/// # Errors
/// [`BuildError`] names the first part that cannot run.
pub(super) fn build(config: &Config) -> Result<Built, BuildError> {
    let crypto = Crypto::default();
    let exits = exits(config, &crypto)?;
    let (groups, watched) = groups(config, &exits)?;
    let router = Router::compile(config.strategy, config.rules.iter().map(|rule| (rule.name.as_str(), &rule.when)))?;
    let snapshot = Snapshot {
        router,
        rules: config.rules.iter().map(|rule| Rule { name: rule.name.as_str().into(), to: rule.to.clone() }).collect(),
        default: config.default.clone(),
        exits,
        groups,
        resolver: Resolver::new(config.dns.as_ref()).map_err(BuildError::Hosts)?,
        levels: Levels::new(&config.policy),
    };
    Ok(Built { snapshot, entries: entries(config, &crypto)?, watched })
}

fn exits(config: &Config, crypto: &Crypto) -> Result<Box<[Exit]>, BuildError> {
    let maker = Maker { all: &config.outbounds, crypto };
    let one = |(at, written): (usize, &Written)| {
        let outbound = maker
            .exit(written)
            .map_err(|what| BuildError::Outbound { name: name_of("outbounds", at, &written.tag), what })?;
        Ok(Exit { tag: written.tag.clone(), outbound, strategy: written.target_strategy })
    };
    config.outbounds.iter().enumerate().map(one).collect()
}

fn groups(config: &Config, exits: &[Exit]) -> Result<(Box<[Group]>, Vec<Watched>), BuildError> {
    let carries = |hop: Hop| carries_datagrams(config, exits, hop);
    let server = |id: OutboundId| config.outbound(id).and_then(Written::probe_target);
    let (mut groups, mut watched) = (vec![], vec![]);
    for linked in &config.balancers {
        let LinkedBalancer { tag, fallback, guards, .. } = linked;
        let balancer = Arc::new(Balancer::of(linked, carries));
        let plan = Plan::of(linked, server).map_err(|source| BuildError::TestUrl { tag: tag.clone(), source })?;
        if plan != Plan::Nothing {
            watched.push(Watched { balancer: Arc::clone(&balancer), plan });
        }
        groups.push(Group { balancer, fallback: fallback.clone(), guards: *guards });
    }
    Ok((groups.into(), watched))
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

fn entries(config: &Config, crypto: &Crypto) -> Result<Vec<Entry>, BuildError> {
    let mut entries = vec![];
    for (at, written) in config.inbounds.iter().enumerate() {
        let name = name_of("inbounds", at, &written.tag);
        let bad = |what| BuildError::Inbound { name: name.clone(), what };
        let inbound = Arc::new(door(written, &config.policy, crypto).map_err(bad)?);
        let sniffing = Sniffing::compile(&written.sniffing).map_err(|error| bad(error.to_string()))?;
        entries.push(Entry { inbound, sniffing: sniffing.map(Arc::new), name });
    }
    Ok(entries)
}
