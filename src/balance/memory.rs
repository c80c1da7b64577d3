//! What a keeper knows, in a form that outlives it: carried over a reload, or written to a file for a restart.
//!
//! Times are ages, since clocks do not outlive a process. What is remembered of a member counts only while its
//! definition is the same, which its print tells.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// All that is remembered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// What was measured, by the print of the probe settings, then by member tag.
    pub subjects: BTreeMap<u64, BTreeMap<String, SubjectMemory>>,
    /// What was decided, by balancer tag.
    pub groups: BTreeMap<String, GroupMemory>,
}

impl Memory {
    /// Adds to all ages, and takes from what has an end: time went by while nobody looked.
    pub fn grow_older(&mut self, by: Duration) {
        let age = |age: &mut Duration| *age = age.saturating_add(by);
        for known in self.subjects.values_mut().flat_map(BTreeMap::values_mut) {
            known.tests.iter_mut().for_each(|test| age(&mut test.age));
            known.pings.iter_mut().for_each(|(at, _)| age(at));
            known.dials.iter_mut().for_each(|(at, _)| age(at));
            known.ejections.iter_mut().for_each(age);
            // One that is over still ends as every quarantine does.
            known.quarantine = known.quarantine.map(|left| left.saturating_sub(by));
        }
        for group in self.groups.values_mut() {
            if let Some((_, Some(left), _)) = &mut group.pin {
                *left = left.saturating_sub(by);
                if left.is_zero() {
                    group.pin = None;
                }
            }
        }
    }
}

/// What was measured of a member.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SubjectMemory {
    /// Print of its definition.
    pub print: u64,
    /// Whether it worked, if known.
    pub up: Option<bool>,
    /// The same for datagrams.
    pub up_udp: Option<bool>,
    /// Full tests, oldest first.
    pub tests: Vec<Test>,
    /// Light results, oldest first: age, and time or failure.
    pub pings: Vec<(Duration, Option<Duration>)>,
    /// Dials of real flows, oldest first: age and time.
    pub dials: Vec<(Duration, Duration)>,
    /// Smoothed share of successful tests.
    pub availability: Option<f64>,
    /// Average speed in the last round, in bytes per second.
    #[serde(default)]
    pub rate: Option<f64>,
    /// How much of its quarantine is left, if it is ejected.
    pub quarantine: Option<Duration>,
    /// Ages of its ejections.
    pub ejections: Vec<Duration>,
}

/// A full test that succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Test {
    /// How long ago it began.
    pub age: Duration,
    /// Its dial.
    pub dial: Duration,
    /// All of it.
    pub time: Duration,
    /// Body bytes.
    pub bytes: u64,
}

/// What was decided for a balancer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupMemory {
    /// Who served.
    pub serving: Option<String>,
    /// Who was pinned, for how much longer, and whether strictly.
    pub pin: Option<(String, Option<Duration>, bool)>,
    /// Who was fenced by a person.
    pub fenced: Vec<String>,
    /// The place in the rotation of round robin.
    pub turn: usize,
    /// The last decisions, oldest first: milliseconds since 1970, member, words.
    pub decisions: Vec<(u64, String, String)>,
}
