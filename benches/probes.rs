//! What keeping a thousand members costs: light probes once a second, and full tests once a minute, in virtual time.
//!
//! `cargo bench --bench probes`. Only the keeper is measured: what it decides, the boards and the lines it makes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use etemenanki::addr::OutboundId;
use etemenanki::balance::{
    Act, Adaptive, Fail, Group, Guards, Job, Keeper, Load, Memory, Moment, Outcome, Plan, Rank, Rounds, Sample, Setup,
    Subject,
};

const MEMBERS: u32 = 1000;
const SPAN: Duration = Duration::from_secs(300);
const SECOND: Duration = Duration::from_secs(1);

fn main() {
    println!("{:<28} {:>10} {:>8} {:>14} {:>10}", "plan", "probes", "boards", "ns a probe", "% of core");
    let beats = Plan::Beats { interval: SECOND, timeout: SECOND, spread: true };
    let burst = Plan::Burst { interval: SECOND, timeout: SECOND, sampling: 10, connectivity: false };
    let rounds = Plan::Rounds(Rounds {
        interval: 60 * SECOND,
        timeout: 5 * SECOND,
        count: 1,
        warmup: vec![],
        stagger: 50 * SECOND,
        second: false,
    });
    let adaptive = Adaptive { window: 8, half_life: None, kappa: 1.0, gamma: 2.0, margin: 0.15, early: true };
    measure("random, beats of 1 s", Rank::None { returns: 1 }, beats.clone());
    measure("failover, beats of 1 s", Rank::List { returns: 1 }, beats.clone());
    measure("least_ping, beats of 1 s", Rank::Delay, beats);
    measure("least_load, bursts of 1 s", Rank::Load(Load::default()), burst);
    measure("adaptive, rounds of 60 s", Rank::Adaptive(adaptive), rounds);
}

/// Keeps for some virtual minutes and says what it cost.
fn measure(name: &str, rank: Rank, plan: Plan) {
    let mut keeper = Keeper::new(setup(rank, plan), &Memory::default(), Moment::default());
    let (mut ends, mut acts) = (BinaryHeap::new(), Vec::new());
    let (mut probes, mut boards, mut now) = (0u64, 0u64, Duration::ZERO);
    let start = Instant::now();
    loop {
        let wake = keeper.next_wake().map_or(SPAN, |at| at.max(now));
        let end = ends.peek().map_or(SPAN, |Reverse(Ended { at, .. })| *at);
        now = wake.min(end);
        if now >= SPAN {
            break;
        }
        let moment = Moment { steady: now, wall: now };
        let ended = if end <= wake { ends.pop() } else { None };
        match ended {
            Some(Reverse(Ended { job, .. })) => keeper.done(job, outcome(&job), moment, &mut acts),
            None => keeper.wake(moment, &mut acts),
        }
        for act in acts.drain(..) {
            match act {
                Act::Start(job) => {
                    probes += 1;
                    ends.push(Reverse(Ended { at: now + took(&job), job }));
                }
                Act::Publish(..) => boards += 1,
                _ => {}
            }
        }
    }
    let spent = start.elapsed();
    let share = 100.0 * spent.as_secs_f64() / SPAN.as_secs_f64();
    let each = spent.as_nanos() as f64 / probes.max(1) as f64;
    println!("{name:<28} {probes:>10} {boards:>8} {each:>14.0} {share:>10.3}");
}

/// A measurement that ends; the soonest comes first.
#[derive(PartialEq, Eq)]
struct Ended {
    at: Duration,
    job: Job,
}

impl Ord for Ended {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.job.id).cmp(&(other.at, other.job.id))
    }
}

impl PartialOrd for Ended {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

fn took(job: &Job) -> Duration {
    Duration::from_millis(20 + job.id.wrapping_mul(7919) % 180)
}

/// One in two hundred fails.
fn outcome(job: &Job) -> Outcome {
    let took = took(job);
    if (job.id + 193).is_multiple_of(200) {
        return Outcome::Failed { took, why: Fail::Timeout(took) };
    }
    Outcome::Done(Sample { bytes: 80_000, time: took, dial: took / 3, status: 200 })
}

fn setup(rank: Rank, plan: Plan) -> Setup {
    let subject = |at: u32| Subject {
        tag: format!("member-{at}").into(),
        hop: OutboundId(at).into(),
        watched: true,
        print: u64::from(at),
    };
    let group = Group {
        tag: "pool".into(),
        members: (0..MEMBERS as usize).collect(),
        weights: vec![100; MEMBERS as usize],
        rank,
        guards: true,
        wait: None,
        fenced: vec![],
    };
    Setup {
        subjects: (0..MEMBERS).map(subject).collect(),
        groups: vec![group],
        plan,
        guards: Guards::default(),
        idle: None,
        print: 1,
        seed: 1,
    }
}
