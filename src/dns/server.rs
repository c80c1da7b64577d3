//! A server: who it is, what it said before, and whether it is there.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::ask::asker::Asker;
use super::ask::fault::Fault;
use super::ask::question::Question;
use super::cache::{Answer, Cache, Kept, MOST, Rules};
use super::error::{DnsError, Unbuilt};
use super::fakes::Givers;
use super::family::{Families, Family};
use super::filter::Filter;
use super::given::Given;
use super::look::Asked;
use super::system::{System, Unknown};
use super::told;
use super::trace::{Heard, How, Part, Trace};
use crate::addr::{DomainName, Tag};
use crate::flow::Services;
use crate::model::dns::{Dns as Written, DnsServer, DnsServerSpec};
use crate::model::serverform::ServerForm;

/// One server of the section.
#[derive(Debug)]
pub(super) struct Server {
    settings: Settings,
    /// As the configuration writes it.
    pub(super) name: Arc<str>,
    expected: Filter,
    unexpected: Filter,
    /// Absent: the operating system is asked.
    asker: Option<Asker>,
    system: Arc<System>,
    /// Who gives fake addresses in place of its answers.
    fakes: Option<Givers>,
    known: Arc<Known>,
}

/// What decides whether answers that were kept are still those of this server.
#[derive(Debug, Clone, PartialEq)]
struct Settings {
    spec: DnsServerSpec,
    form: ServerForm,
    tag: Tag,
    client: Option<IpAddr>,
    families: Families,
    rules: Rules,
}

/// What goes on at a reload.
#[derive(Debug)]
struct Known {
    state: Mutex<State>,
    begun: Instant,
}

#[derive(Debug)]
struct State {
    cache: Cache,
    /// Questions that are on their way.
    flights: HashMap<(DomainName, Family), watch::Receiver<Option<Outcome>>>,
    /// Failures in a row, and the second until which the server counts as absent.
    failures: u32,
    absent_until: u64,
}

/// An answer and for how many seconds it is good.
type Outcome = Result<(Answer, u32), DnsError>;

/// The addresses that a server knows and the configuration wants from it, and for how many seconds they are good.
pub(super) type Found = (Vec<IpAddr>, u32);

/// Where to note what a server says, and its place.
pub(super) type Note<'a> = Option<(&'a Trace, usize)>;

/// For how many seconds a fake address is good (Xray's number): it means its name only for as long as that is remembered.
const FAKE_TTL: u32 = 1;

/// A server that is absent is passed over for twice as long each time, and no longer than this.
const LONGEST_ABSENCE: u64 = 60;

impl Server {
    /// Makes a server; one of `before` that is equal lends what it knows.
    pub(super) fn new(
        dns: &Written,
        server: &DnsServer,
        Given { lists, fakes, crypto }: Given<'_>,
        system: &Arc<System>,
        before: &[Arc<Self>],
    ) -> Result<Self, Unbuilt> {
        let spec = &server.spec;
        let form = spec.form()?;
        let asker = Asker::new(&form, crypto)?;
        let own = spec.query_strategy.map_or(Families::BOTH, Families::of);
        let stale = spec.serve_stale.unwrap_or(dns.serve_stale).then(|| {
            let limit = spec.serve_expired_ttl.as_ref().unwrap_or(&dns.serve_expired_ttl).0.as_secs();
            if limit == 0 { u64::MAX } else { limit }
        });
        let keeps = form != ServerForm::System && !spec.disable_cache.unwrap_or(dns.disable_cache);
        let settings = Settings {
            spec: spec.clone(),
            form,
            tag: if spec.tag.is_empty() { dns.tag.clone() } else { spec.tag.clone() },
            client: spec.client_ip.or(dns.client_ip),
            families: own.and(Families::of(dns.query_strategy)),
            rules: Rules { keeps, stale },
        };
        let twin = before.iter().find(|old| old.settings == settings);
        let known = twin.map_or_else(|| Arc::new(Known::new(settings.rules)), |old| Arc::clone(&old.known));
        Ok(Self {
            name: name_of(&settings).into(),
            expected: Filter::new(&spec.expected_ips, lists)?,
            unexpected: Filter::new(&spec.unexpected_ips, lists)?,
            asker,
            system: Arc::clone(system),
            fakes: fakes.of(&spec.fake_dns, settings.form == ServerForm::Fake),
            settings,
            known,
        })
    }

    /// Whether it did not answer of late.
    pub(super) fn is_absent(&self) -> bool {
        self.known.lock().absent_until > self.known.now()
    }

    /// Whether what it gives stands for names only until a client comes back with it.
    pub(super) fn is_fake(&self) -> bool {
        self.settings.form == ServerForm::Fake
    }

    /// Its own condition at this place, as written.
    pub(super) fn rule(&self, at: usize) -> Option<String> {
        self.settings.spec.domains.0.get(at).map(ToString::to_string)
    }

    /// The addresses of a name, as far as this server knows them and the configuration wants them. Ready at once where all
    /// is known.
    pub(super) async fn ask(
        self: &Arc<Self>,
        house: &Arc<dyn Services>,
        name: &DomainName,
        asked: Asked,
        note: Note<'_>,
    ) -> Result<Found, DnsError> {
        let Some((trace, place)) = note else { return self.wanted(self.find(house, name, asked, &mut None).await?) };
        let (begun, mut parts) = (Instant::now(), Some(vec![]));
        let found = self.find(house, name, asked, &mut parts).await;
        let given = found.as_ref().map(|(ips, _)| ips.clone()).unwrap_or_default();
        let outcome = found.and_then(|found| self.wanted(found));
        let kept = outcome.as_ref().map(|(ips, _)| ips.as_slice()).unwrap_or_default();
        let unwanted = given.into_iter().filter(|ip| !kept.contains(ip)).collect();
        let parts = parts.unwrap_or_default();
        trace.note(Heard { place, parts, unwanted, outcome: outcome.clone(), took: begun.elapsed() });
        outcome
    }

    async fn find(
        self: &Arc<Self>,
        house: &Arc<dyn Services>,
        name: &DomainName,
        asked: Asked,
        parts: &mut Option<Vec<Part>>,
    ) -> Result<Found, DnsError> {
        let wants = asked.families.and(self.settings.families);
        if wants.is_empty() {
            return Err(DnsError::NoAddress);
        }
        if let Some(fakes) = self.fakes.as_ref().filter(|_| asked.fakes) {
            let ips = fakes.give(name, wants);
            tracing::debug!(target: "dns", "{}: {name}: fake {ips:?}", self.name);
            return if ips.is_empty() { Err(DnsError::NoAddress) } else { Ok((ips, FAKE_TTL)) };
        }
        match self.settings.form {
            ServerForm::System => self.by_system(name, wants).await,
            _ => self.by_question(house, name, wants, parts).await,
        }
    }

    /// Takes away what the configuration does not want from this server.
    fn wanted(&self, (ips, ttl): Found) -> Result<Found, DnsError> {
        let wanted = self.expected.keep(ips, true).and_then(|ips| self.unexpected.keep(ips, false));
        wanted.map(|ips| (ips, ttl)).ok_or_else(|| DnsError::Unwanted { server: Arc::clone(&self.name) })
    }

    async fn by_system(&self, name: &DomainName, wants: Families) -> Result<Found, DnsError> {
        let begun = is_told().then(Instant::now);
        let found = self.of_system(name, wants).await;
        if let (Some(begun), Ok((ips, _))) = (begun, &found) {
            let outcome = told::Outcome { found: Ok(ips), took: Some(begun.elapsed()) };
            tracing::info!(target: "access::dns", "localhost got answer: {name} -> {outcome}");
        }
        found
    }

    async fn of_system(&self, name: &DomainName, wants: Families) -> Result<Found, DnsError> {
        let limit = self.settings.spec.timeout.0;
        let found = self.system.look(name, limit).await;
        self.known.note(found == Err(Unknown::Silent));
        let found = found.map_err(|why| match why {
            Unknown::Failed(why) => self.unreachable(Fault::Io(why.to_string())),
            Unknown::Silent => DnsError::Silent { server: Arc::clone(&self.name), limit },
        })?;
        let ips: Vec<IpAddr> = found.iter().copied().filter(|ip| wants.hold(*ip)).collect();
        if ips.is_empty() { Err(DnsError::NoAddress) } else { Ok((ips, SYSTEM_TTL)) }
    }

    async fn by_question(
        self: &Arc<Self>,
        house: &Arc<dyn Services>,
        name: &DomainName,
        wants: Families,
        parts: &mut Option<Vec<Part>>,
    ) -> Result<Found, DnsError> {
        let begun = is_told().then(Instant::now);
        let v4 = self.one(house, name, Family::V4, wants.v4);
        let v6 = self.one(house, name, Family::V6, wants.v6);
        let (v4, v6) = tokio::join!(v4, v6);
        if let Some(parts) = parts {
            let part = |family, said: &Option<(How, Outcome)>| {
                let (how, outcome) = said.as_ref()?;
                let said = outcome.clone().map(|(answer, ttl)| (answer.ips.to_vec(), ttl, answer.code));
                Some(Part { family, how: *how, said })
            };
            parts.extend([part(Family::V4, &v4), part(Family::V6, &v6)].into_iter().flatten());
        }
        let hows = begun.map(|_| [&v4, &v6].into_iter().flatten().map(|(how, _)| *how).collect::<Vec<_>>());
        let (mut ips, mut ttl, mut error) = (vec![], u32::MAX, None);
        for (_, outcome) in [v4, v6].into_iter().flatten() {
            match outcome {
                Ok((answer, _)) if answer.ips.is_empty() => {
                    let none = if answer.code == NO_NAME { DnsError::NoName } else { DnsError::NoAddress };
                    error.get_or_insert(none);
                }
                Ok((answer, good)) => {
                    ips.extend_from_slice(&answer.ips);
                    ttl = ttl.min(good);
                }
                // That a server failed says more than that it knows no address of the other family.
                Err(failure) => error = Some(failure),
            }
        }
        let found = if ips.is_empty() { Err(error.unwrap_or(DnsError::NoAddress)) } else { Ok((ips, ttl)) };
        if let (Some(begun), Some(hows)) = (begun, hows)
            && let Some(status) = told::status(&hows)
        {
            let took = hows.contains(&How::Asked).then(|| begun.elapsed());
            let outcome = told::Outcome { found: found.as_ref().map(|(ips, _)| ips.as_slice()), took };
            let server = told::name_of(&self.settings.form, &self.name);
            tracing::info!(target: "access::dns", "{server} {status} {name}. -> {outcome}");
        }
        found
    }

    async fn one(
        self: &Arc<Self>,
        house: &Arc<dyn Services>,
        name: &DomainName,
        family: Family,
        wanted: bool,
    ) -> Option<(How, Outcome)> {
        if !wanted {
            return None;
        }
        let kept = self.known.lock().cache.get(name, family, self.known.now());
        match kept {
            Kept::Fresh(answer, left) => Some((How::Kept, Ok((answer, left)))),
            Kept::Stale(answer) => {
                drop(self.fetch(house, name, family));
                Some((How::Stale, Ok((answer, 1))))
            }
            Kept::Nothing => {
                let (how, mut flight) = self.fetch(house, name, family);
                let landed = flight.wait_for(Option::is_some).await.ok().and_then(|landed| landed.clone());
                let lost = || Err(self.unreachable(Fault::Ended));
                Some((how, landed.unwrap_or_else(lost)))
            }
        }
    }

    /// Joins a question that is on its way, or sends one. It goes on without whoever asked first.
    fn fetch(
        self: &Arc<Self>,
        house: &Arc<dyn Services>,
        name: &DomainName,
        family: Family,
    ) -> (How, watch::Receiver<Option<Outcome>>) {
        let key = (name.clone(), family);
        let mut state = self.known.lock();
        if let Some(flight) = state.flights.get(&key).filter(|flight| flight.has_changed().is_ok()) {
            return (How::Joined, flight.clone());
        }
        let (landing, flight) = watch::channel(None);
        state.flights.insert(key.clone(), flight.clone());
        drop(state);
        let (me, house) = (Arc::clone(self), Arc::clone(house));
        tokio::spawn(async move {
            let outcome = me.query(&house, &key.0, key.1).await;
            me.known.land(&key, &outcome);
            landing.send_replace(Some(outcome));
        });
        (How::Asked, flight)
    }

    async fn query(&self, house: &Arc<dyn Services>, name: &DomainName, family: Family) -> Outcome {
        let limit = self.settings.spec.timeout.0;
        let asker = self.asker.as_ref().ok_or_else(|| self.unreachable(Fault::Ended))?;
        let question = Question { name, family, client: self.settings.client };
        let begun = Instant::now();
        let reply = match timeout(limit, asker.ask(house, &self.settings.tag, question, limit)).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(fault)) => return Err(self.unreachable(fault)),
            Err(_) => return Err(DnsError::Silent { server: Arc::clone(&self.name), limit }),
        };
        tracing::debug!(target: "dns", "{}: {name} {family:?}: {:?}, {:?}", self.name, reply, begun.elapsed());
        match reply.code {
            0 | NO_NAME => Ok((Answer { ips: reply.ips.into(), code: reply.code }, reply.ttl)),
            code => Err(DnsError::Code { server: Arc::clone(&self.name), code }),
        }
    }

    fn unreachable(&self, why: Fault) -> DnsError {
        DnsError::Unreachable { server: Arc::clone(&self.name), why }
    }
}

/// Whether the access log wants to know which names were asked about.
fn is_told() -> bool {
    tracing::enabled!(target: "access::dns", tracing::Level::INFO)
}

/// A server as the configuration writes it, with its port where that is not the usual one.
fn name_of(settings: &Settings) -> String {
    match &settings.form {
        ServerForm::Udp(target) if target.port != 53 => target.to_string(),
        _ => settings.spec.address.clone(),
    }
}

/// For how many seconds what the system says is good; it does not tell (Xray's number).
const SYSTEM_TTL: u32 = 300;

/// The response code of a name that does not exist.
const NO_NAME: u16 = 3;

impl Known {
    fn new(rules: Rules) -> Self {
        let cache = Cache::new(rules, MOST);
        let state = State { cache, flights: HashMap::new(), failures: 0, absent_until: 0 };
        Self { state: Mutex::new(state), begun: Instant::now() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that is done under it can leave it half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        self.begun.elapsed().as_secs()
    }

    fn land(&self, key: &(DomainName, Family), outcome: &Outcome) {
        let now = self.now();
        let mut state = self.lock();
        state.flights.remove(key);
        if let Ok((answer, ttl)) = outcome {
            state.cache.put(key.0.clone(), key.1, answer.clone(), *ttl, now);
        }
        state.note(now, outcome.as_ref().is_err_and(DnsError::is_absence));
    }

    /// Notes whether the server was absent.
    fn note(&self, absent: bool) {
        let now = self.now();
        self.lock().note(now, absent);
    }
}

impl State {
    fn note(&mut self, now: u64, absent: bool) {
        self.failures = if absent { self.failures.saturating_add(1) } else { 0 };
        let pause = 1u64.checked_shl(self.failures).unwrap_or(u64::MAX).min(LONGEST_ABSENCE);
        self.absent_until = if absent { now + pause } else { 0 };
    }
}
