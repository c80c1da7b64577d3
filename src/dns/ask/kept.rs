//! The connection to a server that is kept between questions.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::timeout;

use super::fault::Fault;
use super::question::Question;
use crate::dns::message::Reply;

/// A connection that carries many questions; each copy is the same one.
pub(super) trait Link: Clone + Send + Sync {
    /// Whether it takes another question.
    fn is_open(&self) -> bool;

    /// Asks, for as long as whoever asks has patience.
    fn ask(&self, question: Question<'_>) -> impl Future<Output = Result<Reply, Fault>> + Send;
}

/// The connection that is kept, if there is one.
pub(super) struct Kept<L>(Mutex<Held<L>>);

struct Held<L> {
    link: Option<L>,
    /// Counts the connections.
    serial: u64,
}

/// A connection as one question finds it.
struct Found<L> {
    link: L,
    serial: u64,
    fresh: bool,
}

impl<L: Link> Kept<L> {
    /// None yet.
    pub(super) fn new() -> Self {
        Self(Mutex::new(Held { link: None, serial: 0 }))
    }

    /// Asks by the connection that is there, or by one that is opened for it. One that was there may have died without a
    /// word, so it has half of the time; then, and where it turns out to be dead, the question goes by a fresh one.
    pub(super) async fn ask<O>(
        &self,
        question: Question<'_>,
        limit: Duration,
        open: impl Fn() -> O,
    ) -> Result<Reply, Fault>
    where
        O: Future<Output = Result<L, Fault>>,
    {
        let found = self.link(None, &open).await?;
        if found.fresh {
            return found.link.ask(question).await;
        }
        match timeout(limit / 2, found.link.ask(question)).await {
            Ok(Err(fault)) if fault.is_of_connection() => tracing::debug!(target: "dns", "{fault}: asking anew"),
            Ok(said) => return said,
            Err(_) => tracing::debug!(target: "dns", "a kept connection is silent: asking anew"),
        }
        self.link(Some(found.serial), &open).await?.link.ask(question).await
    }

    /// A connection other than `dead`. Of many questions that want one, the first opens it and the others wait.
    async fn link<O>(&self, dead: Option<u64>, open: &impl Fn() -> O) -> Result<Found<L>, Fault>
    where
        O: Future<Output = Result<L, Fault>>,
    {
        let mut held = self.0.lock().await;
        if let Some(link) = held.link.as_ref().filter(|link| link.is_open() && dead != Some(held.serial)) {
            return Ok(Found { link: link.clone(), serial: held.serial, fresh: false });
        }
        held.link = None;
        let link = open().await?;
        held.serial += 1;
        held.link = Some(link.clone());
        Ok(Found { link, serial: held.serial, fresh: true })
    }
}

impl<L> fmt::Debug for Kept<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::addr::DomainName;
    use crate::dns::family::Family;

    /// A connection that answers as told, and says by its code which one it was.
    #[derive(Clone)]
    struct Told(u16, Result<(), Option<Fault>>);

    impl Link for Told {
        fn is_open(&self) -> bool {
            true
        }

        async fn ask(&self, _: Question<'_>) -> Result<Reply, Fault> {
            match &self.1 {
                Ok(()) => Ok(Reply { ips: vec![], ttl: 1, code: self.0, truncated: false }),
                Err(Some(fault)) => Err(fault.clone()),
                Err(None) => std::future::pending().await,
            }
        }
    }

    async fn asked(
        kept: &Kept<Told>,
        opened: &Arc<AtomicUsize>,
        what: Result<(), Option<Fault>>,
    ) -> Result<u16, Fault> {
        let name = DomainName::new("a.example").unwrap();
        let question = Question { name: &name, family: Family::V4, client: None };
        let open = || async {
            let number = opened.fetch_add(1, Ordering::SeqCst);
            Ok(Told(u16::try_from(number).unwrap(), what.clone()))
        };
        kept.ask(question, Duration::from_secs(4), open).await.map(|reply| reply.code)
    }

    #[tokio::test(start_paused = true)]
    async fn a_dead_connection_costs_one_more_try_and_a_word_of_the_server_none() {
        for (first, then) in [(Err(None), 1), (Err(Some(Fault::Ended)), 1), (Ok(()), 0)] {
            let (kept, opened) = (Kept::new(), Arc::default());
            // The one that is there.
            let dead = kept.link(None, &|| async { Ok(Told(9, first.clone())) }).await.unwrap();
            assert!(dead.fresh);
            let code = asked(&kept, &opened, Ok(())).await.unwrap();
            assert_eq!((code, opened.load(Ordering::SeqCst)), (if then == 1 { 0 } else { 9 }, then), "{first:?}");
        }
        let (kept, opened) = (Kept::new(), Arc::default());
        kept.link(None, &|| async { Ok(Told(9, Err(Some(Fault::Status(500))))) }).await.unwrap();
        assert_eq!(asked(&kept, &opened, Ok(())).await, Err(Fault::Status(500)));
        let (kept, opened) = (Kept::new(), Arc::default());
        assert_eq!(asked(&kept, &opened, Err(Some(Fault::Ended))).await, Err(Fault::Ended), "a fresh one has one try");
        assert_eq!(opened.load(Ordering::SeqCst), 1);
    }
}
