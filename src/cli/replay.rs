//! `replay`: a journal again, under any of our strategies.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::time::Duration;

use comfy_table::Table;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use jiff::Timestamp;

use super::bench_args::Replay;
use super::exit::Exit;
use super::say;
use crate::balance::Setup;
use crate::journal::{About, Line, Lines, Read, What};
use crate::simulate::{Course, Record, Recorded, Row, replay};

/// `replay`.
pub fn run(args: &Replay) -> Exit {
    let design = match args.strategy.as_deref().map(|name| (name, row(name))) {
        None => None,
        Some((_, Some(row))) => row.design(),
        Some((name, None)) => {
            say::err(format!("no strategy {name}; there are {}", names().join(", ")));
            return Exit::Usage;
        }
    };
    let parts = match open(args).and_then(read) {
        Ok(parts) => parts,
        Err(error) => {
            say::err(format!("{}: {error}", args.journal.display()));
            return Exit::Failed;
        }
    };
    let courses: Vec<Course> =
        parts.iter().flat_map(|part| replay(&part.setup, &part.records, design.as_ref())).collect();
    if courses.is_empty() {
        say::err(format!("{}: no balancer and nothing measured is in it", args.journal.display()));
        return Exit::Failed;
    }
    courses.iter().for_each(|course| say::out(told(course)));
    Exit::Done
}

fn row(name: &str) -> Option<Row> {
    Row::ALL.into_iter().find(|row| row.name == name && !row.anchor())
}

fn names() -> Vec<&'static str> {
    Row::ALL.iter().filter(|row| !row.anchor()).map(|row| row.name).collect()
}

fn open(args: &Replay) -> io::Result<Box<dyn BufRead>> {
    if args.journal == "-" {
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    Ok(Box::new(BufReader::new(File::open(&args.journal)?)))
}

/// What a journal tells of one keeper, from its making to the next start of the engine.
struct Part {
    setup: Setup,
    records: Vec<Record>,
}

fn read(from: Box<dyn BufRead>) -> io::Result<Vec<Part>> {
    let (mut parts, mut open, mut bad): (Vec<Part>, BTreeMap<u32, usize>, usize) = (Vec::new(), BTreeMap::new(), 0);
    for line in Lines::new(from) {
        let Line { t, what } = match line? {
            Read::Line(line) => line,
            Read::Bad { number, why } => {
                bad += 1;
                if bad <= 3 {
                    say::err(format!("line {number}: {why}"));
                }
                continue;
            }
        };
        let at = Duration::from_millis(t);
        let (keeper, what) = match what {
            What::Start { .. } => {
                open.clear();
                continue;
            }
            What::Keeper { keeper, setup } => {
                open.insert(keeper, parts.len());
                parts.push(Part { setup: *setup, records: Vec::new() });
                continue;
            }
            What::Sample(sample) => {
                let (kind, outcome) = (sample.kind(), sample.outcome());
                (sample.keeper, Recorded::Sample { member: sample.member, kind, outcome })
            }
            What::Decision(word) if word.about == About::Serving => {
                (word.keeper, Recorded::Serving { balancer: word.balancer, member: word.member })
            }
            What::Seen(flow) => (flow.keeper, Recorded::Seen { balancer: flow.balancer.clone(), seen: flow.seen() }),
            What::Lost { lines } => {
                say::err(format!("{lines} lines were lost when this journal was written"));
                continue;
            }
            What::Decision(_) => continue,
        };
        if let Some(part) = open.get(&keeper).and_then(|&at| parts.get_mut(at)) {
            part.records.push(Record { at, what });
        }
    }
    if bad > 3 {
        say::err(format!("{bad} lines could not be read"));
    }
    parts.iter_mut().for_each(|part| part.records.sort_by_key(|record| record.at));
    Ok(parts)
}

/// Both columns of decisions in the order of time, and how far they agree.
fn told(course: &Course) -> String {
    let mut table = Table::new();
    table.load_preset(UTF8_FULL_CONDENSED).set_header(["time", "recorded", "replayed", "why"]);
    let text = ToString::to_string;
    let recorded = course.recorded.iter().map(|(at, member)| (*at, [text(member), String::new(), String::new()]));
    let replayed = course.replayed.iter().map(|(at, member, why)| (*at, [String::new(), text(member), why.clone()]));
    let mut changes: Vec<(Duration, [String; 3])> = recorded.chain(replayed).collect();
    changes.sort_by_key(|(at, _)| *at);
    for (at, cells) in changes {
        table.add_row([time(at)].into_iter().chain(cells));
    }
    let agreement = course.agreement().map_or_else(
        || "nothing to compare".to_owned(),
        |share| format!("the same member for {:.1} % of the time", 100.0 * share),
    );
    format!(
        "balancer {}: {} changes recorded, {} replayed, {agreement}\n{table}",
        course.balancer,
        course.recorded.len(),
        course.replayed.len()
    )
}

fn time(at: Duration) -> String {
    let seconds = i64::try_from(at.as_secs()).unwrap_or(i64::MAX);
    Timestamp::from_second(seconds).map_or_else(|_| format!("{seconds} s"), |time| time.to_string())
}
