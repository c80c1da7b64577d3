use std::net::SocketAddr;

use super::*;
use crate::balance::Sample;
use crate::probe::plan::{Check, Order, Startup, read_url};

const SECOND: Duration = Duration::from_secs(1);

fn plan(count: u32) -> Option<Speed> {
    let url = read_url("http://a.example/").ok()?;
    let order = Order { url, timeout: 5 * SECOND, max_bytes: 1 << 24, accept: 200..=399, redirects: 10 };
    Some(Speed { interval: 600 * SECOND, count, order, startup: Startup::First })
}

struct Clock(Moment);

impl Clock {
    fn new() -> Self {
        Self(Moment { steady: Instant::now(), wall: SystemTime::UNIX_EPOCH })
    }

    fn after(&mut self, time: Duration) -> Moment {
        self.0 = Moment { steady: self.0.steady + time, wall: self.0.wall + time };
        self.0
    }
}

fn ok() -> Attempt {
    Attempt::Done(Sample { bytes: 1000, time: SECOND, dial: SECOND / 10, status: 200 })
}

fn board() -> Arc<Board> {
    Arc::new(Board::weighted([100, 100]))
}

#[test]
fn o1_all_members_start_together_and_the_next_round_follows_the_end_of_the_last() {
    let mut clock = Clock::new();
    let mut rounds = plan(2).map(|plan| Rounds::new(&plan, clock.0.steady)).expect("plan");
    assert_eq!(rounds.next_wake(), Some(clock.0.steady), "the first round is due at the start");
    let jobs = rounds.poll(clock.0, &board());
    assert_eq!(jobs, [0, 1].map(|member| Job { member, round: 1, attempt: 1 }));
    assert_eq!(rounds.next_wake(), None);
    assert_eq!(rounds.poll(clock.after(SECOND), &board()), [], "rounds never overlap");

    let next = Job { attempt: 2, ..jobs[0] };
    let step = rounds.done(jobs[0], ok(), clock.0);
    assert!(matches!(step, Progress::Running(Some(job), Some(_)) if job == next), "{step:?}");
    assert_eq!(rounds.done(next, ok(), clock.after(SECOND)), Progress::Running(None, None));
    rounds.done(jobs[1], ok(), clock.0);
    let end = clock.after(7 * SECOND);
    assert!(matches!(rounds.done(Job { attempt: 2, ..jobs[1] }, ok(), end), Progress::Closed(_)));
    assert_eq!(rounds.next_wake(), Some(end.steady + 600 * SECOND));
    assert_eq!(rounds.poll(clock.after(599 * SECOND), &board()), []);
    assert_eq!(rounds.poll(clock.after(SECOND), &board()).len(), 2);
}

#[test]
fn a_round_during_which_the_machine_slept_is_discarded_once() {
    let mut clock = Clock::new();
    let mut rounds = plan(1).map(|plan| Rounds::new(&plan, clock.0.steady)).expect("plan");
    for discarded in [true, false, true] {
        let start = rounds.next_wake().expect("waiting");
        clock.0.steady = start;
        let jobs = rounds.poll(clock.0, &board());
        rounds.done(jobs[0], ok(), clock.0);
        // The steady clock stood still, the wall clock did not.
        clock.0.wall += 3600 * SECOND;
        let end = rounds.done(jobs[1], ok(), clock.0);
        assert_eq!(end == Progress::Discarded, discarded);
        let pause = if discarded { 5 * SECOND } else { 600 * SECOND };
        assert_eq!(rounds.next_wake(), Some(start + pause));
    }
}

#[test]
fn a_late_result_of_an_older_round_is_ignored() {
    let mut clock = Clock::new();
    let mut rounds = plan(1).map(|plan| Rounds::new(&plan, clock.0.steady)).expect("plan");
    let jobs = rounds.poll(clock.0, &board());
    rounds.done(jobs[0], ok(), clock.0);
    assert!(matches!(rounds.done(jobs[1], ok(), clock.0), Progress::Closed(_)));
    assert_eq!(rounds.done(jobs[1], ok(), clock.0), Progress::Running(None, None));
    assert_eq!(rounds.done(Job { round: 9, ..jobs[1] }, ok(), clock.after(SECOND)), Progress::Running(None, None));
}

fn checks(interval: Duration, members: usize) -> Checks {
    let of = vec![Check::Tcp(SocketAddr::from(([127, 0, 0, 1], 9)).into()); members];
    Checks { interval, timeout: 5 * SECOND, returns: 1, of }
}

#[test]
fn beats_run_each_member_on_its_own_rhythm_and_the_first_at_once() {
    let start = Instant::now();
    let mut beats = Beats::new(&checks(30 * SECOND, 2), start);
    assert_eq!(beats.poll(start), [0, 1]);
    assert_eq!(beats.next_wake(), None);
    beats.done(0, start);
    beats.done(1, start + 5 * SECOND);
    assert_eq!(beats.next_wake(), Some(start + 30 * SECOND));
    assert_eq!(beats.poll(start + 30 * SECOND), [0]);
    assert_eq!(beats.next_wake(), Some(start + 35 * SECOND), "counted from the end of its own probe");
}

#[test]
fn an_interval_of_zero_or_of_ages_neither_spins_nor_overflows() {
    let start = Instant::now();
    let mut beats = Beats::new(&checks(Duration::ZERO, 1), start);
    beats.poll(start);
    beats.done(0, start);
    assert_eq!(beats.next_wake(), Some(start + Beats::LEAST_PAUSE));
    let mut beats = Beats::new(&checks(Duration::MAX, 1), start);
    beats.poll(start);
    beats.done(0, start);
    assert!(beats.next_wake().is_some());
}
