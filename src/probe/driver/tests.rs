//! Whole rounds under a paused clock: a day of timeouts takes milliseconds, and nothing here touches a network.

use std::collections::HashMap;
use std::io;
use std::sync::Mutex;

use rand::SeedableRng;
use rand::rngs::SmallRng;
use tokio::time::{Instant as Now, sleep};
use tracing::Level;

use super::*;
use crate::addr::{OutboundId, Tag, Target};
use crate::balance::{Ask, Exit, Life, Member, Pick, Strategy};
use crate::flow::BoxFuture;
use crate::probe::plan::{Order, Plan, Startup, read_url};
use crate::probe::prober::{Prober, Watched};

const SECOND: Duration = Duration::from_secs(1);

/// What a member does when measured.
#[derive(Clone, Copy)]
enum Act {
    /// Sends so many bytes in so many milliseconds.
    Serve(u64, u64),
    /// Fails after so many milliseconds.
    Refuse(u64),
    /// Never answers.
    Hang,
    /// Breaks the measurement itself.
    Panic,
}

/// A measurement without a network: members act as the test says, and every start is written down.
#[derive(Default)]
struct Stage {
    acts: Mutex<HashMap<String, Act>>,
    starts: Mutex<Vec<(String, Now)>>,
}

impl Stage {
    fn with(acts: &[(&str, Act)]) -> Arc<Self> {
        let stage = Arc::new(Self::default());
        acts.iter().for_each(|&(tag, act)| stage.set(tag, act));
        stage
    }

    fn set(&self, tag: &str, act: Act) {
        self.acts.lock().unwrap().insert(tag.into(), act);
    }

    /// Milliseconds since `begin` at which the member was measured.
    fn starts(&self, tag: &str, begin: Now) -> Vec<u128> {
        let starts = self.starts.lock().unwrap();
        starts.iter().filter(|(whose, _)| whose == tag).map(|(_, at)| (*at - begin).as_millis()).collect()
    }

    async fn play(&self, tag: &str) -> Result<Sample, Failure> {
        self.starts.lock().unwrap().push((tag.into(), Now::now()));
        let act = self.acts.lock().unwrap().get(tag).copied().unwrap_or(Act::Hang);
        match act {
            Act::Serve(bytes, millis) => {
                let time = Duration::from_millis(millis);
                sleep(time).await;
                Ok(Sample { bytes, time, dial: time / 10, status: 200 })
            }
            Act::Refuse(millis) => {
                sleep(Duration::from_millis(millis)).await;
                Err(Failure::Status(403))
            }
            Act::Hang => pending().await,
            Act::Panic => panic!("a measurement broke, as this test wants"),
        }
    }
}

impl Measure for Stage {
    fn fetch<'a>(&'a self, member: &'a Member, _: &'a Order) -> BoxFuture<'a, Result<Sample, Failure>> {
        Box::pin(self.play(member.tag.as_str()))
    }

    fn connect<'a>(&'a self, endpoint: &'a Target) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move { self.play(&endpoint.port.to_string()).await.map(|_| ()) })
    }
}

/// A running balancer with its stage.
struct Scene {
    balancer: Arc<Balancer>,
    stage: Arc<Stage>,
    prober: Prober,
    begin: Now,
}

impl Scene {
    fn new(strategy: Strategy, members: &[(&str, u32)], plan: Plan, acts: &[(&str, Act)]) -> Self {
        let members = members
            .iter()
            .zip(0..)
            .map(|(&(tag, weight), id)| Member { tag: tag.into(), hop: OutboundId(id).into(), udp: true, weight })
            .collect();
        let balancer = Arc::new(Balancer::new("pool".into(), members, strategy, Exit::None));
        let stage = Stage::with(acts);
        let watched = vec![Watched { balancer: Arc::clone(&balancer), plan }];
        let measure = Arc::clone(&stage) as Arc<dyn Measure>;
        let prober = Prober::with(watched, &measure, &CancellationToken::new());
        Self { balancer, stage, prober, begin: Now::now() }
    }

    fn optimal(members: &[(&str, u32)], count: u32, acts: &[(&str, Act)]) -> Self {
        Self::new(Strategy::Optimal, members, Plan::Speed(speed(count, Startup::First)), acts)
    }

    fn picked(&self) -> Option<String> {
        match self.balancer.pick(Ask::TCP, &mut SmallRng::seed_from_u64(1)) {
            Pick::Member(at, _) => Some(self.balancer.members()[at].tag.to_string()),
            _ => None,
        }
    }

    /// Moves the clock to so many milliseconds after the start, and lets everything that is due happen.
    async fn at(&self, millis: u64) {
        sleep_until(self.begin + Duration::from_millis(millis)).await;
        // One step past the moment, so that what happens at it has happened.
        sleep(Duration::from_millis(1)).await;
    }
}

fn speed(count: u32, startup: Startup) -> Speed {
    let url = read_url("https://www.google.com").unwrap();
    let order = Order { url, timeout: 5 * SECOND, max_bytes: 16 << 20, accept: 200..=399, redirects: 10 };
    Speed { interval: 600 * SECOND, count, order, startup }
}

fn checks(ports: &[u16], returns: u32) -> Plan {
    let of = ports.iter().map(|&port| Check::Tcp(std::net::SocketAddr::from(([127, 0, 0, 1], port)).into())).collect();
    Plan::Checks(Checks { interval: 30 * SECOND, timeout: 5 * SECOND, returns, of })
}

/// Collects the log of this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn begin(level: Level) -> (Self, tracing::subscriber::DefaultGuard) {
        let log = Self::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(level)
            .with_ansi(false)
            .with_target(false)
            .without_time()
            .with_writer(move || writer.clone())
            .finish();
        (log, tracing::subscriber::set_default(subscriber))
    }

    fn lines(&self) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        text.lines().map(|line| line.trim().to_owned()).collect()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn o1_members_start_together_and_rounds_follow_the_end_of_the_last() {
    let acts = [("a", Act::Serve(1000, 200)), ("b", Act::Serve(1000, 900)), ("c", Act::Hang)];
    let scene = Scene::optimal(&[("a", 100), ("b", 100), ("c", 100)], 1, &acts);
    scene.at(1_300_000).await;
    for tag in ["a", "b", "c"] {
        let starts = scene.stage.starts(tag, scene.begin);
        // The slowest takes the whole time-out of 5 s, then the interval of 600 s passes.
        assert_eq!(starts.len(), 3, "{tag}");
        for (start, want) in starts.iter().zip([0, 605_000, 1_210_000]) {
            assert!(start.abs_diff(want) <= 50, "{tag}: {starts:?}");
        }
    }
    assert_eq!(scene.balancer.board().round, 3);
}

#[tokio::test(start_paused = true)]
async fn o3_the_limit_is_per_attempt_and_attempts_follow_each_other() {
    let scene = Scene::optimal(&[("a", 100), ("b", 100)], 3, &[("a", Act::Serve(1000, 1000)), ("b", Act::Hang)]);
    scene.at(16_000).await;
    assert_eq!(scene.stage.starts("a", scene.begin), [0, 1000, 2000]);
    assert_eq!(scene.stage.starts("b", scene.begin).len(), 3);
    let board = scene.balancer.board();
    assert_eq!((board.round, board.members[0].score, board.members[1].score), (1, Some(100_000.0), Some(0.0)));
    assert_eq!((board.members[0].life, board.members[1].life), (Life::Up, Life::Down));
    assert_eq!(board.members[1].time, 15 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn o9_the_winner_serves_until_the_next_round_ends() {
    let scene = Scene::optimal(&[("a", 100), ("b", 100)], 1, &[("a", Act::Serve(9, 900)), ("b", Act::Serve(90, 900))]);
    scene.at(1000).await;
    assert_eq!(scene.picked().as_deref(), Some("b"));
    scene.stage.set("b", Act::Refuse(1));
    scene.at(600_900).await;
    assert_eq!(scene.picked().as_deref(), Some("b"), "the next round runs, but has not ended");
    scene.at(602_000).await;
    assert_eq!(scene.picked().as_deref(), Some("a"));
}

#[tokio::test(start_paused = true)]
async fn o11_all_zero_keeps_the_serving_member_and_is_said_once() {
    let (log, _guard) = Log::begin(Level::INFO);
    let scene = Scene::optimal(&[("a", 100), ("b", 100)], 1, &[("a", Act::Serve(9, 900)), ("b", Act::Serve(90, 900))]);
    scene.at(1000).await;
    scene.stage.set("a", Act::Refuse(1));
    scene.stage.set("b", Act::Hang);
    scene.at(3_000_000).await;
    assert_eq!(scene.picked().as_deref(), Some("b"));
    let zero: Vec<_> = log.lines().into_iter().filter(|line| line.contains("every score is 0")).collect();
    assert_eq!(
        zero,
        ["WARN optimal pool round 2: serving b score=0 (was b score=0): every score is 0, the serving member stays"]
    );
}

#[tokio::test(start_paused = true)]
async fn o12_before_any_result_the_first_serves_or_flows_wait() {
    let acts = [("a", Act::Hang), ("b", Act::Serve(90, 1500))];
    let first = Scene::optimal(&[("a", 100), ("b", 100)], 1, &acts);
    assert_eq!(first.picked().as_deref(), Some("a"));
    first.prober.released(&"pool".into()).await;
    assert_eq!(first.begin.elapsed(), Duration::ZERO, "nothing to wait for");

    let plan = Plan::Speed(speed(1, Startup::Wait(2 * SECOND)));
    let wait = Scene::new(Strategy::Optimal, &[("a", 100), ("b", 100)], plan.clone(), &acts);
    assert_eq!(wait.picked(), None, "held from the first moment");
    wait.prober.released(&"pool".into()).await;
    assert_eq!(wait.begin.elapsed().as_millis(), 1500, "until the first success");
    assert_eq!(wait.picked().as_deref(), Some("b"));

    let slow = Scene::new(Strategy::Optimal, &[("a", 100), ("b", 100)], plan.clone(), &[]);
    slow.prober.released(&"pool".into()).await;
    assert_eq!(slow.begin.elapsed().as_millis(), 2000, "or two seconds");
    assert_eq!(slow.picked().as_deref(), Some("a"));

    let gone = Scene::new(Strategy::Optimal, &[("a", 100), ("b", 100)], plan, &[]);
    gone.prober.stop().await;
    assert!(matches!(gone.balancer.pick(Ask::TCP, &mut SmallRng::seed_from_u64(1)), Pick::Member(0, _)));
}

#[tokio::test(start_paused = true)]
async fn o13_the_first_success_of_the_first_round_serves_at_once() {
    let acts = [("a", Act::Hang), ("b", Act::Serve(9, 300)), ("c", Act::Serve(9_000_000, 2000))];
    let scene = Scene::optimal(&[("a", 100), ("b", 100), ("c", 100)], 1, &acts);
    scene.at(200).await;
    assert_eq!(scene.picked().as_deref(), Some("a"));
    scene.at(300).await;
    assert_eq!(scene.picked().as_deref(), Some("b"));
    scene.at(4900).await;
    assert_eq!(scene.picked().as_deref(), Some("b"), "until the round ends");
    scene.at(5000).await;
    assert_eq!(scene.picked().as_deref(), Some("c"));
}

#[tokio::test(start_paused = true)]
async fn o14_a_single_member_is_still_tested() {
    let scene = Scene::optimal(&[("a", 100)], 1, &[("a", Act::Serve(500, 500))]);
    assert_eq!(scene.picked().as_deref(), Some("a"));
    scene.at(601_000).await;
    assert_eq!(scene.stage.starts("a", scene.begin), [0, 600_500]);
    assert_eq!(scene.balancer.board().members[0].score, Some(100_000.0));
    scene.stage.set("a", Act::Refuse(0));
    scene.at(1_300_000).await;
    assert_eq!(scene.picked().as_deref(), Some("a"));
}

#[tokio::test(start_paused = true)]
async fn o18_the_log_shows_every_attempt_every_term_and_every_change() {
    let (log, _guard) = Log::begin(Level::DEBUG);
    let acts = [("near", Act::Serve(81_920, 800)), ("far", Act::Serve(81_920, 400))];
    let scene = Scene::optimal(&[("near", 300), ("far", 100)], 1, &acts);
    scene.at(1000).await;
    scene.stage.set("near", Act::Refuse(5));
    scene.at(602_000).await;
    assert_eq!(
        log.lines(),
        [
            "DEBUG optimal pool round 1: member far attempt 1 bytes=81920 time_ms=400 dial_ms=40 status=200",
            "INFO optimal pool round 1: serving far score=20480000 (was near score=?): first success of the first round",
            "DEBUG optimal pool round 1: member near attempt 1 bytes=81920 time_ms=800 dial_ms=80 status=200",
            "DEBUG optimal pool round 1: member near bytes=81920 time_ms=800 rate=102400B/s weight=300 score=30720000",
            "DEBUG optimal pool round 1: member far bytes=81920 time_ms=400 rate=204800B/s weight=100 score=20480000",
            "INFO optimal pool round 1: serving near score=30720000 (was far score=20480000): highest score",
            "DEBUG optimal pool round 2: member near attempt 1 failed after 5 ms: status 403 does not count as success",
            "DEBUG optimal pool round 2: member far attempt 1 bytes=81920 time_ms=400 dial_ms=40 status=200",
            "DEBUG optimal pool round 2: member near bytes=0 time_ms=5 rate=0B/s weight=300 score=0",
            "DEBUG optimal pool round 2: member far bytes=81920 time_ms=400 rate=204800B/s weight=100 score=20480000",
            "INFO optimal pool round 2: serving far score=20480000 (was near score=0): highest score",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_measurement_that_breaks_counts_as_failed_and_the_round_still_ends() {
    let scene = Scene::optimal(&[("a", 100), ("b", 100)], 1, &[("a", Act::Panic), ("b", Act::Serve(9, 100))]);
    scene.at(200).await;
    assert_eq!(scene.balancer.board().round, 1);
    assert_eq!(scene.picked().as_deref(), Some("b"));
}

#[tokio::test(start_paused = true)]
async fn stopping_ends_running_tests_at_once() {
    let scene = Scene::optimal(&[("a", 100)], 1, &[("a", Act::Hang)]);
    scene.at(10).await;
    scene.prober.stop().await;
    assert!(scene.begin.elapsed() < SECOND);
}

#[tokio::test(start_paused = true)]
async fn failover_follows_its_probes_and_says_so_in_the_seeds_words() {
    let (log, _guard) = Log::begin(Level::INFO);
    let acts = [("1", Act::Serve(0, 5)), ("2", Act::Serve(0, 5))];
    let scene = Scene::new(Strategy::Failover, &[("primary", 100), ("backup", 100)], checks(&[1, 2], 1), &acts);
    scene.at(10_000).await;
    assert_eq!(scene.picked().as_deref(), Some("primary"));
    scene.stage.set("1", Act::Hang);
    scene.at(30_500).await;
    assert_eq!(scene.picked().as_deref(), Some("primary"), "the probe still runs");
    scene.at(35_100).await;
    assert_eq!(scene.picked().as_deref(), Some("backup"));
    scene.stage.set("2", Act::Refuse(0));
    scene.at(61_000).await;
    assert_eq!(scene.picked().as_deref(), Some("primary"), "all down: the first of the list");
    scene.stage.set("1", Act::Serve(0, 5));
    scene.at(120_000).await;
    assert_eq!(scene.picked().as_deref(), Some("primary"));
    assert_eq!(
        log.lines(),
        [
            "INFO balancer member primary is now down",
            "INFO balancer member backup is now down",
            "INFO balancer member primary is now up"
        ]
    );
    // From the end of one probe to the start of the next, whatever the other member does.
    assert_eq!(scene.stage.starts("1", scene.begin)[..3], [0, 30_005, 65_005]);
    assert_eq!(scene.stage.starts("2", scene.begin)[..3], [0, 30_005, 60_010]);
}

#[tokio::test(start_paused = true)]
async fn one_outbound_in_two_balancers_has_two_states() {
    let stage = Stage::with(&[("1", Act::Refuse(0)), ("2", Act::Serve(0, 1))]);
    let member = |tag: &str| Member { tag: Tag::from(tag), hop: OutboundId(0).into(), udp: true, weight: 100 };
    let balancer = |tag: &str| {
        Arc::new(Balancer::new(tag.into(), vec![member("x"), member("x")], Strategy::RoundRobin, Exit::None))
    };
    let (one, two) = (balancer("one"), balancer("two"));
    let watched = vec![
        Watched { balancer: Arc::clone(&one), plan: checks(&[1, 2], 1) },
        Watched { balancer: Arc::clone(&two), plan: Plan::Nothing },
    ];
    let _prober = Prober::with(watched, &(stage as Arc<dyn Measure>), &CancellationToken::new());
    sleep(SECOND).await;
    assert_eq!(one.board().members.iter().map(|state| state.life).collect::<Vec<_>>(), [Life::Down, Life::Up]);
    assert_eq!(two.board().members.iter().map(|state| state.life).collect::<Vec<_>>(), [Life::Untested; 2]);
}
