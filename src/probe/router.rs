//! Balancers that are members of others: whether one of their own members is up is told upwards.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use super::choose::Watched;
use crate::addr::{Hop, Tag};

/// The newest word on each subject of a keeper. Newer words replace older ones, so nothing queues and nothing is lost.
#[derive(Debug, Default)]
pub struct Latest {
    words: Mutex<BTreeMap<usize, bool>>,
    news: Notify,
}

impl Latest {
    /// Says it of a subject.
    pub fn tell(&self, subject: usize, up: bool) {
        self.words.lock().unwrap_or_else(PoisonError::into_inner).insert(subject, up);
        self.news.notify_one();
    }

    /// Waits for news and takes them.
    pub async fn take(&self) -> BTreeMap<usize, bool> {
        loop {
            let words = std::mem::take(&mut *self.words.lock().unwrap_or_else(PoisonError::into_inner));
            if !words.is_empty() {
                return words;
            }
            self.news.notified().await;
        }
    }
}

/// Who wants to know of which balancer.
#[derive(Debug, Default)]
pub struct Router {
    above: HashMap<Tag, Vec<(Arc<Latest>, usize)>>,
}

impl Router {
    /// A way from each balancer to the keepers of which it is a subject; and one inbox a keeper.
    #[must_use]
    pub fn new(keepers: &[Watched]) -> (Self, Vec<Arc<Latest>>) {
        let inboxes: Vec<Arc<Latest>> = keepers.iter().map(|_| Arc::default()).collect();
        let mut router = Self::default();
        for (keeper, inbox) in keepers.iter().zip(&inboxes) {
            for (at, subject) in keeper.setup.subjects.iter().enumerate() {
                if matches!(subject.hop, Hop::Balancer(_)) {
                    router.above.entry(subject.tag.clone()).or_default().push((Arc::clone(inbox), at));
                }
            }
        }
        (router, inboxes)
    }

    /// Tells of a balancer.
    pub fn tell(&self, balancer: &Tag, up: bool) {
        for (inbox, subject) in self.above.get(balancer).into_iter().flatten() {
            inbox.tell(*subject, up);
        }
    }
}
