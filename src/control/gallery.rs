//! Where those stand who watch keepers for a while, such as somebody who ordered a test.

use tokio::sync::broadcast::{Receiver, Sender, channel};

use crate::balance::{Moment, Plan, Seen, Setup, Story, Witness};

/// A measurement that ended, as it was heard.
#[derive(Debug, Clone)]
pub struct Heard {
    /// The story of it.
    pub story: Story,
    /// How many attempts a test has in this keeper.
    pub attempts: u32,
}

/// Tells measurements to whoever listens, and costs nothing while nobody does.
#[derive(Debug)]
pub struct Gallery(Sender<Heard>);

/// Who is slower than so many measurements misses some.
const ROOM: usize = 4096;

impl Default for Gallery {
    fn default() -> Self {
        Self(channel(ROOM).0)
    }
}

impl Gallery {
    /// Listens from now on.
    #[must_use]
    pub fn listen(&self) -> Receiver<Heard> {
        self.0.subscribe()
    }
}

impl Witness for Gallery {
    fn began(&self, _: &Setup, _: Moment) {}

    fn told(&self, setup: &Setup, story: &Story, _: Moment) {
        if matches!(story, Story::Measured { .. }) && self.0.receiver_count() > 0 {
            let attempts = if let Plan::Rounds(rounds) = &setup.plan { rounds.count.max(1) } else { 1 };
            // The last listener may have gone in this moment.
            let _ = self.0.send(Heard { story: story.clone(), attempts });
        }
    }

    fn saw(&self, _: &Setup, _: usize, _: Seen, _: Moment) {}
}
