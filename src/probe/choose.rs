//! From a configuration to keepers: balancers whose probe settings are equal share one, so nothing is measured twice.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::known::Known;
use super::rank::{BadCost, rank};
use super::recipe::Recipe;
use super::url::BadUrl;
use super::what::Means;
use crate::addr::{Hop, Tag};
use crate::balance::{Balancer, Group, Guards, Setup, Subject};
use crate::model::balancer::{Startup, Strategy};
use crate::model::config::{Config, LinkedBalancer};
use crate::model::probing::Probing;

/// A keeper to be driven: what it is made of, what its measurements do, and whose boards it keeps.
#[derive(Debug, Clone)]
pub struct Watched {
    /// What the keeper is made of.
    pub setup: Setup,
    /// What its measurements do.
    pub means: Means,
    /// The balancers, as the setup's groups stand.
    pub balancers: Vec<Arc<Balancer>>,
}

/// A balancer whose members cannot be probed as it is written.
#[derive(Debug, thiserror::Error)]
#[error("balancer {balancer}: {why}")]
pub struct Unfit {
    /// The balancer.
    pub balancer: Tag,
    /// Why.
    #[source]
    pub why: Why,
}

/// What is wrong with the settings of a balancer.
#[derive(Debug, thiserror::Error)]
pub enum Why {
    /// An address that cannot be asked.
    #[error(transparent)]
    Url(#[from] BadUrl),
    /// A pattern of `costs`.
    #[error(transparent)]
    Cost(#[from] BadCost),
}

/// The keepers of all balancers, which stand as in the configuration.
///
/// # Errors
/// [`Unfit`] names the first balancer that cannot be probed as it is written.
pub fn choose(
    config: &Config,
    balancers: &[Arc<Balancer>],
    known: impl Fn(Hop) -> Known,
) -> Result<Vec<Watched>, Unfit> {
    let mut keepers: Vec<(Recipe, Watched)> = vec![];
    for (linked, balancer) in config.balancers.iter().zip(balancers) {
        let unfit = |why| Unfit { balancer: linked.tag.clone(), why };
        let recipe = Recipe::of(linked, &config.services).map_err(|url| unfit(url.into()))?;
        let place = keepers.iter().position(|(other, _)| *other == recipe).unwrap_or_else(|| {
            let setup = setup(&recipe);
            let means = Means { direct: recipe.direct.clone(), ..Means::default() };
            keepers.push((recipe, Watched { setup, means, balancers: vec![] }));
            keepers.len() - 1
        });
        let (recipe, watched) = &mut keepers[place];
        join(recipe, watched, (linked, balancer), config, &known).map_err(|cost| unfit(cost.into()))?;
    }
    Ok(keepers.into_iter().map(|(_, watched)| watched).collect())
}

fn setup(recipe: &Recipe) -> Setup {
    let mut hasher = DefaultHasher::new();
    format!("{recipe:?}").hash(&mut hasher);
    Setup {
        subjects: vec![],
        groups: vec![],
        plan: recipe.plan.clone(),
        guards: Guards { probes: recipe.guards_probe(), ..Guards::default() },
        idle: recipe.idle,
        print: hasher.finish(),
        seed: rand::random(),
    }
}

fn join(
    recipe: &Recipe,
    watched: &mut Watched,
    (linked, balancer): (&LinkedBalancer, &Arc<Balancer>),
    config: &Config,
    known: &impl Fn(Hop) -> Known,
) -> Result<(), BadCost> {
    let mut members = vec![];
    for member in balancer.members() {
        let subjects = &mut watched.setup.subjects;
        let place = subjects.iter().position(|subject| subject.hop == member.hop).unwrap_or_else(|| {
            let known = known(member.hop);
            let watches = recipe.watches(&member.tag, member.hop);
            subjects.push(Subject { tag: member.tag.clone(), hop: member.hop, watched: watches, print: known.print });
            watched.means.subjects.push(recipe.mean(&member.tag, &known));
            subjects.len() - 1
        });
        members.push(place);
    }
    let fenced = match &linked.strategy {
        Strategy::Hrw(hrw) => &hrw.fenced[..],
        _ => &[],
    };
    let fenced = (0..members.len()).filter(|&at| fenced.contains(&balancer.members()[at].tag)).collect();
    watched.setup.groups.push(Group {
        tag: linked.tag.clone(),
        weights: balancer.members().iter().map(|member| member.weight).collect(),
        rank: rank(&linked.strategy, balancer.members())?,
        guards: guarded(linked, config),
        wait: wait(&linked.strategy).filter(|_| members.len() > 1),
        members,
        fenced,
    });
    watched.balancers.push(Arc::clone(balancer));
    Ok(())
}

/// Random and round robin have no guards, but where nothing probes their members, a fallback is of use only if real dials
/// say who is dead (DECISIONS 8).
fn guarded(linked: &LinkedBalancer, config: &Config) -> bool {
    let by_chance = matches!(linked.strategy, Strategy::Random(_) | Strategy::RoundRobin(_));
    let blind = linked.probing(&config.services) == Probing::Flows;
    linked.guards || (by_chance && blind && linked.fallback.is_some())
}

fn wait(strategy: &Strategy) -> Option<std::time::Duration> {
    let (startup, wait) = match strategy {
        Strategy::Optimal(optimal) => (optimal.startup, optimal.startup_wait),
        Strategy::Adaptive(adaptive) => (adaptive.startup, adaptive.startup_wait),
        _ => return None,
    };
    (startup == Startup::Wait).then_some(wait.0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
