//! `simulate`: the bench from the command line.

use std::io::IsTerminal;
use std::thread;

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, Table};
use indicatif::{ProgressBar, ProgressStyle};

use super::bench_args::Simulate;
use super::exit::Exit;
use super::say;
use crate::simulate::{Entry, Place, Played, Request, Retry, Row, Summary, picture, run as play};

/// `simulate`.
pub fn run(args: &Simulate) -> Exit {
    let request = match request(args) {
        Ok(request) => request,
        Err(unknown) => {
            say::err(unknown);
            return Exit::Usage;
        }
    };
    let bar = progress();
    let played = play(&request, &mut |done, of| {
        bar.set_length(of as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    let summary = match Summary::of(&request, &played) {
        Ok(summary) => summary,
        Err(error) => {
            say::err(format!("the result cannot be written as JSON: {error}"));
            return Exit::Failed;
        }
    };
    if args.json {
        say::out(serde_json::to_string_pretty(&summary).unwrap_or_default());
    } else {
        say::out(overview(&summary, &played));
        say::out(by_world(&summary, &request));
    }
    match args.svg.as_ref().zip(played.first()) {
        Some((file, first)) => {
            let names: Vec<String> = request.rows.iter().map(|(row, retry)| row.title(*retry)).collect();
            match std::fs::write(file, picture(&first.place.world(first.seed), first, &names)) {
                Ok(()) => Exit::Done,
                Err(error) => {
                    say::err(format!("{}: {error}", file.display()));
                    Exit::Failed
                }
            }
        }
        None => Exit::Done,
    }
}

fn request(args: &Simulate) -> Result<Request, String> {
    let (traces, families) = (Place::traces(), Place::families());
    let mut places = Vec::new();
    for name in &args.worlds {
        let all = || traces.iter().chain(&families);
        match name.as_str() {
            "traces" => places.extend(&traces),
            "families" => places.extend(&families),
            name => match all().find(|place| place.name.eq_ignore_ascii_case(name)) {
                Some(place) => places.push(*place),
                None => {
                    let names: Vec<_> = all().map(|place| place.name).collect();
                    return Err(format!("no world {name}; there are traces, families, {}", names.join(", ")));
                }
            },
        }
    }
    let mut rows = Vec::new();
    for name in &args.strategies {
        let Some(row) = Row::ALL.into_iter().find(|row| row.name == name) else {
            let names: Vec<_> = Row::ALL.iter().map(|row| row.name).collect();
            return Err(format!("no strategy {name}; there are {}", names.join(", ")));
        };
        rows.push((row, Retry::None));
    }
    if rows.is_empty() {
        rows.extend(Row::ALL.map(|row| (row, Retry::None)));
    }
    if args.retry_anchors {
        let anchors: Vec<Row> = rows.iter().map(|(row, _)| *row).filter(Row::anchor).collect();
        rows.extend(anchors.into_iter().map(|row| (row, Retry::Ours)));
    }
    let threads = thread::available_parallelism().map_or(1, usize::from);
    Ok(Request { seeds: args.seeds.iter().copied().map(u64::from).collect(), places, rows, threads })
}

fn progress() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} worlds, {eta} left");
    ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn overview(summary: &Summary, played: &[Played]) -> String {
    let items: usize = played.iter().map(|world| world.items).sum();
    let mut table = table(&[
        "strategy",
        "",
        "slowdown",
        "failed %",
        "switches/h",
        "exit changes %",
        "page p95 s",
        "probes kB/h/member",
    ]);
    for entry in &summary.strategies {
        table.add_row([
            entry.strategy.clone(),
            if entry.anchor { "model" } else { "ours" }.to_owned(),
            format!("{:.3}", entry.slowdown),
            format!("{:.3}", entry.failed_pct),
            format!("{:.1}", entry.switches_per_hour),
            format!("{:.1}", entry.exit_changes_pct),
            format!("{:.2}", entry.page_p95_s),
            format!("{:.0}", entry.probe_kb_per_hour_member),
        ]);
    }
    format!("{} worlds, {items} items; slowdown is against the best single member in hindsight\n{table}", played.len())
}

fn by_world(summary: &Summary, request: &Request) -> String {
    let heads: Vec<String> =
        request.places.iter().map(|place| format!("{}\n{}", place.name, place.about.replace(' ', "\n"))).collect();
    let heads: Vec<&str> = ["strategy"].into_iter().chain(heads.iter().map(String::as_str)).collect();
    let mut table = table(&heads);
    for entry in &summary.strategies {
        let cells = request.places.iter().map(|place| cell(entry, place.name));
        table.add_row([entry.strategy.clone()].into_iter().chain(cells));
    }
    format!("by world: slowdown, and failed % where any flow failed\n{table}")
}

fn cell(entry: &Entry, world: &str) -> String {
    let of = |key: &str| entry.traces.get(world).and_then(|trace| trace.get(key)).and_then(serde_json::Value::as_f64);
    let failed = of("failed_pct").filter(|failed| *failed >= 0.005).map(|failed| format!("\n{failed:.2}%"));
    format!("{:.3}{}", of("slowdown").unwrap_or_default(), failed.unwrap_or_default())
}

fn table(heads: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(UTF8_FULL_CONDENSED).set_header(heads);
    table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(worlds: &[&str], strategies: &[&str]) -> Simulate {
        Simulate {
            seeds: vec![1],
            worlds: worlds.iter().map(|&name| name.to_owned()).collect(),
            strategies: strategies.iter().map(|&name| name.to_owned()).collect(),
            json: false,
            svg: None,
            retry_anchors: true,
        }
    }

    #[test]
    fn names_choose_worlds_and_strategies() {
        let request = request(&args(&["t3", "families"], &["adaptive", "sing-box"])).expect("known names");
        assert_eq!(request.places.len(), 9);
        let titles: Vec<_> = request.rows.iter().map(|(row, retry)| row.title(*retry)).collect();
        assert_eq!(titles, ["adaptive", "sing-box", "sing-box+retry"], "only models get our retry");
    }

    #[test]
    fn unknown_names_are_told_with_those_there_are() {
        let error = request(&args(&["T11"], &[])).expect_err("no such world");
        assert!(error.contains("T11") && error.contains("S8"), "{error}");
        let error = request(&args(&["T1"], &["best"])).expect_err("no such strategy");
        assert!(error.contains("best") && error.contains("adaptive"), "{error}");
    }
}
