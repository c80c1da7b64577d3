//! A conversion as the command line asks for it: result to `out`, words to `err`, an exit status.

use std::io::Write;

use super::args::{ConvertArgs, ReportForm};
use super::batch;
use super::conversion::{Converted, Failure, Options, convert, losses};
use super::output::{self, Written};
use super::report::{self, ConvertReport};
use super::status::{CONFIG, DONE, FAILED};
use crate::frontend::{Colour, render};

/// Runs a conversion; returns the exit status.
pub fn run(args: ConvertArgs<'_>, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    match &args.batch {
        Some(folder) => batch::run(folder, &args, out, err),
        None => one(args, out, err),
    }
}

fn one(mut args: ConvertArgs<'_>, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    let options = Options { to: args.to, env: args.env };
    let converted = convert(std::mem::take(&mut args.sources), &options);
    tell(&converted, &args, err);
    let (status, word) = match &converted.text {
        Ok(_) if args.strict && losses(&converted) > 0 => {
            let n = losses(&converted);
            let lost = if n == 1 { "1 key is".to_owned() } else { format!("{n} keys are") };
            (FAILED, Some(format!("{lost} lost or changed, which --strict does not allow; nothing is written")))
        }
        Ok(text) => put(text, &converted, &args, out),
        Err(failure) => (failed(failure), Some(failure.to_string())),
    };
    if let Some(word) = word.filter(|_| args.report != ReportForm::Json || status != DONE) {
        let _ = writeln!(err, "{word}");
    }
    status
}

/// The status of a failed conversion.
fn failed(failure: &Failure) -> u8 {
    match failure {
        Failure::Input => CONFIG,
        Failure::Unreadable(_) | Failure::Different(_) => FAILED,
    }
}

/// The findings and the report.
fn tell(converted: &Converted, args: &ConvertArgs<'_>, err: &mut dyn Write) {
    if args.report == ReportForm::Json {
        let report = ConvertReport::of(converted, args.to);
        let _ = serde_json::to_writer_pretty(&mut *err, &report);
        let _ = writeln!(err);
        return;
    }
    let colour = if args.colour { Colour::Ansi } else { Colour::Plain };
    let found = render(&converted.sources, &converted.problems, colour);
    if !found.is_empty() {
        let _ = writeln!(err, "{}", found.trim_end());
    }
    let _ = writeln!(err, "{}", report::summary(converted));
    let rest = match args.report {
        ReportForm::Text => report::table(converted),
        _ => report::remarkable(converted),
    };
    if !rest.is_empty() {
        let _ = writeln!(err, "{}", rest.trim_end());
    }
}

fn put(text: &str, converted: &Converted, args: &ConvertArgs<'_>, out: &mut dyn Write) -> (u8, Option<String>) {
    match (&args.output, args.check) {
        (Some(path), true) if output::same(path, text) => (DONE, Some(format!("{} is up to date", path.display()))),
        (Some(path), true) => (FAILED, Some(format!("{} would change", path.display()))),
        (Some(path), false) => match output::write(path, text, converted.secret, args.force) {
            Ok(Written::Done) => (DONE, Some(format!("written to {}", path.display()))),
            Ok(Written::Unchanged) => (DONE, Some(format!("{} is up to date", path.display()))),
            Err(error) => (FAILED, Some(error.to_string())),
        },
        (None, true) => (DONE, None),
        (None, false) => match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Ok(()) => (DONE, None),
            // A reader that has gone away (`… | head`) has what it wanted.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => (DONE, None),
            Err(error) => (FAILED, Some(format!("cannot write to standard output: {error}"))),
        },
    }
}
