//! Who serves, and the boards and lines that show it.

use std::sync::Arc;
use std::time::Duration;

use super::super::board::Decision;
use super::super::moment::Moment;
use super::super::reason::Reason;
use super::super::roster::Around;
use super::super::rounds::Rounds;
use super::super::setup::{Plan, Rank};
use super::super::story::Story;
use super::lights::wall_ms;
use super::{Act, Keeper};

impl Keeper {
    /// Something about a member changed: its balancers' boards follow, at once where it is urgent.
    pub(super) fn touch(&mut self, subject: usize, urgent: bool) {
        for &(group, _) in &self.places[subject] {
            self.rosters[group].dirty = true;
            self.rosters[group].urgent |= urgent;
        }
    }

    /// Lets a group's waiting flows go, once its next board is out.
    pub(super) fn release(&mut self, group: usize) {
        if std::mem::take(&mut self.rosters[group].waiting) {
            self.released.push(group);
            self.rosters[group].urgent = true;
        }
    }

    /// Lets everybody go.
    pub(super) fn release_all(&mut self) {
        (0..self.rosters.len()).for_each(|group| self.release(group));
    }

    /// Age from which light results do not count.
    pub(super) fn oldest(&self) -> Option<Duration> {
        match self.setup.plan {
            Plan::Burst { interval, sampling, .. } => Some(interval.saturating_mul(sampling).saturating_mul(2)),
            _ => None,
        }
    }

    /// Runs something on a roster and what it shows.
    fn with<T>(
        &mut self,
        group: usize,
        now: Moment,
        run: impl FnOnce(&mut super::Roster, &super::Group, &Around<'_>) -> T,
    ) -> T {
        let rounds = self.rounds.as_ref();
        let half_life = rounds.map_or(Duration::ZERO, |rounds| rounds.plan().interval.mul_f64(1.5));
        let next_round = rounds.and_then(Rounds::due);
        let mut next = vec![next_round; self.health.len()];
        self.rhythm.tell(&mut next);
        let around = Around {
            health: &self.health,
            subjects: &self.setup.subjects,
            next: &next,
            now: now.steady,
            next_round,
            outage: self.outage.is_some(),
            oldest: self.oldest(),
            bursts: matches!(self.setup.plan, Plan::Burst { .. }),
            half_life: half_life.max(Duration::from_secs(300)),
        };
        run(&mut self.rosters[group], &self.setup.groups[group], &around)
    }

    /// Decides anew in all balancers of a member.
    pub(super) fn settle_all(&mut self, subject: usize, now: Moment, acts: &mut Vec<Act>) {
        let mut groups: Vec<usize> = self.places[subject].iter().map(|&(group, _)| group).collect();
        groups.dedup();
        for group in groups {
            self.settle(group, true, now, acts);
        }
    }

    /// Ranks a balancer's members anew, and tells when another one serves.
    pub(super) fn settle(&mut self, group: usize, deciding: bool, now: Moment, acts: &mut Vec<Act>) {
        let was = self.rosters[group].serving();
        let deciding = deciding && !(self.rosters[group].first && self.rounds.is_some() && !self.scored(group));
        self.with(group, now, |roster, setup, around| roster.rank(setup, around, deciding));
        if self.rosters[group].serving() != was {
            self.tell_serving(group, was, true, now, acts);
        }
    }

    /// Whether any member has a score.
    fn scored(&self, group: usize) -> bool {
        self.setup.groups[group]
            .members
            .iter()
            .any(|&at| self.health.get(at).is_some_and(|health| health.measured.is_some()))
    }

    /// Lets a member serve before there are scores.
    pub(super) fn serve(&mut self, group: usize, seat: usize, why: Reason, now: Moment, acts: &mut Vec<Act>) {
        let was = self.rosters[group].serving();
        self.rosters[group].put_first(seat);
        self.rosters[group].why = why;
        let changed = was != Some(seat);
        let was = was.filter(|_| changed || self.rosters[group].told.is_some());
        self.tell_serving(group, was, changed, now, acts);
        (self.rosters[group].dirty, self.rosters[group].urgent) = (true, true);
    }

    /// A round counts: every term is told, then who serves.
    pub(super) fn end_of_round(&mut self, group: usize, now: Moment, acts: &mut Vec<Act>) {
        let before = self.rosters[group].serving();
        self.with(group, now, |roster, setup, around| roster.rank(setup, around, true));
        let (name, tag) = (self.name(group), self.setup.groups[group].tag.clone());
        let number = self.rounds.as_ref().map_or(0, Rounds::number);
        for (at, &subject) in self.setup.groups[group].members.iter().enumerate() {
            let Some(member) = self.setup.subjects.get(subject).map(|subject| subject.tag.clone()) else { continue };
            let terms = self.rosters[group].terms_line(&self.setup.groups[group], &self.health, at);
            let line = format!("{name} {tag} round {number}: member {member} {terms}").into();
            acts.push(Act::Tell(Story::Scored { balancer: tag.clone(), member, line }));
        }
        let roster = &mut self.rosters[group];
        (roster.first, roster.round) = (false, number);
        let (told, serving) = (roster.told, roster.serving());
        // The first word on it is news even where it changes nothing: then nobody was told to serve before.
        let was = told.or_else(|| before.filter(|_| before != serving));
        let all_zero = self.rosters[group].why == Reason::AllZero;
        if all_zero && !self.rosters[group].all_zero {
            let line = format!("balancer {tag}: every score is 0, the serving member stays");
            self.note(&line, true, acts);
        }
        self.rosters[group].all_zero = all_zero;
        self.tell_serving(group, was, told != serving, now, acts);
        (self.rosters[group].dirty, self.rosters[group].urgent) = (true, true);
    }

    /// `optimal B round N: serving M score=… (was K score=…): reason` (DECISIONS 31); both scores are of this round.
    fn tell_serving(&mut self, group: usize, was: Option<usize>, changed: bool, now: Moment, acts: &mut Vec<Act>) {
        let roster = &self.rosters[group];
        let Some(serving) = roster.serving() else { return };
        let setup = &self.setup.groups[group];
        let tag =
            |at: usize| setup.members.get(at).and_then(|&at| self.setup.subjects.get(at)).map(|subject| &subject.tag);
        let named = |at: Option<usize>| {
            let Some(member) = at.and_then(tag) else { return "none".to_owned() };
            match (at.and_then(|at| roster.score_of(at)), &setup.rank) {
                (Some(score), _) => format!("{member} score={score:.0}"),
                (None, Rank::Rate | Rank::Adaptive(_)) => format!("{member} score=?"),
                (None, _) => member.to_string(),
            }
        };
        let Some(member) = tag(serving).cloned() else { return };
        let round = match &self.rounds {
            Some(rounds) => format!(" round {}", rounds.number()),
            None => String::new(),
        };
        let what = format!("serving {} (was {}): {}", named(Some(serving)), named(was), roster.why);
        let line: Arc<str> = format!("{} {}{round}: {what}", self.name(group), setup.tag).into();
        let balancer = setup.tag.clone();
        acts.push(Act::Tell(Story::Serving { balancer, member: member.clone(), changed, line }));
        if changed {
            self.rosters[group].told = Some(serving);
            self.rosters[group].decided(Decision { wall_ms: wall_ms(now), member, what: what.into() });
        }
    }

    fn name(&self, group: usize) -> &'static str {
        match self.setup.groups[group].rank {
            Rank::None { .. } => "balancer",
            Rank::List { .. } => "failover",
            Rank::Delay => "least_ping",
            Rank::Load(_) => "least_load",
            Rank::Rate => "optimal",
            Rank::Adaptive(_) => "adaptive",
        }
    }

    /// Makes the boards that are due.
    pub(super) fn show(&mut self, now: Moment, acts: &mut Vec<Act>) {
        for group in 0..self.rosters.len() {
            let roster = &self.rosters[group];
            let calm = roster.published.is_some_and(|at| now.steady.saturating_sub(at) < Self::CALM);
            if !roster.urgent && (calm || !roster.dirty) {
                continue;
            }
            self.settle(group, false, now, acts);
            let board = self.with(group, now, |roster, setup, around| {
                (roster.dirty, roster.urgent, roster.published) = (false, false, Some(now.steady));
                roster.board(setup, around)
            });
            let setup = &self.setup.groups[group];
            let up = (0..setup.members.len()).any(|at| self.rosters[group].usable(setup, &self.health, at));
            acts.push(Act::Publish(group, Arc::new(board)));
            if std::mem::replace(&mut self.rosters[group].up, up) != up {
                acts.push(Act::Status(group, up));
            }
        }
        for group in std::mem::take(&mut self.released) {
            acts.push(Act::Release(group));
        }
    }
}
