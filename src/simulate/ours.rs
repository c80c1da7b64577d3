//! Ours in a world: the same keeper and balancer that run in the engine, driven in virtual time.
//!
//! What the engine does with sockets is done here with the model of the network: measurements that the keeper asks for
//! are trips, their ends are told to it when they come, and flows tell it what they show. A member that appears is a
//! reload, as it would be there: a new keeper that remembers what the old one knew.

use std::time::Duration;

use super::attempt::{Attempt, DIAL, Plan};
use super::contender::Contender;
use super::design::Design;
use super::draw::{Draw, Stream};
use super::field::{Field, LIGHT, Probe, TEST};
use super::network::World;
use super::trip::{Fate, Refusal};
use crate::addr::{Hop, Network, OutboundId, Tag};
use crate::balance::{
    Act, Ask, Balancer, Evidence, Exit, Fail, Group, Guards, Job, Keeper, Key, Kind, Member, Memory, Moment, Outcome,
    Pick, Sample, Seen, Setup, Subject, Tried,
};

/// When a world begins, on the wall clock.
const EPOCH: Duration = Duration::from_secs(1_764_000_000);

/// One of our strategies in one world.
#[derive(Debug)]
pub struct Ours {
    design: Design,
    keeper: Keeper,
    balancer: Balancer,
    /// When the keeper was made.
    made: f64,
    /// Tells what was planned for this keeper from what was planned for an earlier one.
    term: u32,
    /// When it is woken next, if that is planned.
    awake: Option<Duration>,
    chance: Stream,
}

/// What is due.
#[derive(Debug)]
pub enum Due {
    /// A member appears.
    Birth,
    /// The keeper of this term wanted to be woken at this moment of its clock, unless it changed its mind.
    Wake(u32, Duration),
    /// A measurement of this term's keeper ended.
    Ended(u32, Job, Probe),
}

impl Ours {
    /// This strategy in this world.
    #[must_use]
    pub fn new(design: Design, world: &World) -> Self {
        let count = world.members(0.0).count();
        let keeper = Keeper::new(
            setup(&design, count, world.seed),
            &Memory::default(),
            Moment { steady: Duration::ZERO, wall: EPOCH },
        );
        let balancer = balancer(&design, count);
        let chance = Stream::new(Draw::of([world.seed, 61]));
        Self { design, keeper, balancer, made: 0.0, term: 0, awake: None, chance }
    }

    fn moment(&self, now: f64) -> Moment {
        Moment { steady: secs(now - self.made), wall: EPOCH + secs(now) }
    }

    /// Lets the keeper do something, does what it asks for, and plans its next waking.
    fn with(&mut self, field: &mut Field<'_, Due>, what: impl FnOnce(&mut Keeper, Moment, &mut Vec<Act>)) {
        let (now, mut acts) = (self.moment(field.now), Vec::new());
        what(&mut self.keeper, now, &mut acts);
        for act in acts {
            match act {
                Act::Start(job) => self.measure(job, field),
                Act::Publish(_, board) => self.balancer.publish(board),
                Act::Release(_) => self.balancer.release(),
                Act::Status(..) | Act::Tell(_) => {}
            }
        }
        if let Some(next) = self.keeper.next_wake()
            && self.awake.is_none_or(|planned| next < planned)
        {
            self.awake = Some(next);
            field.at((self.made + next.as_secs_f64()).max(field.now), Due::Wake(self.term, next));
        }
    }

    fn measure(&self, job: Job, field: &mut Field<'_, Due>) {
        let body = if job.kind == Kind::Test { TEST } else { LIGHT };
        // A direct request goes by no member; it fares like the first of them.
        let (member, term) = (job.subject.unwrap_or(0), self.term);
        field.probe(member, body, job.timeout.as_secs_f64(), 2, |probe| Due::Ended(term, job, probe));
    }

    /// The next keeper, with what this one knows.
    fn renew(&mut self, field: &mut Field<'_, Due>) {
        let mut memory = Memory::default();
        self.keeper.remember(self.moment(field.now), &mut memory);
        (self.made, self.term, self.awake) = (field.now, self.term + 1, None);
        let count = field.members().count();
        self.keeper = Keeper::new(setup(&self.design, count, field.world.seed), &memory, self.moment(field.now));
        self.balancer = balancer(&self.design, count).resume(&self.balancer);
        self.with(field, Keeper::wake);
    }
}

impl Contender for Ours {
    type Event = Due;

    fn start(&mut self, field: &mut Field<'_, Due>) {
        for path in field.world.paths.iter().filter(|path| path.born > 0.0) {
            field.at(path.born, Due::Birth);
        }
        self.with(field, Keeper::wake);
    }

    fn on(&mut self, event: Due, field: &mut Field<'_, Due>) {
        match event {
            Due::Birth => self.renew(field),
            Due::Wake(term, at) if term == self.term && self.awake == Some(at) => {
                self.awake = None;
                self.with(field, Keeper::wake);
            }
            Due::Ended(term, job, probe) if term == self.term => {
                self.with(field, |keeper, now, acts| keeper.done(job, outcome(job, &probe), now, acts));
            }
            Due::Wake(..) | Due::Ended(..) => {}
        }
    }

    fn pick(&mut self, site: usize, _field: &mut Field<'_, Due>) -> Plan {
        let board = self.balancer.board();
        let key = Key::EMPTY.with(&site.to_le_bytes());
        let (mut plan, mut tried, mut turn) = (Plan::default(), Tried::NONE, None);
        // The retry is a guard too.
        let tries = if self.design.guards { Tried::MOST } else { 1 };
        while tried.len() < tries {
            let ask = Ask { network: Network::Tcp, key, tried };
            let Pick::Member(member, _) = self.balancer.pick(ask, &mut self.chance) else { break };
            turn.get_or_insert_with(|| self.balancer.turn());
            let limit = board.members.get(member).and_then(|state| state.dial_limit);
            plan = plan.then(member, limit.map_or(DIAL, |limit| limit.as_secs_f64()));
            tried = tried.and(member);
        }
        // Most flows never ask again, so those further picks are no turns of the rotation.
        turn.into_iter().for_each(|turn| self.balancer.go_on(turn));
        plan.patient()
    }

    fn saw(&mut self, attempt: &Attempt, field: &mut Field<'_, Due>) {
        let (member, began) = (attempt.member, attempt.began);
        for what in evidence(attempt, began).into_iter().flatten() {
            let seen = Seen { member, network: Network::Tcp, what };
            self.with(field, |keeper, now, acts| keeper.saw(0, seen, now, acts));
        }
    }
}

/// What a flow shows of its member, in the order in which it is seen.
fn evidence(attempt: &Attempt, began: f64) -> [Option<Evidence>; 3] {
    let trip = &attempt.trip;
    match (trip.fate, trip.dialed, trip.first) {
        (Fate::Dial(Refusal::Refused) | Fate::FirstByte(Refusal::Refused), ..) => [Some(Evidence::Refused), None, None],
        (Fate::Dial(Refusal::Timeout), ..) => [Some(Evidence::TimedOut), None, None],
        (Fate::FirstByte(Refusal::Timeout), ..) => [Some(Evidence::Silent), None, None],
        (Fate::Done | Fate::Body, Some(dialed), Some(first)) => [
            Some(Evidence::Dialed(secs(dialed - began))),
            Some(Evidence::Answered(secs(first - dialed))),
            (trip.good()).then(|| Evidence::Received { bytes: attempt.size as u64, time: secs(trip.end - first) }),
        ],
        (Fate::Done | Fate::Body, ..) => [None; 3],
    }
}

fn outcome(job: Job, probe: &Probe) -> Outcome {
    let (trip, took) = (&probe.trip, secs(probe.trip.end - probe.began));
    match (trip.fate, trip.dialed) {
        (Fate::Done, Some(dialed)) => Outcome::Done(Sample {
            bytes: if job.kind == Kind::Test { TEST as u64 } else { 0 },
            time: took,
            dial: secs(dialed - probe.began),
            status: 200,
        }),
        (Fate::Dial(Refusal::Refused) | Fate::FirstByte(Refusal::Refused), _) => {
            Outcome::Failed { took, why: Fail::Refused("refused".into()) }
        }
        (Fate::Dial(Refusal::Timeout) | Fate::FirstByte(Refusal::Timeout), _) => {
            Outcome::Failed { took, why: Fail::Timeout(job.timeout) }
        }
        (Fate::Body | Fate::Done, _) => Outcome::Failed { took, why: Fail::Other("broken off".into()) },
    }
}

fn setup(design: &Design, count: usize, seed: u64) -> Setup {
    let subject = |member: usize| Subject { tag: tag(member), hop: hop(member), watched: true, print: member as u64 };
    Setup {
        subjects: (0..count).map(subject).collect(),
        groups: vec![Group {
            tag: "bench".into(),
            members: (0..count).collect(),
            weights: vec![Member::WEIGHT; count],
            rank: design.rank.clone(),
            guards: design.guards,
            wait: None,
            fenced: Vec::new(),
        }],
        plan: design.plan.clone(),
        guards: Guards::default(),
        idle: None,
        print: 1,
        seed,
    }
}

fn balancer(design: &Design, count: usize) -> Balancer {
    let member = |member: usize| Member { tag: tag(member), hop: hop(member), udp: true, weight: Member::WEIGHT };
    Balancer::new("bench".into(), (0..count).map(member).collect(), design.strategy, Exit::None)
}

fn tag(member: usize) -> Tag {
    format!("m{member}").as_str().into()
}

fn hop(member: usize) -> Hop {
    OutboundId(u32::try_from(member).unwrap_or(u32::MAX)).into()
}

fn secs(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds.max(0.0))
}
