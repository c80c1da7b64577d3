//! One balancer as its keeper runs it: who sits where, who serves, and the board that shows it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::adaptive;
use super::board::{Board, Decision, Life, Pin, Stand, State, Stats, Terms};
use super::health::Health;
use super::least::{Node, taken};
use super::reason::Reason;
use super::setup::{Group, Rank, Subject};
use super::standing::{Worth, ahead, highest, kept};

/// One balancer.
#[derive(Debug, Clone)]
pub(super) struct Roster {
    /// One a member.
    pub seats: Vec<Seat>,
    /// All members, the one that serves first.
    pub ranking: Box<[usize]>,
    taken: usize,
    /// Why who serves does so.
    pub why: Reason,
    /// Whether no round has ended yet.
    pub first: bool,
    /// The newest round that counted.
    pub round: u64,
    /// Whether a success of the first round chose who serves.
    pub settled: bool,
    /// Who served when the first round began.
    pub began: Option<usize>,
    /// Who was last told to serve.
    pub told: Option<usize>,
    /// Whether the last round had no score at all; told once.
    pub all_zero: bool,
    /// Whether flows wait for the first result.
    pub waiting: bool,
    /// Whether at least one member is usable, as was last told.
    pub up: bool,
    /// Who was pinned.
    pub pin: Option<Pin>,
    /// The last decisions, oldest first.
    pub decisions: VecDeque<Decision>,
    /// Something changed since the last board.
    pub dirty: bool,
    /// It must be seen at once.
    pub urgent: bool,
    /// When the last board was made.
    pub published: Option<Duration>,
    shared: Arc<[Decision]>,
    last_up: Option<usize>,
}

/// One member's place in a balancer.
#[derive(Debug, Clone, Default)]
pub(super) struct Seat {
    /// Whether it works, by the balancer's own rules.
    pub life: Life,
    /// The life it had, and how many successes of anybody there had been, when it last turned.
    pub before: (Life, u64),
    /// Whether it takes no new flow.
    pub fenced: bool,
    score: Option<f64>,
    rate: Option<f64>,
    terms: Option<Terms>,
    /// Which version of its health the score is of.
    version: Option<u64>,
}

/// What a board shows beside the roster itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Around<'a> {
    pub health: &'a [Health],
    pub subjects: &'a [Subject],
    /// When each subject is asked next.
    pub next: &'a [Option<Duration>],
    pub now: Duration,
    pub next_round: Option<Duration>,
    pub outage: bool,
    /// Age from which light results do not count.
    pub oldest: Option<Duration>,
    /// Whether light probes come in bursts, so that members are judged by their deviation.
    pub bursts: bool,
    /// The half-life where a balancer names none.
    pub half_life: Duration,
}

impl Around<'_> {
    fn stats(&self, subject: usize) -> Stats {
        self.health.get(subject).map_or_else(Stats::default, |health| health.stats(self.oldest, self.now))
    }
}

impl Roster {
    /// Nothing is known.
    pub(super) fn new(group: &Group) -> Self {
        let seat = |at| Seat { fenced: group.fenced.contains(&at), ..Seat::default() };
        let seats: Vec<Seat> = (0..group.members.len()).map(seat).collect();
        let ranked = if matches!(group.rank, Rank::None { .. }) { 0 } else { seats.len() };
        Self {
            seats,
            ranking: (0..ranked).collect(),
            taken: 0,
            why: Reason::Unknown,
            first: true,
            round: 0,
            settled: false,
            began: None,
            told: None,
            all_zero: false,
            waiting: group.wait.is_some(),
            up: true,
            pin: None,
            decisions: VecDeque::new(),
            dirty: true,
            urgent: true,
            published: None,
            shared: Arc::default(),
            last_up: None,
        }
    }

    /// Who serves, where members are ranked.
    pub(super) fn serving(&self) -> Option<usize> {
        self.ranking.first().copied()
    }

    /// Whether a member takes new flows.
    pub(super) fn usable(&self, group: &Group, health: &[Health], at: usize) -> bool {
        self.alive(group, health, at) && !self.out(group, health, at)
    }

    fn alive(&self, group: &Group, health: &[Health], at: usize) -> bool {
        let inner = group.members.get(at).and_then(|&subject| health.get(subject)).and_then(|health| health.inner);
        self.seats[at].life.usable() && inner != Some(false)
    }

    /// Whether a member takes no new flow although it may work.
    pub(super) fn out(&self, group: &Group, health: &[Health], at: usize) -> bool {
        let ejected =
            || group.members.get(at).and_then(|&subject| health.get(subject)).is_some_and(|h| h.guard.out().is_some());
        self.seats[at].fenced || (group.guards && ejected())
    }

    /// Somebody works: remembered for the moment when nobody does.
    pub(super) fn worked(&mut self, at: usize) {
        self.last_up = Some(at);
    }

    /// Keeps a decision.
    pub(super) fn decided(&mut self, decision: Decision) {
        if self.decisions.len() >= Board::DECISIONS {
            self.decisions.pop_front();
        }
        self.decisions.push_back(decision);
        self.shared = self.decisions.iter().cloned().collect();
        (self.dirty, self.urgent) = (true, true);
    }

    /// Takes decisions of an earlier keeper.
    pub(super) fn recall(&mut self, decisions: impl IntoIterator<Item = Decision>) {
        self.decisions = decisions.into_iter().take(Board::DECISIONS).collect();
        self.shared = self.decisions.iter().cloned().collect();
    }

    /// Puts a member first until something else is decided.
    pub(super) fn put_first(&mut self, at: usize) {
        let mut ranking: Vec<usize> = self.ranking.iter().copied().filter(|&member| member != at).collect();
        if at < self.seats.len() {
            ranking.insert(0, at);
        }
        self.ranking = ranking.into();
    }

    /// Ranks anew. Strategies that go by tests change who serves only where `deciding`.
    pub(super) fn rank(&mut self, group: &Group, around: &Around<'_>, deciding: bool) {
        self.score(group, around);
        let (ranking, reason) = match &group.rank {
            Rank::None { .. } => (Box::default(), Reason::Unknown),
            Rank::List { .. } => self.by_list(group, around),
            Rank::Delay => self.by_delay(group, around),
            Rank::Load(load) => {
                let tag = |at: usize| {
                    group.members.get(at).and_then(|&s| around.subjects.get(s)).map_or("", |s| s.tag.as_str())
                };
                let nodes: Vec<Node<'_>> =
                    (0..self.seats.len()).map(|at| self.node(group, around, at, tag(at))).collect();
                let (ranking, taken) = taken(&nodes, load);
                self.taken = if nodes.iter().any(|node| node.fit) { taken } else { self.open(group, around) };
                (ranking, Reason::LeastCost)
            }
            Rank::Rate | Rank::Adaptive(_) if !deciding => (kept(&self.worth(group, around), self.serving()), self.why),
            Rank::Rate => highest(&self.worth(group, around), self.serving()),
            Rank::Adaptive(settings) => ahead(&self.worth(group, around), self.serving(), settings.margin),
        };
        (self.ranking, self.why) = (ranking, reason);
    }

    /// Those that nobody has tested count as working: while nobody was, all of them share.
    fn open(&self, group: &Group, around: &Around<'_>) -> usize {
        let untested = |at: &usize| self.seats[*at].life == Life::Untested && self.usable(group, around.health, *at);
        let open = (0..self.seats.len()).filter(untested).count();
        if open == self.seats.len() { open } else { 0 }
    }

    fn by_list(&self, group: &Group, around: &Around<'_>) -> (Box<[usize]>, Reason) {
        let usable = |&at: &usize| self.usable(group, around.health, at);
        let (mut good, bad): (Vec<_>, Vec<_>) = (0..self.seats.len()).partition(usable);
        let reason = if good.is_empty() { Reason::AllDown } else { Reason::FirstUp };
        good.extend(bad);
        (good.into(), reason)
    }

    fn by_delay(&self, group: &Group, around: &Around<'_>) -> (Box<[usize]>, Reason) {
        let delay = |at: usize| group.members.get(at).and_then(|&s| around.health.get(s)).and_then(|h| h.delay);
        let key = |&at: &usize| {
            let known = delay(at).filter(|_| self.seats[at].life == Life::Up);
            (!self.usable(group, around.health, at), known.is_none(), known.unwrap_or_default())
        };
        let mut ranking: Vec<usize> = (0..self.seats.len()).collect();
        ranking.sort_by_key(key);
        let known = ranking.first().is_some_and(|at| self.seats[*at].life == Life::Up);
        (ranking.into(), if known { Reason::LeastDelay } else { Reason::Unknown })
    }

    fn node<'a>(&self, group: &Group, around: &Around<'_>, at: usize, tag: &'a str) -> Node<'a> {
        let subject = group.members.get(at).copied().unwrap_or(usize::MAX);
        let (stats, last) = (around.stats(subject), around.health.get(subject).and_then(|health| health.delay));
        let fit = self.seats[at].life == Life::Up && self.usable(group, around.health, at);
        let (value, average) = match around.bursts {
            true => (stats.deviation, stats.average),
            false => (last.unwrap_or_default(), last.unwrap_or_default()),
        };
        let (all, failed) = if around.bursts { (stats.all, stats.failed) } else { (0, 0) };
        Node { member: at, tag, fit, value, average, all, failed }
    }

    /// Computes scores of members of whom something new is known.
    fn score(&mut self, group: &Group, around: &Around<'_>) {
        for (at, seat) in self.seats.iter_mut().enumerate() {
            let Some(health) = group.members.get(at).and_then(|&subject| around.health.get(subject)) else { continue };
            let weight = group.weights.get(at).copied().unwrap_or(0);
            if seat.version == Some(health.version) {
                continue;
            }
            seat.version = Some(health.version);
            match &group.rank {
                Rank::Rate => {
                    seat.rate = health.measured.map(|measured| measured.rate);
                    seat.score = seat.rate.map(|rate| rate * f64::from(weight));
                }
                Rank::Adaptive(settings) => {
                    let half_life = settings.half_life.unwrap_or(around.half_life);
                    let known = adaptive::rate(health.known(), settings, half_life, around.now);
                    seat.rate = known.map(|(rate, _)| rate);
                    seat.terms = known.map(|(_, terms)| terms);
                    let score = |rate| adaptive::score(rate, health.availability, weight, settings.gamma);
                    seat.score = seat.rate.map(score);
                }
                _ => {}
            }
        }
    }

    fn worth(&self, group: &Group, around: &Around<'_>) -> Vec<Worth> {
        let worth = |at: usize| {
            let works = self.alive(group, around.health, at);
            // `adaptive` has no score of 0 for a member that failed its last test.
            let dead = matches!(group.rank, Rank::Adaptive(_)) && !works;
            Worth { score: self.seats[at].score, works, out: self.out(group, around.health, at) || dead }
        };
        (0..self.seats.len()).map(worth).collect()
    }

    /// The board that shows all this.
    pub(super) fn board(&self, group: &Group, around: &Around<'_>) -> Board {
        Board {
            round: self.round,
            members: (0..self.seats.len()).map(|at| self.state(group, around, at)).collect(),
            ranking: self.ranking.clone(),
            taken: self.taken,
            last_up: self.last_up,
            pin: self.pin,
            decisions: Arc::clone(&self.shared),
            why: self.serving().map(|_| self.why.words()),
            next_round: around.next_round,
            outage: around.outage && group.guards,
            made: around.now,
        }
    }

    fn state(&self, group: &Group, around: &Around<'_>, at: usize) -> State {
        let (seat, weight) = (&self.seats[at], group.weights.get(at).copied().unwrap_or(0));
        let subject = group.members.get(at).copied().unwrap_or(usize::MAX);
        let Some(health) = around.health.get(subject) else { return State { weight, ..State::default() } };
        let out = health.guard.out().filter(|_| group.guards);
        let measured = health.measured.unwrap_or_default();
        let moment = |at: f64| Duration::try_from_secs_f64(at.max(0.0)).unwrap_or(Duration::ZERO);
        State {
            life: if self.alive(group, around.health, at) { seat.life } else { Life::Down },
            life_udp: health.udp.life,
            stand: out
                .map_or(Stand::In, |out| Stand::Ejected { until: out.until, times: health.guard.times(around.now) }),
            fenced: seat.fenced,
            delay: health.delay,
            rate: seat.rate,
            bytes: measured.bytes,
            time: measured.time,
            weight,
            score: seat.score,
            terms: seat.terms,
            stats: around.stats(subject),
            dial_limit: health.dial_limit().filter(|_| group.guards),
            last_error: health.last_error.clone(),
            last_seen: health.last_seen.map(moment),
            last_tried: health.last_tried.map(moment),
            next: out.and_then(|out| out.next).or_else(|| around.next.get(subject).copied().flatten()),
        }
    }

    /// `score=…`, where there is one.
    pub(super) fn score_of(&self, at: usize) -> Option<f64> {
        self.seats.get(at).and_then(|seat| seat.score)
    }

    /// `bytes=… time_ms=… rate=…B/s weight=… score=…`, and the terms of `adaptive` (DECISIONS 31).
    pub(super) fn terms_line(&self, group: &Group, health: &[Health], at: usize) -> String {
        let measured = group.members.get(at).and_then(|&s| health.get(s)).and_then(|h| h.measured).unwrap_or_default();
        let (seat, weight) = (&self.seats[at], group.weights.get(at).copied().unwrap_or(0));
        let mut line = format!(
            "bytes={} time_ms={} rate={:.0}B/s weight={weight} score={:.0}",
            measured.bytes,
            super::story::millis(measured.time),
            seat.rate.unwrap_or(0.0),
            seat.score.unwrap_or(0.0)
        );
        if let Some(terms) = seat.terms {
            let ms = |seconds: f64| seconds * 1000.0;
            line += &format!(
                " dial_ms={:.0}±{:.0} body_ms={:.0}±{:.0} tau_ms={:.0} availability={:.2} tests={} dials={}",
                ms(terms.dial),
                ms(terms.dial_deviation),
                ms(terms.body),
                ms(terms.body_deviation),
                ms(terms.tau),
                terms.availability,
                terms.tests,
                terms.dials
            );
        }
        line
    }
}
