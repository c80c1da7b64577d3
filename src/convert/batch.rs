//! Every configuration of a folder, each into a file of its own.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use comfy_table::{Table, presets};
use indicatif::{ProgressBar, ProgressStyle};

use super::args::{ConvertArgs, ReportForm};
use super::conversion::{Options, convert, losses};
use super::output::{self, Written};
use super::report::{ConvertReport, Counts};
use super::status::{DONE, FAILED};
use crate::frontend::{Colour, LIMIT, Source, render};

/// Endings of configurations.
const ENDINGS: &[&str] = &["json", "jsonc", "yaml", "yml", "toml"];

/// Converts a folder. One bad file does not keep the others from being converted; the status tells of it.
pub fn run(folder: &Path, args: &ConvertArgs<'_>, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    let Some(target) = &args.output else {
        let _ = writeln!(err, "--batch needs -o FOLDER");
        return FAILED;
    };
    let inputs = match inputs(folder) {
        Ok(inputs) => inputs,
        Err(error) => {
            let _ = writeln!(err, "cannot read the folder {}: {error}", folder.display());
            return FAILED;
        }
    };
    if inputs.is_empty() {
        let _ = writeln!(err, "the folder {} holds no configuration ({})", folder.display(), ENDINGS.join(", "));
        return FAILED;
    }
    if !args.check
        && let Err(error) = std::fs::create_dir_all(target)
    {
        let _ = writeln!(err, "cannot make the folder {}: {error}", target.display());
        return FAILED;
    }
    let names = names(&inputs, args.to.word());
    let mut lines = vec![];
    let mut reports = vec![];
    let bar = bar(inputs.len());
    for (input, name) in inputs.iter().zip(&names) {
        bar.set_message(input.file_name().unwrap_or_default().to_string_lossy().into_owned());
        lines.push(file(input, &target.join(name), args, &mut reports, err));
        bar.inc(1);
    }
    bar.finish_and_clear();
    if args.report == ReportForm::Json {
        let _ = serde_json::to_writer_pretty(&mut *err, &reports);
        let _ = writeln!(err);
    }
    let _ = writeln!(out, "{}", table(&lines)).and_then(|()| out.flush());
    if lines.iter().all(|line| line.good) { DONE } else { FAILED }
}

/// One row of the summary.
struct Line {
    name: String,
    good: bool,
    result: String,
    counts: Counts,
    lost: usize,
}

fn file(
    input: &Path,
    target: &Path,
    args: &ConvertArgs<'_>,
    reports: &mut Vec<serde_json::Value>,
    err: &mut dyn Write,
) -> Line {
    let name = input.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let failed = |result: String| Line { name: name.clone(), good: false, result, counts: Counts::default(), lost: 0 };
    let bytes = match read(input) {
        Ok(bytes) => bytes,
        Err(error) => return failed(format!("cannot be read: {error}")),
    };
    let source = Source { name: input.display().to_string(), bytes, format: None };
    let converted = convert(vec![source], &Options { to: args.to, env: args.env });
    let lost = losses(&converted);
    if args.report == ReportForm::Json {
        reports.extend(serde_json::to_value(ConvertReport::of(&converted, args.to)));
    } else if converted.text.is_err() {
        let colour = if args.colour { Colour::Ansi } else { Colour::Plain };
        let _ = writeln!(err, "{}", render(&converted.sources, &converted.problems, colour).trim_end());
    }
    let (good, result) = match &converted.text {
        Err(failure) => (false, failure.to_string()),
        Ok(_) if args.strict && lost > 0 => (false, "not written: --strict".to_owned()),
        Ok(text) if args.check && output::same(target, text) => (true, "up to date".to_owned()),
        Ok(_) if args.check => (false, "would change".to_owned()),
        Ok(text) => match output::write(target, text, converted.secret, args.force) {
            Ok(Written::Done) => (true, "written".to_owned()),
            Ok(Written::Unchanged) => (true, "up to date".to_owned()),
            Err(error) => (false, error.to_string()),
        },
    };
    Line { name, good, result, counts: Counts::of(&converted.keys), lost }
}

fn inputs(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = vec![];
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let ending = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
        if ENDINGS.contains(&ending.as_str()) && path.is_file() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// `a.json` becomes `a.toml`; where two would share a name, both keep their ending before the new one.
fn names(inputs: &[PathBuf], ending: &str) -> Vec<String> {
    let short = |path: &Path| format!("{}.{ending}", path.file_stem().unwrap_or_default().to_string_lossy());
    let mut count: HashMap<String, usize> = HashMap::new();
    for input in inputs {
        *count.entry(short(input)).or_default() += 1;
    }
    let long = |path: &Path| format!("{}.{ending}", path.file_name().unwrap_or_default().to_string_lossy());
    inputs.iter().map(|path| if count[&short(path)] > 1 { long(path) } else { short(path) }).collect()
}

/// A file's bytes, but no more than tell that it is too large.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = vec![];
    let most = u64::try_from(LIMIT).unwrap_or(u64::MAX).saturating_add(1);
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Hidden by itself where standard error is no terminal.
fn bar(len: usize) -> ProgressBar {
    let bar = ProgressBar::new(u64::try_from(len).unwrap_or(u64::MAX));
    match ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn table(lines: &[Line]) -> String {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_BORDERS_ONLY).set_header(["file", "result", "keys", "lost or changed"]);
    for line in lines {
        table.add_row([line.name.clone(), line.result.clone(), line.counts.keys.to_string(), line.lost.to_string()]);
    }
    let good = lines.iter().filter(|line| line.good).count();
    format!("{table}\n{good} of {} converted", lines.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_collide() {
        let inputs = ["a.json", "a.yaml", "b.json"].map(PathBuf::from);
        assert_eq!(names(&inputs, "toml"), ["a.json.toml", "a.yaml.toml", "b.toml"]);
    }
}
