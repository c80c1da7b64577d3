//! Lists of geodata files that a config names, each compiled once and shared by all who name it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::names::Names;
use super::nets::Nets;
use crate::model::lists::{Holds, Mention};
use crate::model::matcher::ListRef;

/// Compiled lists by their names.
#[derive(Debug, Clone, Default)]
pub struct Lists {
    names: BTreeMap<ListRef, Arc<Names>>,
    nets: BTreeMap<ListRef, Arc<Nets>>,
}

impl Lists {
    /// A list of names.
    #[must_use]
    pub fn names(&self, list: &ListRef) -> Option<&Arc<Names>> {
        self.names.get(list)
    }

    /// A list of networks.
    #[must_use]
    pub fn nets(&self, list: &ListRef) -> Option<&Arc<Nets>> {
        self.nets.get(list)
    }

    /// Whether both hold the same sets, not only equal ones.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        fn same<T>(one: &BTreeMap<ListRef, Arc<T>>, other: &BTreeMap<ListRef, Arc<T>>) -> bool {
            let pairs = || one.iter().zip(other);
            one.len() == other.len() && pairs().all(|(one, other)| one.0 == other.0 && Arc::ptr_eq(one.1, other.1))
        }
        same(&self.names, &other.names) && same(&self.nets, &other.nets)
    }

    /// Takes a list over from another collection, if that has it.
    /// Lists that cannot be had hold nothing.
    pub fn fill(&mut self, wanted: &Wanted) {
        for list in &wanted.names {
            self.names.entry(list.clone()).or_default();
        }
        for list in &wanted.nets {
            self.nets.entry(list.clone()).or_default();
        }
    }

    pub(super) fn take_over(&mut self, from: &Self, list: &ListRef, holds: Holds) -> bool {
        match holds {
            Holds::Names => from.names(list).map(|set| self.put_names(list.clone(), Arc::clone(set))),
            Holds::Networks => from.nets(list).map(|set| self.put_nets(list.clone(), Arc::clone(set))),
        }
        .is_some()
    }

    /// Puts a list of names.
    pub fn put_names(&mut self, list: ListRef, names: Arc<Names>) {
        self.names.insert(list, names);
    }

    /// Puts a list of networks.
    pub fn put_nets(&mut self, list: ListRef, nets: Arc<Nets>) {
        self.nets.insert(list, nets);
    }
}

/// Which lists are named.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Of names.
    pub names: BTreeSet<ListRef>,
    /// Of networks.
    pub nets: BTreeSet<ListRef>,
}

impl Wanted {
    /// All that is mentioned.
    #[must_use]
    pub fn of(mentions: &[Mention<'_>]) -> Self {
        let of = |holds| mentions.iter().filter(move |one| one.holds == holds).map(|one| one.list.clone()).collect();
        Self { names: of(Holds::Names), nets: of(Holds::Networks) }
    }
}
