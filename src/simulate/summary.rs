//! What all worlds together say of each strategy.

use serde::Serialize;
use serde_json::{Map, Value};

use super::bench::{Played, Request};
use super::rows::{Retry, Row};
use super::tally::{Score, mean};

/// The result of a run, in the form in which it is printed as JSON.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// One entry a strategy, in the order asked for.
    pub strategies: Vec<Entry>,
}

/// One strategy over all worlds. The slowdown is the geometric mean over worlds, all else the plain one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// Its name.
    pub strategy: String,
    /// Whether it is a model of somebody else's.
    pub anchor: bool,
    /// Mean slowdown against the best member in hindsight.
    pub slowdown: f64,
    /// Failed flows, in percent.
    pub failed_pct: f64,
    /// Changes of the pick an hour.
    pub switches_per_hour: f64,
    /// Changes of a site's exit, in percent of items.
    pub exit_changes_pct: f64,
    /// 95th percentile of page times, in seconds.
    pub page_p95_s: f64,
    /// Probe traffic in kB an hour and member.
    pub probe_kb_per_hour_member: f64,
    /// The same by kind of world.
    pub traces: Map<String, Value>,
}

/// One strategy in the worlds of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct ByTrace {
    slowdown: f64,
    failed_pct: f64,
    switches_per_hour: f64,
    recover_s: Option<f64>,
}

impl Summary {
    /// Sums a run up.
    ///
    /// # Errors
    /// When a number cannot be written as JSON; that would be a fault of the bench.
    pub fn of(request: &Request, played: &[Played]) -> Result<Self, serde_json::Error> {
        let entry = |(at, (row, retry)): (usize, &(Row, Retry))| {
            let scores: Vec<&Score> = played.iter().filter_map(|world| world.scores.get(at)).collect();
            let mut traces = Map::new();
            for place in &request.places {
                let here = played.iter().filter(|world| world.place.name == place.name);
                let here: Vec<&Score> = here.filter_map(|world| world.scores.get(at)).collect();
                let by_trace = ByTrace {
                    slowdown: average(&here, |score| score.slowdown),
                    failed_pct: average(&here, |score| score.failed),
                    switches_per_hour: average(&here, |score| score.switches),
                    recover_s: mean(&here.iter().filter_map(|score| score.recover).collect::<Vec<_>>()),
                };
                traces.insert(place.name.to_owned(), serde_json::to_value(by_trace)?);
            }
            Ok(Entry {
                strategy: row.title(*retry),
                anchor: row.anchor(),
                slowdown: libm::exp(average(&scores, |score| libm::log(score.slowdown))),
                failed_pct: average(&scores, |score| score.failed),
                switches_per_hour: average(&scores, |score| score.switches),
                exit_changes_pct: average(&scores, |score| score.exits),
                page_p95_s: average(&scores, |score| score.page_p95),
                probe_kb_per_hour_member: average(&scores, |score| score.probes),
                traces,
            })
        };
        let strategies = request.rows.iter().enumerate().map(entry).collect::<Result<_, serde_json::Error>>()?;
        Ok(Self { strategies })
    }
}

fn average(scores: &[&Score], of: impl Fn(&Score) -> f64) -> f64 {
    mean(&scores.iter().map(|score| of(score)).collect::<Vec<_>>()).unwrap_or(0.0)
}
