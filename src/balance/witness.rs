//! Who watches keepers: a journal, or whoever waits for a test that was ordered.

use std::fmt::Debug;
use std::sync::Arc;

use super::moment::Moment;
use super::seen::Seen;
use super::setup::Setup;
use super::story::Story;

/// Is told all that goes into a keeper and what comes of it, by whoever drives the keeper. Called in the midst of its
/// work: it must neither wait nor fail.
pub trait Witness: Debug + Send + Sync {
    /// A keeper begins.
    fn began(&self, setup: &Setup, now: Moment);

    /// A keeper tells a story.
    fn told(&self, setup: &Setup, story: &Story, now: Moment);

    /// A flow of a group shows something.
    fn saw(&self, setup: &Setup, group: usize, seen: Seen, now: Moment);
}

/// All who watch; nobody, where there are none.
#[derive(Debug, Clone, Default)]
pub struct Witnesses(pub Vec<Arc<dyn Witness>>);

impl Witness for Witnesses {
    fn began(&self, setup: &Setup, now: Moment) {
        self.0.iter().for_each(|one| one.began(setup, now));
    }

    fn told(&self, setup: &Setup, story: &Story, now: Moment) {
        self.0.iter().for_each(|one| one.told(setup, story, now));
    }

    fn saw(&self, setup: &Setup, group: usize, seen: Seen, now: Moment) {
        self.0.iter().for_each(|one| one.saw(setup, group, seen, now));
    }
}
