//! A server: who it is, what it said before, and whether it is there.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::ask::{Question, by_tcp, by_udp};
use super::cache::{Answer, Cache, Kept, MOST, Rules};
use super::error::DnsError;
use super::family::{Families, Family};
use super::filter::Filter;
use crate::addr::{DomainName, Tag};
use crate::flow::Services;
use crate::geo::{CompileError, Lists};
use crate::model::dns::{Dns as Written, DnsServer, DnsServerSpec, ServerForm};

/// One server of the section.
#[derive(Debug)]
pub(super) struct Server {
    settings: Settings,
    /// As the configuration writes it.
    pub(super) name: Arc<str>,
    expected: Filter,
    unexpected: Filter,
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

type Outcome = Result<Answer, DnsError>;

/// A server that is absent is passed over for twice as long each time, and no longer than this.
const LONGEST_ABSENCE: u64 = 60;

impl Server {
    /// Makes a server; one of `before` that is equal lends what it knows.
    pub(super) fn new(
        dns: &Written,
        server: &DnsServer,
        form: ServerForm,
        lists: &Lists,
        before: &[Arc<Self>],
    ) -> Result<Self, CompileError> {
        let spec = &server.spec;
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
            name: settings.spec.address.as_str().into(),
            expected: Filter::new(&spec.expected_ips, lists)?,
            unexpected: Filter::new(&spec.unexpected_ips, lists)?,
            settings,
            known,
        })
    }

    /// Whether it did not answer of late.
    pub(super) fn is_absent(&self) -> bool {
        self.known.lock().absent_until > self.known.now()
    }

    /// The addresses of a name, as far as this server knows them and the configuration wants them. Ready at once where all
    /// is known.
    pub(super) async fn ask(
        self: &Arc<Self>,
        house: &Arc<dyn Services>,
        name: &DomainName,
        wants: Families,
    ) -> Result<Vec<IpAddr>, DnsError> {
        let wants = wants.and(self.settings.families);
        let found = match self.settings.form {
            ServerForm::System => self.by_system(name, wants).await?,
            _ => self.by_question(house, name, wants).await?,
        };
        let wanted = self.expected.keep(found, true).and_then(|ips| self.unexpected.keep(ips, false));
        wanted.ok_or_else(|| DnsError::Unwanted { server: Arc::clone(&self.name) })
    }

    async fn by_system(&self, name: &DomainName, wants: Families) -> Result<Vec<IpAddr>, DnsError> {
        let found = tokio::net::lookup_host((name.as_str(), 0)).await;
        // What the system says of a name that does not exist cannot be told from its other failures.
        let found = found.map_err(|error| self.unreachable(error.to_string()))?;
        let ips: Vec<IpAddr> = found.map(|at| at.ip().to_canonical()).filter(|ip| wants.hold(*ip)).collect();
        if ips.is_empty() { Err(DnsError::NoAddress) } else { Ok(ips) }
    }

    async fn by_question(
        self: &Arc<Self>,
        house: &Arc<dyn Services>,
        name: &DomainName,
        wants: Families,
    ) -> Result<Vec<IpAddr>, DnsError> {
        let v4 = self.one(house, name, Family::V4, wants.v4);
        let v6 = self.one(house, name, Family::V6, wants.v6);
        let (v4, v6) = tokio::join!(v4, v6);
        let (mut ips, mut error) = (vec![], None);
        for outcome in [v4, v6].into_iter().flatten() {
            match outcome {
                Ok(answer) if answer.ips.is_empty() => {
                    let none = if answer.code == NO_NAME { DnsError::NoName } else { DnsError::NoAddress };
                    error.get_or_insert(none);
                }
                Ok(answer) => ips.extend_from_slice(&answer.ips),
                // That a server failed says more than that it knows no address of the other family.
                Err(failure) => error = Some(failure),
            }
        }
        if ips.is_empty() { Err(error.unwrap_or(DnsError::NoAddress)) } else { Ok(ips) }
    }

    async fn one(
        self: &Arc<Self>,
        house: &Arc<dyn Services>,
        name: &DomainName,
        family: Family,
        wanted: bool,
    ) -> Option<Outcome> {
        if !wanted {
            return None;
        }
        let kept = self.known.lock().cache.get(name, family, self.known.now());
        match kept {
            Kept::Fresh(answer, _) => Some(Ok(answer)),
            Kept::Stale(answer) => {
                drop(self.fetch(house, name, family));
                Some(Ok(answer))
            }
            Kept::Nothing => {
                let mut flight = self.fetch(house, name, family);
                let landed = flight.wait_for(Option::is_some).await.ok().and_then(|landed| landed.clone());
                Some(landed.unwrap_or_else(|| Err(self.unreachable("the question was given up".to_owned()))))
            }
        }
    }

    /// Joins a question that is on its way, or sends one. It goes on without whoever asked first.
    fn fetch(
        self: &Arc<Self>,
        house: &Arc<dyn Services>,
        name: &DomainName,
        family: Family,
    ) -> watch::Receiver<Option<Outcome>> {
        let key = (name.clone(), family);
        let mut state = self.known.lock();
        if let Some(flight) = state.flights.get(&key).filter(|flight| flight.has_changed().is_ok()) {
            return flight.clone();
        }
        let (landing, flight) = watch::channel(None);
        state.flights.insert(key.clone(), flight.clone());
        drop(state);
        let (me, house) = (Arc::clone(self), Arc::clone(house));
        tokio::spawn(async move {
            let outcome = me.query(&house, &key.0, key.1).await;
            me.known.land(&key, &outcome);
            landing.send_replace(Some(outcome.map(|(answer, _)| answer)));
        });
        flight
    }

    async fn query(
        &self,
        house: &Arc<dyn Services>,
        name: &DomainName,
        family: Family,
    ) -> Result<(Answer, u32), DnsError> {
        let limit = self.settings.spec.timeout.0;
        let (tag, client) = (&self.settings.tag, self.settings.client);
        let question = Question { name, family, client };
        let asked = async {
            match &self.settings.form {
                ServerForm::Udp(server) => by_udp(house, tag, server, question).await,
                ServerForm::Tcp { target, direct } => by_tcp(house, tag, target, *direct, question).await,
                ServerForm::System | ServerForm::Fake | ServerForm::Other(_) => {
                    Err(std::io::ErrorKind::Unsupported.into())
                }
            }
        };
        let begun = Instant::now();
        let reply = match timeout(limit, asked).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(error)) => return Err(self.unreachable(error.to_string())),
            Err(_) => return Err(DnsError::Silent { server: Arc::clone(&self.name), limit }),
        };
        tracing::debug!(target: "dns", "{}: {name} {family:?}: {:?}, {:?}", self.name, reply, begun.elapsed());
        match reply.code {
            0 | NO_NAME => Ok((Answer { ips: reply.ips.into(), code: reply.code }, reply.ttl)),
            code => Err(DnsError::Code { server: Arc::clone(&self.name), code }),
        }
    }

    fn unreachable(&self, why: String) -> DnsError {
        DnsError::Unreachable { server: Arc::clone(&self.name), why }
    }
}

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

    fn land(&self, key: &(DomainName, Family), outcome: &Result<(Answer, u32), DnsError>) {
        let now = self.now();
        let mut state = self.lock();
        state.flights.remove(key);
        match outcome {
            Ok((answer, ttl)) => state.cache.put(key.0.clone(), key.1, answer.clone(), *ttl, now),
            Err(error) if error.is_absence() => {
                state.failures = state.failures.saturating_add(1);
                state.absent_until = now + 1u64.checked_shl(state.failures).unwrap_or(u64::MAX).min(LONGEST_ABSENCE);
                return;
            }
            Err(_) => {}
        }
        state.failures = 0;
        state.absent_until = 0;
    }
}
