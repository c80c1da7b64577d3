//! Whole rounds under a paused clock: a day of timeouts takes milliseconds, and nothing here touches a network.

use std::collections::HashMap;
use std::future::pending;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::SmallRng;
use tokio::time::{Instant as Now, sleep, sleep_until};
use tracing::Level;

use super::*;
use crate::addr::{BalancerId, Hop, Network, OutboundId};
use crate::balance::{
    Ask, Evidence, Exit, Group, Guards, Life, Member, Pick, Plan, Rank, Rounds, Sample, Setup, Strategy, Subject,
    Witnesses,
};
use crate::flow::BoxFuture;
use crate::probe::choose::Watched;
use crate::probe::measure::{By, Failure};
use crate::probe::prober::{NotDone, Prober};
use crate::probe::url::read_url;
use crate::probe::what::{Mean, Ping, Test, What};

const SECOND: Duration = Duration::from_secs(1);

/// What a member does when measured.
#[derive(Clone, Copy)]
enum Play {
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
    plays: Mutex<HashMap<String, Play>>,
    starts: Mutex<Vec<(String, Now)>>,
    running: AtomicUsize,
    most: AtomicUsize,
}

impl Stage {
    fn with(plays: &[(&str, Play)]) -> Arc<Self> {
        let stage = Arc::new(Self::default());
        plays.iter().for_each(|&(tag, play)| stage.set(tag, play));
        stage
    }

    fn set(&self, tag: &str, play: Play) {
        self.plays.lock().unwrap().insert(tag.into(), play);
    }

    /// Milliseconds since `begin` at which the member was measured.
    fn starts(&self, tag: &str, begin: Now) -> Vec<u128> {
        let starts = self.starts.lock().unwrap();
        starts.iter().filter(|(whose, _)| whose == tag).map(|(_, at)| (*at - begin).as_millis()).collect()
    }

    async fn play(&self, tag: &str) -> Result<Sample, Failure> {
        self.starts.lock().unwrap().push((tag.into(), Now::now()));
        let play = self.plays.lock().unwrap().get(tag).copied().unwrap_or(Play::Hang);
        match play {
            Play::Serve(bytes, millis) => {
                let time = Duration::from_millis(millis);
                sleep(time).await;
                Ok(Sample { bytes, time, dial: time / 10, status: 200 })
            }
            Play::Refuse(millis) => {
                sleep(Duration::from_millis(millis)).await;
                Err(Failure::Status(403))
            }
            Play::Hang => pending().await,
            Play::Panic => panic!("a measurement broke, as this test wants"),
        }
    }
}

impl Measure for Stage {
    fn measure<'a>(&'a self, by: Option<By<'a>>, _: &'a What) -> BoxFuture<'a, Result<Sample, Failure>> {
        let tag = by.map_or("direct", |by| by.tag.as_str());
        Box::pin(async move {
            let now = self.running.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(now, Ordering::SeqCst);
            let outcome = self.play(tag).await;
            self.running.fetch_sub(1, Ordering::SeqCst);
            outcome
        })
    }
}

/// A keeper of one balancer, `pool`.
fn watched(strategy: Strategy, members: &[(&str, u32)], plan: Plan) -> Watched {
    let hop = |at: usize| Hop::from(OutboundId(u32::try_from(at).unwrap()));
    let tagged = members.iter().enumerate();
    let listed = tagged.clone().map(|(at, &(tag, weight))| Member { tag: tag.into(), hop: hop(at), udp: true, weight });
    let balancer = Arc::new(Balancer::new("pool".into(), listed.collect(), strategy, Exit::None));
    let subject = |(at, &(tag, _)): (usize, &(&str, u32))| Subject {
        tag: tag.into(),
        hop: hop(at),
        watched: plan != Plan::Nothing,
        print: 1,
    };
    let rank = match strategy {
        Strategy::Optimal => Rank::Rate,
        Strategy::Failover => Rank::List { returns: 1 },
        _ => Rank::None { returns: 1 },
    };
    let group = Group {
        tag: "pool".into(),
        members: (0..members.len()).collect(),
        weights: members.iter().map(|&(_, weight)| weight).collect(),
        rank,
        guards: false,
        wait: None,
        fenced: vec![],
    };
    let url = read_url("https://www.google.com").unwrap();
    let ping = Arc::new(What::Ping(Ping::new(url.clone(), reqwest::Method::HEAD)));
    let test = Arc::new(What::Test(Test { url, max_bytes: 16 << 20, accept: 200..=399, responder: false }));
    let mean = Mean { test: Some(test), light: Some(Arc::clone(&ping)), life: Some(ping), second: None };
    Watched {
        setup: Setup {
            subjects: tagged.map(subject).collect(),
            groups: vec![group],
            plan,
            guards: Guards::default(),
            idle: None,
            print: 1,
            seed: 5,
        },
        means: Means { subjects: vec![mean; members.len()], direct: None },
        balancers: vec![balancer],
    }
}

fn rounds(count: u32) -> Plan {
    let (interval, timeout) = (600 * SECOND, 5 * SECOND);
    Plan::Rounds(Rounds { interval, timeout, count, warmup: vec![], stagger: Duration::ZERO, second: false })
}

fn checks() -> Plan {
    Plan::Beats { interval: 30 * SECOND, timeout: 5 * SECOND, spread: false }
}

fn started(keepers: Vec<Watched>, stage: &Arc<Stage>, memory: &Memory, token: &CancellationToken) -> Prober {
    Prober::with(keepers, Arc::clone(stage) as Arc<dyn Measure>, memory, Witnesses::default(), token)
}

fn picked(balancer: &Balancer) -> Option<String> {
    match balancer.pick(Ask::TCP, &mut SmallRng::seed_from_u64(1)) {
        Pick::Member(at, _) => Some(balancer.members()[at].tag.to_string()),
        _ => None,
    }
}

/// A running balancer with its stage.
struct Scene {
    balancer: Arc<Balancer>,
    stage: Arc<Stage>,
    prober: Prober,
    token: CancellationToken,
    begin: Now,
}

impl Scene {
    fn new(watched: Watched, plays: &[(&str, Play)]) -> Self {
        let (balancer, stage) = (Arc::clone(&watched.balancers[0]), Stage::with(plays));
        let token = CancellationToken::new();
        let prober = started(vec![watched], &stage, &Memory::default(), &token);
        Self { balancer, stage, prober, token, begin: Now::now() }
    }

    fn optimal(members: &[(&str, u32)], count: u32, plays: &[(&str, Play)]) -> Self {
        Self::new(watched(Strategy::Optimal, members, rounds(count)), plays)
    }

    fn picked(&self) -> Option<String> {
        picked(&self.balancer)
    }

    /// Moves the clock to so many milliseconds after the start, and lets everything that is due happen.
    async fn at(&self, millis: u64) {
        sleep_until(self.begin + Duration::from_millis(millis)).await;
        // One step past the moment, so that what happens at it has happened; boards may take as long as that.
        sleep(Duration::from_millis(60)).await;
    }
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
    let plays = [("a", Play::Serve(1000, 200)), ("b", Play::Serve(1000, 900)), ("c", Play::Hang)];
    let scene = Scene::optimal(&[("a", 100), ("b", 100), ("c", 100)], 1, &plays);
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
async fn o1_a_round_of_hundreds_starts_together_and_light_probes_take_turns() {
    let tags: Vec<String> = (0..300).map(|at| format!("m{at}")).collect();
    let members: Vec<(&str, u32)> = tags.iter().map(|tag| (tag.as_str(), 100)).collect();
    let plays: Vec<(&str, Play)> = tags.iter().map(|tag| (tag.as_str(), Play::Serve(10, 1000))).collect();
    let round = Scene::optimal(&members, 1, &plays);
    round.at(500).await;
    assert_eq!(round.stage.most.load(Ordering::SeqCst), 300);
    let light = Scene::new(watched(Strategy::Failover, &members, checks()), &plays);
    light.at(10_000).await;
    assert_eq!(light.stage.most.load(Ordering::SeqCst), 64, "descriptors are not used up");
    assert!(light.balancer.board().members.iter().all(|state| state.life == Life::Up), "and all had their turn");
}

#[tokio::test(start_paused = true)]
async fn o3_the_limit_is_per_attempt_and_attempts_follow_each_other() {
    let scene = Scene::optimal(&[("a", 100), ("b", 100)], 3, &[("a", Play::Serve(1000, 1000)), ("b", Play::Hang)]);
    scene.at(16_000).await;
    assert_eq!(scene.stage.starts("a", scene.begin), [0, 1000, 2000]);
    assert_eq!(scene.stage.starts("b", scene.begin).len(), 3);
    let board = scene.balancer.board();
    assert_eq!((board.round, board.members[0].score, board.members[1].score), (1, Some(100_000.0), Some(0.0)));
    assert_eq!((board.members[0].life, board.members[1].life), (Life::Up, Life::Down));
    assert!(board.members[1].last_error.as_deref().is_some_and(|why| why.contains("not finished within 5000 ms")));
}

#[tokio::test(start_paused = true)]
async fn o9_the_winner_serves_until_the_next_round_ends() {
    let plays = [("a", Play::Serve(9, 900)), ("b", Play::Serve(90, 900))];
    let scene = Scene::optimal(&[("a", 100), ("b", 100)], 1, &plays);
    scene.at(1000).await;
    assert_eq!(scene.picked().as_deref(), Some("b"));
    scene.stage.set("b", Play::Refuse(1));
    scene.at(600_900).await;
    assert_eq!(scene.picked().as_deref(), Some("b"), "the next round runs, but has not ended");
    scene.at(602_000).await;
    assert_eq!(scene.picked().as_deref(), Some("a"));
}

#[tokio::test(start_paused = true)]
async fn o11_all_zero_keeps_the_serving_member_and_is_said_once() {
    let (log, _guard) = Log::begin(Level::WARN);
    let plays = [("a", Play::Serve(9, 900)), ("b", Play::Serve(90, 900))];
    let scene = Scene::optimal(&[("a", 100), ("b", 100)], 1, &plays);
    scene.at(1000).await;
    scene.stage.set("a", Play::Refuse(1));
    scene.stage.set("b", Play::Hang);
    scene.at(3_000_000).await;
    assert_eq!(scene.picked().as_deref(), Some("b"));
    let zero = log.lines().into_iter().filter(|line| line.contains("every score is 0")).count();
    assert_eq!(zero, 1, "{:?}", log.lines());
}

#[tokio::test(start_paused = true)]
async fn o12_before_any_result_the_first_serves_or_flows_wait() {
    let (members, plays) = ([("a", 100), ("b", 100)], [("a", Play::Hang), ("b", Play::Serve(90, 1500))]);
    let first = Scene::optimal(&members, 1, &plays);
    assert_eq!(first.picked().as_deref(), Some("a"));
    first.prober.released(&"pool".into()).await;
    assert_eq!(first.begin.elapsed(), Duration::ZERO, "nothing to wait for");

    let waiting = || {
        let mut watched = watched(Strategy::Optimal, &members, rounds(1));
        watched.setup.groups[0].wait = Some(2 * SECOND);
        watched
    };
    let wait = Scene::new(waiting(), &plays);
    assert_eq!(wait.picked(), None, "held from the first moment");
    wait.prober.released(&"pool".into()).await;
    assert!(wait.begin.elapsed().as_millis().abs_diff(1500) < 60, "until the first success");
    assert_eq!(wait.picked().as_deref(), Some("b"));

    let slow = Scene::new(waiting(), &[]);
    slow.prober.released(&"pool".into()).await;
    assert!(slow.begin.elapsed().as_millis().abs_diff(2000) < 60, "or two seconds");
    assert_eq!(slow.picked().as_deref(), Some("a"));

    let gone = Scene::new(waiting(), &[]);
    gone.prober.stop().await;
    assert!(matches!(gone.balancer.pick(Ask::TCP, &mut SmallRng::seed_from_u64(1)), Pick::Member(0, _)));
}

#[tokio::test(start_paused = true)]
async fn o13_the_first_success_of_the_first_round_serves_at_once() {
    let plays = [("a", Play::Hang), ("b", Play::Serve(9, 300)), ("c", Play::Serve(9_000_000, 2000))];
    let scene = Scene::optimal(&[("a", 100), ("b", 100), ("c", 100)], 1, &plays);
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
async fn o18_the_log_shows_every_attempt_every_term_and_every_change() {
    let (log, _guard) = Log::begin(Level::DEBUG);
    let plays = [("near", Play::Serve(81_920, 800)), ("far", Play::Serve(81_920, 400))];
    let scene = Scene::optimal(&[("near", 300), ("far", 100)], 1, &plays);
    scene.at(1000).await;
    scene.stage.set("near", Play::Refuse(5));
    scene.at(602_000).await;
    let lines = log.lines();
    let mut rest = lines.iter();
    for want in [
        "DEBUG test of far: round 1 attempt 1 bytes=81920 time_ms=400 dial_ms=40 status=200",
        "INFO optimal pool round 1: serving far ",
        "DEBUG test of near: round 1 attempt 1 bytes=81920 time_ms=800 dial_ms=80 status=200",
        "DEBUG optimal pool round 1: member near bytes=81920 time_ms=800 rate=102400B/s weight=300 score=30720000",
        "DEBUG optimal pool round 1: member far bytes=81920 time_ms=400 rate=204800B/s weight=100 score=20480000",
        "INFO optimal pool round 1: serving near score=30720000 (was far score=20480000): highest score",
        "DEBUG near failed after 5 ms: status 403 does not count as success",
        "DEBUG test of far: round 2 attempt 1 ",
        "DEBUG optimal pool round 2: member near bytes=0 time_ms=5 rate=0B/s weight=300 score=0",
        "INFO optimal pool round 2: serving far score=20480000 (was near score=0): highest score",
    ] {
        assert!(rest.any(|line| line.starts_with(want)), "{want}: {lines:#?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_measurement_that_breaks_counts_as_failed_and_the_round_still_ends() {
    let plays = [("a", Play::Panic), ("b", Play::Serve(9, 100))];
    let scene = Scene::optimal(&[("a", 100), ("b", 100)], 1, &plays);
    scene.at(200).await;
    assert_eq!(scene.balancer.board().round, 1);
    assert_eq!(scene.picked().as_deref(), Some("b"));
}

#[tokio::test(start_paused = true)]
async fn stopping_ends_running_tests_at_once() {
    let scene = Scene::optimal(&[("a", 100)], 1, &[("a", Play::Hang)]);
    scene.at(10).await;
    scene.prober.stop().await;
    assert!(scene.begin.elapsed() < SECOND);
}

#[tokio::test(start_paused = true)]
async fn failover_follows_its_probes_and_says_so_in_the_seeds_words() {
    let (log, _guard) = Log::begin(Level::INFO);
    let plays = [("primary", Play::Serve(0, 5)), ("backup", Play::Serve(0, 5))];
    let scene = Scene::new(watched(Strategy::Failover, &[("primary", 100), ("backup", 100)], checks()), &plays);
    scene.at(10_000).await;
    assert_eq!(scene.picked().as_deref(), Some("primary"));
    scene.stage.set("primary", Play::Hang);
    scene.at(30_500).await;
    assert_eq!(scene.picked().as_deref(), Some("primary"), "the probe still runs");
    scene.at(35_100).await;
    assert_eq!(scene.picked().as_deref(), Some("backup"));
    scene.stage.set("backup", Play::Refuse(0));
    scene.at(61_000).await;
    assert_eq!(scene.picked().as_deref(), Some("primary"), "all down: the first of the list");
    scene.stage.set("primary", Play::Serve(0, 5));
    scene.at(120_000).await;
    assert_eq!(scene.picked().as_deref(), Some("primary"));
    let turned: Vec<String> = log.lines().into_iter().filter(|line| line.contains("is now")).collect();
    assert_eq!(
        turned,
        [
            "INFO balancer member primary is now down",
            "INFO balancer member backup is now down",
            "INFO balancer member primary is now up"
        ]
    );
    // From the end of one probe to the start of the next, whatever the other member does.
    assert_eq!(scene.stage.starts("primary", scene.begin)[..3], [0, 30_005, 65_005]);
    assert_eq!(scene.stage.starts("backup", scene.begin)[..3], [0, 30_005, 60_010]);
}

#[tokio::test(start_paused = true)]
async fn two_balancers_with_equal_settings_are_measured_once() {
    let mut shared = watched(Strategy::Failover, &[("a", 100), ("b", 100)], checks());
    let twin = Balancer::new("twin".into(), shared.balancers[0].members().to_vec(), Strategy::RoundRobin, Exit::None);
    shared.balancers.push(Arc::new(twin));
    let group = shared.setup.groups[0].clone();
    shared.setup.groups.push(Group { tag: "twin".into(), rank: Rank::None { returns: 1 }, ..group });
    let twin = Arc::clone(&shared.balancers[1]);
    let scene = Scene::new(shared, &[("a", Play::Refuse(0)), ("b", Play::Serve(0, 1))]);
    scene.at(10_000).await;
    assert_eq!(scene.stage.starts.lock().unwrap().len(), 2);
    for balancer in [&scene.balancer, &twin] {
        let lives: Vec<Life> = balancer.board().members.iter().map(|state| state.life).collect();
        assert_eq!(lives, [Life::Down, Life::Up], "{}", balancer.tag());
    }
}

#[tokio::test(start_paused = true)]
async fn what_flows_show_reaches_the_keeper_and_too_much_of_it_is_dropped() {
    let mut guarded = watched(Strategy::Optimal, &[("a", 100), ("b", 100)], rounds(1));
    guarded.setup.groups[0].guards = true;
    let scene = Scene::new(guarded, &[("a", Play::Serve(900, 100)), ("b", Play::Serve(90, 100))]);
    scene.at(1000).await;
    assert_eq!(scene.picked().as_deref(), Some("a"));
    scene.stage.set("a", Play::Refuse(0));
    let used = scene.balancer.enter(0);
    used.saw(Network::Tcp, Evidence::Refused);
    scene.at(4000).await;
    assert_eq!(
        scene.picked().as_deref(),
        Some("b"),
        "the refusal was confirmed by a probe, long before the next round"
    );
    assert_eq!(scene.prober.dropped(), 0);
    // Nobody listens between these: the task has no turn.
    (0..2000).for_each(|_| used.saw(Network::Tcp, Evidence::Dialed(SECOND)));
    assert_eq!(scene.prober.dropped(), 2000 - 1024);
}

#[tokio::test(start_paused = true)]
async fn orders_are_followed_or_refused_in_words() {
    let plays = [("a", Play::Serve(900, 100)), ("b", Play::Serve(90, 100))];
    let scene = Scene::optimal(&[("a", 100), ("b", 100)], 1, &plays);
    scene.at(1000).await;
    let pin = |member: &str| Order::Pin { member: member.into(), lasts: None, strict: false };
    scene.prober.order(&"pool".into(), pin("b")).await.unwrap();
    assert_eq!(scene.balancer.board().pin.map(|pin| pin.member), Some(1), "the board is there when the answer is");
    let unknown = scene.prober.order(&"pool".into(), pin("x")).await.unwrap_err();
    assert_eq!(unknown.to_string(), "balancer pool has no member x; its members are a, b");
    let nobody = scene.prober.order(&"other".into(), Order::Unpin).await.unwrap_err();
    assert_eq!(nobody.to_string(), "there is no balancer other; balancers are pool");
    scene.prober.order(&"pool".into(), Order::Test(None)).await.unwrap();
    scene.at(2000).await;
    assert_eq!(scene.stage.starts("a", scene.begin).len(), 2, "measured now, not in ten minutes");
    scene.token.cancel();
    sleep(SECOND).await;
    assert_eq!(scene.prober.order(&"pool".into(), Order::Unpin).await, Err(NotDone::Stopping));
}

#[tokio::test(start_paused = true)]
async fn the_next_prober_knows_what_the_last_one_knew() {
    let plays = [("a", Play::Serve(9, 100)), ("b", Play::Serve(90, 100))];
    let scene = Scene::optimal(&[("a", 100), ("b", 100)], 1, &plays);
    scene.at(1000).await;
    assert_eq!(scene.picked().as_deref(), Some("b"));
    let memory = scene.prober.remember().await;
    assert!(memory.groups.contains_key("pool"), "{memory:?}");
    let next = watched(Strategy::Optimal, &[("a", 100), ("b", 100)], rounds(1));
    let balancer = Arc::clone(&next.balancers[0]);
    let prober = started(vec![next], &Stage::with(&[]), &memory, &scene.token);
    assert_eq!(picked(&balancer).as_deref(), Some("b"), "before its tasks had a turn");
    prober.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_balancer_without_a_live_member_is_a_dead_member_of_others() {
    let inner = watched(Strategy::Failover, &[("a", 100), ("b", 100)], checks());
    let mut outer = watched(Strategy::Failover, &[("pool", 100), ("spare", 100)], Plan::Nothing);
    let members: Vec<Member> = outer.balancers[0]
        .members()
        .iter()
        .map(|member| match member.tag.as_str() {
            "pool" => Member { hop: Hop::Balancer(BalancerId(0)), ..member.clone() },
            _ => member.clone(),
        })
        .collect();
    outer.setup.subjects[0].hop = Hop::Balancer(BalancerId(0));
    outer.setup.groups[0].tag = "outer".into();
    outer.balancers = vec![Arc::new(Balancer::new("outer".into(), members, Strategy::Failover, Exit::None))];
    let top = Arc::clone(&outer.balancers[0]);
    let stage = Stage::with(&[("a", Play::Serve(0, 5)), ("b", Play::Refuse(0))]);
    let prober = started(vec![outer, inner], &stage, &Memory::default(), &CancellationToken::new());
    sleep(SECOND).await;
    assert_eq!(picked(&top).as_deref(), Some("pool"));
    stage.set("a", Play::Refuse(0));
    sleep(60 * SECOND).await;
    assert_eq!(picked(&top).as_deref(), Some("spare"));
    stage.set("b", Play::Serve(0, 5));
    sleep(60 * SECOND).await;
    assert_eq!(picked(&top).as_deref(), Some("pool"));
    prober.stop().await;
}
