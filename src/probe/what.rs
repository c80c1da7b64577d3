//! What a measurement does: the full test, a request for a sign of life, a plain connect, a question to a name server.

use std::ops::RangeInclusive;
use std::sync::Arc;

use reqwest::{Method, Url};

use crate::addr::{DomainName, Target};
use crate::balance::{Job, Kind};

/// What a measurement does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Fetches a body.
    Test(Test),
    /// Asks for a sign of life over HTTP.
    Ping(Ping),
    /// Opens and closes a plain TCP connection to the member's own server, as the `failover` seed asks.
    Tcp(Target),
    /// Asks a name server by UDP.
    Dns(Query),
}

/// The full test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Test {
    /// What is fetched.
    pub url: Url,
    /// Where reading stops.
    pub max_bytes: u64,
    /// The statuses that count as success.
    pub accept: RangeInclusive<u16>,
    /// Whether a member's server that answers tests itself is asked instead.
    pub responder: bool,
}

impl Test {
    /// How many redirects are followed: as many as browsers follow at most (balancing rule O2).
    pub const REDIRECTS: usize = 10;
}

/// A small request: any status is life.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ping {
    /// What is asked for.
    pub url: Url,
    /// How.
    pub method: Method,
    /// How much of the body is read at most; 0: none of it.
    pub body: u64,
}

impl Ping {
    /// A request whose body is not read.
    #[must_use]
    pub fn new(url: Url, method: Method) -> Self {
        Self { url, method, body: 0 }
    }
}

/// A question to a name server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// Who is asked.
    pub server: Target,
    /// For the address of whom.
    pub name: DomainName,
}

/// What each kind of measurement does to each subject of a keeper.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Means {
    /// One a subject.
    pub subjects: Vec<Mean>,
    /// What is asked for by no member.
    pub direct: Option<Arc<What>>,
}

/// What is done to one subject.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mean {
    /// The full test.
    pub test: Option<Arc<What>>,
    /// The plan's light probe.
    pub light: Option<Arc<What>>,
    /// The light probe of guards.
    pub life: Option<Arc<What>>,
    /// The light probe to a second address.
    pub second: Option<Arc<What>>,
}

impl Means {
    /// What a job asks for.
    #[must_use]
    pub fn of(&self, job: &Job) -> Option<Arc<What>> {
        let subject = job.subject.and_then(|at| self.subjects.get(at));
        match job.kind {
            Kind::Test => subject?.test.clone(),
            Kind::Light => subject?.light.clone(),
            // A plan that makes light probes has those of guards too.
            Kind::Life => subject.and_then(|mean| mean.life.clone().or_else(|| mean.light.clone())),
            Kind::Second => subject?.second.clone(),
            Kind::Direct => self.direct.clone(),
        }
    }
}
