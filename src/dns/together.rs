//! Futures that are waited for all at once and within one task, so that one which is ready at once costs no switch.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

/// Some futures; dropped with those that are still open.
pub(super) struct Together<F>(Vec<Option<Pin<Box<F>>>>);

impl<F: Future> Together<F> {
    /// Of futures, each known by its place.
    pub(super) fn new(all: impl IntoIterator<Item = F>) -> Self {
        Self(all.into_iter().map(|one| Some(Box::pin(one))).collect())
    }

    /// The place and the outcome of the next one that ends, the first of those that are ready; nothing once all have ended.
    pub(super) async fn next(&mut self) -> Option<(usize, F::Output)> {
        poll_fn(|cx| {
            let mut open = false;
            for (place, slot) in self.0.iter_mut().enumerate() {
                let Some(one) = slot else { continue };
                if let Poll::Ready(outcome) = one.as_mut().poll(cx) {
                    *slot = None;
                    return Poll::Ready(Some((place, outcome)));
                }
                open = true;
            }
            if open { Poll::Pending } else { Poll::Ready(None) }
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::task::{Context, Waker};

    use super::*;

    #[test]
    fn those_that_are_ready_come_one_after_the_other_and_the_rest_is_waited_for() {
        let one = |n: u32| async move { if n == 1 { pending().await } else { ready(n).await } };
        let mut all = Together::new([one(0), one(1), one(2)]);
        let mut cx = Context::from_waker(Waker::noop());
        let mut next = || Box::pin(all.next()).as_mut().poll(&mut cx);
        assert_eq!((next(), next(), next()), (Poll::Ready(Some((0, 0))), Poll::Ready(Some((2, 2))), Poll::Pending));
        let mut none = Together::new(std::iter::empty::<std::future::Ready<()>>());
        assert_eq!(Box::pin(none.next()).as_mut().poll(&mut cx), Poll::Ready(None));
    }
}
