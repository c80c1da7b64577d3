//! Who watches keepers: a journal, or whoever waits for a test that was ordered.

use std::fmt::Debug;

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

/// Nobody watches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Witness for Nobody {
    fn began(&self, _: &Setup, _: Moment) {}

    fn told(&self, _: &Setup, _: &Story, _: Moment) {}

    fn saw(&self, _: &Setup, _: usize, _: Seen, _: Moment) {}
}
