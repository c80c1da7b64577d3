//! How an answer came about, for people who ask. Whoever only wants the answer has no trace, and then nothing is noted and no
//! clock is read.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::error::DnsError;
use super::family::{Families, Family};
use super::look::Looked;
use super::plan::Why;
use crate::addr::DomainName;

/// All that happened while a name was looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    /// The families that were asked for.
    pub families: Families,
    /// The names that the hosts know something of, each with the places of the conditions that it meets, as aliases led from
    /// one to the next.
    pub hosts: Vec<(DomainName, Vec<usize>)>,
    /// The name that servers were asked about; absent where the hosts said everything.
    pub name: Option<DomainName>,
    /// Every server: first those that are asked, in their order, then the others.
    pub servers: Vec<Considered>,
    /// What those said that had something to say, in the order in which they said it.
    pub heard: Vec<Heard>,
    /// What came of it.
    pub outcome: Result<Looked, DnsError>,
    /// How long all of it took.
    pub took: Duration,
}

/// A server, and whether it is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Considered {
    /// Its place among the servers.
    pub place: usize,
    /// As the configuration writes it.
    pub server: Arc<str>,
    /// Why it stands where it does.
    pub why: Why,
    /// The condition of its own that the name meets, as written.
    pub rule: Option<String>,
    /// Whether it moved behind the others, as it did not answer of late.
    pub absent: bool,
}

/// What a server said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// Its place among the servers.
    pub place: usize,
    /// What it said to each question; none where it is not asked by questions.
    pub parts: Vec<Part>,
    /// Addresses among them that the configuration does not want from it.
    pub unwanted: Vec<IpAddr>,
    /// What is left, and for how many seconds it is good.
    pub outcome: Result<(Vec<IpAddr>, u32), DnsError>,
    /// How long it took.
    pub took: Duration,
}

/// What a server said to one question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Which addresses were asked for.
    pub family: Family,
    /// Where the answer is from.
    pub how: How,
    /// The addresses, for how many seconds they are good, and the response code.
    pub said: Result<(Vec<IpAddr>, u32, u16), DnsError>,
}

/// Where an answer is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// The server was asked.
    Asked,
    /// The server had been asked by somebody else, and its answer was on its way.
    Joined,
    /// It was kept.
    Kept,
    /// It was kept past its time, and a new one is being fetched.
    Stale,
}

/// Where servers' words are noted.
#[derive(Debug, Default)]
pub(super) struct Trace(Mutex<Vec<Heard>>);

impl Trace {
    pub(super) fn note(&self, heard: Heard) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(heard);
    }

    pub(super) fn heard(&self) -> Vec<Heard> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
