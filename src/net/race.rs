//! Several addresses of one server: in which order, and how many at once (RFC 8305).

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::model::sockopt::HappyEyeballs;

/// How addresses run against each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Race {
    /// How long an address may stay silent before the next is tried beside it.
    pub stagger: Duration,
    /// How many of one family before it is the other's turn; absent, all of them.
    pub interleave: Option<NonZeroUsize>,
    /// Most attempts at once; absent, all there are. While so many are silent only a failure lets the next one begin.
    pub most: Option<NonZeroUsize>,
}

impl Default for Race {
    fn default() -> Self {
        Self { stagger: STAGGER, interleave: Some(NonZeroUsize::MIN), most: None }
    }
}

/// How long an address may stay silent before the next is tried beside it (RFC 8305, section 5).
const STAGGER: Duration = Duration::from_millis(250);

/// What a configuration says. Where that turns the race off, the usual one goes on: a name's second address is worth trying.
impl From<&HappyEyeballs> for Race {
    fn from(eyes: &HappyEyeballs) -> Self {
        if !eyes.is_on() {
            return Self::default();
        }
        let count = |n: u32| usize::try_from(n).ok().and_then(NonZeroUsize::new);
        Self {
            stagger: Duration::from_millis(eyes.try_delay_ms),
            interleave: count(eyes.interleave),
            most: count(eyes.max_concurrent_try),
        }
    }
}

impl Race {
    /// The addresses by turns of family, beginning with that of the first; within a family they stay in order.
    fn order(&self, addresses: impl Iterator<Item = SocketAddr>) -> Vec<SocketAddr> {
        let all: Vec<_> = addresses.collect();
        let first_v4 = all.first().is_some_and(SocketAddr::is_ipv4);
        let turn = self.interleave.map_or(all.len(), NonZeroUsize::get);
        let (one, other): (Vec<_>, Vec<_>) = all.into_iter().partition(|at| at.is_ipv4() == first_v4);
        let mut mixed = Vec::with_capacity(one.len() + other.len());
        let (mut one, mut other) = (one.into_iter(), other.into_iter());
        while one.len() + other.len() > 0 {
            mixed.extend(one.by_ref().take(turn));
            mixed.extend(other.by_ref().take(turn));
        }
        mixed
    }

    /// What `connect` gives for the first address that answers.
    pub(super) async fn run<T, A>(
        &self,
        addresses: impl Iterator<Item = SocketAddr>,
        connect: impl Fn(SocketAddr) -> A,
    ) -> io::Result<T>
    where
        A: Future<Output = io::Result<T>> + Send,
    {
        let mut waiting = self.order(addresses).into_iter();
        let most = self.most.map_or(usize::MAX, NonZeroUsize::get);
        let mut running: Vec<Pin<Box<A>>> = Vec::new();
        let mut failed: Option<io::Error> = None;
        let mut stagger = pin!(sleep(self.stagger));
        poll_fn(|cx| {
            loop {
                let mut at = 0;
                while let Some(attempt) = running.get_mut(at) {
                    match attempt.as_mut().poll(cx) {
                        Poll::Pending => at += 1,
                        Poll::Ready(Ok(stream)) => return Poll::Ready(Ok(stream)),
                        Poll::Ready(Err(error)) => {
                            drop(running.swap_remove(at));
                            failed.get_or_insert(error);
                            // A failure calls for the next address at once.
                            stagger.as_mut().reset(Instant::now());
                        }
                    }
                }
                let full = running.len() >= most;
                if full || (!running.is_empty() && stagger.as_mut().poll(cx).is_pending()) {
                    return Poll::Pending;
                }
                match waiting.next() {
                    Some(next) => {
                        running.push(Box::pin(connect(next)));
                        stagger.as_mut().reset(Instant::now() + self.stagger);
                    }
                    None if running.is_empty() => {
                        let none = || io::Error::from(io::ErrorKind::AddrNotAvailable);
                        return Poll::Ready(Err(failed.take().unwrap_or_else(none)));
                    }
                    // All are on their way; nothing but they can wake us now.
                    None => return Poll::Pending,
                }
            }
        })
        .await
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::future::pending;
    use std::sync::Mutex;

    use super::*;

    fn eyes(interleave: u32, most: u32) -> Race {
        let eyes =
            HappyEyeballs { try_delay_ms: 100, interleave, max_concurrent_try: most, ..HappyEyeballs::default() };
        Race::from(&eyes)
    }

    #[test]
    fn families_take_turns() {
        let ordered = |race: Race, hosts: &str| {
            let all = hosts.split(' ').map(|host| match host.parse() {
                Ok(n) => SocketAddr::from(([10, 0, 0, n], 1)),
                Err(_) => format!("[2001:db8::{host}]:1").parse().unwrap(),
            });
            let names = race.order(all).into_iter().map(|at| match at {
                SocketAddr::V4(at) => at.ip().octets()[3].to_string(),
                SocketAddr::V6(at) => format!("{:x}", at.ip().segments()[7]),
            });
            names.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(ordered(Race::default(), "a b 1 c"), "a 1 b c");
        assert_eq!(ordered(Race::default(), "1 2 a b c"), "1 a 2 b c");
        assert_eq!(ordered(eyes(2, 4), "1 2 3 a b c"), "1 2 a b 3 c");
        assert_eq!(ordered(eyes(2, 4), "a b c 1 d"), "a b 1 c d");
        assert_eq!(ordered(eyes(0, 4), "1 a 2 b 3"), "1 2 3 a b");
        assert_eq!(ordered(eyes(9, 4), "a 1 b"), "a b 1");
    }

    #[test]
    fn a_race_that_is_off_is_the_usual_one() {
        let off = HappyEyeballs { interleave: 3, ..HappyEyeballs::default() };
        assert_eq!(Race::from(&off), Race::default());
        assert_eq!(eyes(1, 0), Race::default());
    }

    /// When each of four addresses was tried, in milliseconds, and which answered; `dead` refuse after 20 ms, `live`
    /// answers after 50 ms, and the others are black holes.
    async fn tried(race: &Race, dead: &[u8], live: Option<u8>) -> (Vec<(u8, u128)>, Option<u8>) {
        let (begun, tries) = (Instant::now(), Mutex::new(vec![]));
        let connect = |at: SocketAddr| {
            let SocketAddr::V4(at) = at else { unreachable!() };
            let n = at.ip().octets()[3];
            tries.lock().unwrap().push((n, begun.elapsed().as_millis()));
            let (refuses, answers) = (dead.contains(&n), live == Some(n));
            async move {
                match (refuses, answers) {
                    (true, _) => {
                        sleep(Duration::from_millis(20)).await;
                        Err(io::ErrorKind::ConnectionRefused.into())
                    }
                    (_, true) => {
                        sleep(Duration::from_millis(50)).await;
                        Ok(n)
                    }
                    _ => pending().await,
                }
            }
        };
        let addresses = (1..=4).map(|n| SocketAddr::from(([10, 0, 0, n], 1)));
        let won = tokio::time::timeout(Duration::from_secs(5), race.run(addresses, connect)).await;
        (tries.into_inner().unwrap(), won.ok().and_then(Result::ok))
    }

    #[tokio::test(start_paused = true)]
    async fn a_black_hole_keeps_the_next_waiting_for_the_stagger_alone() {
        assert_eq!(tried(&eyes(1, 4), &[], Some(2)).await, (vec![(1, 0), (2, 100)], Some(2)));
        assert_eq!(tried(&Race::default(), &[], Some(2)).await, (vec![(1, 0), (2, 250)], Some(2)));
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_than_so_many_run_at_once() {
        // Two black holes hold both places for ever.
        assert_eq!(tried(&eyes(1, 2), &[], Some(3)).await, (vec![(1, 0), (2, 100)], None));
        // One that fails makes room at once, long before the next turn of the clock.
        assert_eq!(tried(&eyes(1, 2), &[2], Some(3)).await, (vec![(1, 0), (2, 100), (3, 120)], Some(3)));
        assert_eq!(tried(&eyes(1, 1), &[1, 2, 3], Some(4)).await, (vec![(1, 0), (2, 20), (3, 40), (4, 60)], Some(4)));
        assert_eq!(tried(&eyes(1, 4), &[1, 2, 3, 4], None).await.1, None);
    }
}
