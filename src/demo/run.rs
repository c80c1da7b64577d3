//! The conductor: builds the stage, plays the scenes, watches the lines, sums up.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::house::{House, StartError};
use super::judge::Judgement;
use super::line::{Cargo, Line};
use super::scene::SCENES;
use super::screen::{Frame, Mode, Screen, Summary};
use super::source::Source;
use super::{sabotage, traffic, upstream};

/// How to run the demo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// How it is shown.
    pub mode: Mode,
    /// Whether a wrong member is made to serve on purpose, to see that it is noticed.
    pub sabotage: bool,
}

/// Why the demo could not be played to its end.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// Loopback sockets or the output failed.
    #[error("demo: {0}")]
    Io(#[from] io::Error),
    /// The engine did not start.
    #[error("demo: {0}")]
    Start(#[from] StartError),
}

/// Plays the demo on `out`: whether the right member served all the time.
///
/// # Errors
/// [`DemoError`] where it could not be played.
pub fn run(options: Options, out: &mut dyn Write) -> Result<bool, DemoError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let token = CancellationToken::new();
    let right = runtime.block_on(play(options, out, &token));
    token.cancel();
    runtime.shutdown_timeout(Duration::from_secs(1));
    right
}

/// Users at the same time.
const USERS: u32 = 2;

/// How often lines and board are looked at.
const GLANCE: Duration = Duration::from_millis(50);

/// How long a scene waits for two rounds to end before it is judged as it is.
const PATIENCE: Duration = Duration::from_millis(3500);

/// For flows that began before the switch to end.
const CLEAR: Duration = Duration::from_millis(400);

/// How long the lines are watched.
const WATCH: Duration = Duration::from_millis(1500);

async fn play(options: Options, out: &mut dyn Write, token: &CancellationToken) -> Result<bool, DemoError> {
    let source = Source::start(token).await?;
    let lines = SCENES[0].lines.map(|quality| Arc::new(Line::new(quality)));
    let mut members = [source.pages; 3];
    for (member, line) in members.iter_mut().zip(&lines) {
        *member = upstream::start(Arc::clone(line), source.pages, token).await?;
    }
    let house = House::start(members, source.tests, token)?;
    if options.sabotage {
        tokio::spawn(token.clone().run_until_cancelled_owned(sabotage::spoil(Arc::clone(house.balancer()))));
    }
    let tally = traffic::start(USERS, house.inbound(), source.pages, token);
    let mut stage = Stage { begin: Instant::now(), screen: Screen::new(out, options.mode), lines, house, scene: 0 };
    let mut scenes = Vec::new();
    for at in 0..SCENES.len() {
        scenes.push(stage.play(at).await?);
    }
    let summary = Summary {
        scenes: &scenes,
        rounds: stage.house.balancer().board().round,
        good: tally.good.load(Ordering::Relaxed),
        bad: tally.bad.load(Ordering::Relaxed),
        elapsed: stage.begin.elapsed(),
    };
    stage.screen.end(&summary)?;
    stage.house.stop().await;
    Ok(summary.right())
}

struct Stage<'a> {
    begin: Instant,
    screen: Screen<'a>,
    lines: [Arc<Line>; 3],
    house: House,
    scene: usize,
}

impl Stage<'_> {
    /// Plays one scene: what came of it, and when the right line was first used.
    async fn play(&mut self, at: usize) -> io::Result<(Judgement, Option<Duration>)> {
        let (scene, begin) = (&SCENES[at], Instant::now());
        self.scene = at;
        self.lines.iter().zip(scene.lines).for_each(|(line, quality)| line.set(quality));
        self.screen.scene(at, scene)?;
        let (start, best) = (self.carried(), scene.best());
        let mut first_used = None;
        // The round that runs now saw the lines as they were; the one after it sees them as they are.
        let settled = self.house.balancer().board().round + 2;
        let mut watch = Watch::Settling;
        loop {
            self.glance()?;
            if first_used.is_none() && self.carried()[best] > start[best] {
                first_used = Some(begin.elapsed());
            }
            watch = match watch {
                Watch::Settling if self.house.balancer().board().round >= settled || begin.elapsed() >= PATIENCE => {
                    Watch::Clearing(Instant::now() + CLEAR)
                }
                Watch::Clearing(until) if Instant::now() >= until => {
                    Watch::Watching(Instant::now() + WATCH, self.carried())
                }
                Watch::Watching(until, before) if Instant::now() >= until => {
                    let judgement = Judgement::new(scene, before, self.carried());
                    self.screen.judged(&judgement, first_used)?;
                    return Ok((judgement, first_used));
                }
                other => other,
            };
            sleep(GLANCE).await;
        }
    }

    fn glance(&mut self) -> io::Result<()> {
        let board = self.house.balancer().board();
        self.screen.show(&Frame {
            scene: self.scene,
            elapsed: self.begin.elapsed(),
            board: &board,
            members: self.house.balancer().members(),
            carried: self.carried(),
        })
    }

    fn carried(&self) -> [u64; 3] {
        [0, 1, 2].map(|at: usize| self.lines[at].carried(Cargo::Pages))
    }
}

/// How far a scene is.
#[derive(Clone, Copy)]
enum Watch {
    Settling,
    Clearing(Instant),
    Watching(Instant, [u64; 3]),
}
