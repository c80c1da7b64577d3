//! The geodata lists of a configuration, with every fault at the place that names the list.

use std::collections::BTreeSet;

use crate::frontend::Loaded;
use crate::geo::{Assets, Found, ListError, Wanted};
use crate::model::lists::{Holds, Mention, mentions};
use crate::model::matcher::{DomainRule, IpRule, IpSet, ListRef};
use crate::shape::{Kind, Problem, Severity};

/// Loads the lists that a configuration names and tells of those that cannot be had. Those of a file that has not changed
/// since `before` are taken over.
#[must_use]
pub fn load_lists(loaded: &mut Loaded, assets: &Assets, before: Option<&Found>) -> Found {
    let Some(draft) = &loaded.draft else { return Found::default() };
    let mentions = mentions(draft);
    let found = assets.load(&Wanted::of(&mentions), before);
    let mut problems = vec![];
    let mut absent: BTreeSet<&str> = BTreeSet::new();
    for (list, holds, error) in &found.faults {
        // A file that is not there is told of once, whatever number of lists is missing with it.
        let whole = matches!(error, ListError::NoFile { .. } | ListError::Outside { .. } | ListError::File { .. });
        if whole && !absent.insert(&list.file) {
            continue;
        }
        let here = mentions.iter().filter(|mention| mention.list == list && mention.holds == *holds);
        problems.extend(here.take(if whole { 1 } else { usize::MAX }).map(|mention| told(loaded, mention, error)));
    }
    let skipped = |text: &String| Problem::at(&Default::default(), Severity::Warning, Kind::Value, text.clone());
    problems.extend(found.skipped.iter().map(skipped));
    loaded.tell(problems);
    found
}

/// The lists that a configuration names, as far as they are there; others hold nothing. For whoever is about to fetch them.
/// The second is the files that are not there.
#[must_use]
pub fn lists_there_are(loaded: &Loaded, assets: &Assets) -> (Found, BTreeSet<String>) {
    let Some(draft) = &loaded.draft else { return (Found::default(), BTreeSet::new()) };
    let wanted = Wanted::of(&mentions(draft));
    let mut found = assets.load(&wanted, None);
    found.lists.fill(&wanted);
    let absent = found.faults.drain(..).map(|(list, _, _)| list.file).collect();
    (found, absent)
}

fn told(loaded: &Loaded, mention: &Mention<'_>, error: &ListError) -> Problem {
    let text = text(mention.list, mention.holds);
    let mut problem = Problem::at(&mention.at, Severity::Error, Kind::Reference, format!("{text}: {error}"));
    problem.help = error.help();
    // The item is known; the reader wants the word.
    let means = |word: &str| word.to_lowercase().trim_start_matches('!').replace(":!", ":") == text;
    problem.span = loaded.sources.find(problem.span, &means).or(problem.span);
    problem
}

/// A list as a rule names it.
fn text(list: &ListRef, holds: Holds) -> String {
    match holds {
        Holds::Names => DomainRule::List(Box::new(list.clone())).to_string(),
        Holds::Networks => IpRule { negated: false, set: IpSet::List(Box::new(list.clone())) }.to_string(),
    }
}
