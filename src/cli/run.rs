//! `run`: from the arguments to a running engine, and the words on the way.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use super::args::Run;
use super::assets::assets;
use super::exit::Exit;
use super::say;
use super::serve::{self, Early, Reloading, StartError};
use super::sources::{self, SourceError, Text};
use super::words::{self, Wording};
use crate::engine::{Engine, Plan};
use crate::frontend::{Colour, Format, Loaded, Options, Source, headline, load, render, schema, xray};
use crate::geo::{Assets, Found};
use crate::model::config::Config;
use crate::reload;
use crate::shape::{Dialect, Kind, Plain, Severity};
use crate::telemetry::{Setup, Telemetry};

/// `run`, `--test` and `--dump`.
pub fn run(args: Run) -> Exit {
    let early = match Early::new() {
        Ok(early) => early,
        Err(error) => {
            say::out(wording_of_name(&args).not_started(&StartError::from(error).to_string()));
            return Exit::Start;
        }
    };
    let args = &args;
    let (mut loaded, print) = match gather(args) {
        Ok((loaded, notes, print)) => {
            // `--dump` prints nothing but the configuration.
            if !args.dump {
                greet(wording(&loaded), &notes);
            }
            (loaded, print)
        }
        Err(error) => {
            let wording = wording_of_name(args);
            greet(wording, &[]);
            say::out(wording.refused(&error.to_string(), 0, args.test));
            return Exit::Config;
        }
    };
    let mut config = loaded.link();
    reload::add_hosts(&mut loaded, config.as_mut(), Path::new(reload::SYSTEM_HOSTS));
    let assets = assets();
    let found = reload::load_lists(&mut loaded, &assets, None);
    if args.dump {
        return dump(&loaded, config.is_some());
    }
    if args.test {
        let more = schema::violations(&loaded);
        loaded.tell(more);
    } else {
        refuse_what_cannot_run(&mut loaded);
    }
    match config.filter(|_| !loaded.failed()) {
        None => refuse(&loaded, args.test),
        Some(config) if args.test => test(&loaded, Plan { config, lists: found.lists }),
        Some(config) => start(args.clone(), early, loaded, config, Running { print, assets, found }),
    }
}

/// Everything that was named, read and understood, what was chosen on the way, and a print of the texts.
fn gather(args: &Run) -> Result<(Loaded, Vec<String>, u64), SourceError> {
    let gathered = sources::gather(args)?;
    let env = |name: &str| std::env::var(name).ok();
    let named = sources_of(args, gathered.texts);
    let print = reload::print(&named);
    Ok((load(named, &Options { strict: args.strict, env: &env }), gathered.notes, print))
}

fn sources_of(args: &Run, texts: Vec<Text>) -> Vec<Source> {
    let format = args.format.as_deref().and_then(Format::of_word);
    texts.into_iter().map(|text| Source { name: text.name, bytes: text.bytes, format }).collect()
}

/// What a later reload compares with.
struct Running {
    /// A print of the texts.
    print: u64,
    assets: Assets,
    found: Found,
}

/// How changes are taken over while it runs; `usual`: files are watched unless the flags say otherwise.
fn reloading(args: Run, usual: bool, running: Running, telemetry: &Arc<Telemetry>) -> Reloading {
    let watch = args.watch || (!args.no_watch && usual);
    let watched = watch.then(|| sources::watched(&args));
    let (strict, telemetry) = (args.strict, Arc::clone(telemetry));
    let gather = move || {
        let texts = sources::again(&args).map_err(|error| error.to_string())?;
        Ok(sources_of(&args, texts))
    };
    let Running { print, assets, found } = running;
    Reloading { telemetry, gather: Arc::new(gather), strict, watched, print, assets, found }
}

fn greet(wording: Wording, notes: &[String]) {
    wording.banner().into_iter().chain(notes.iter().cloned()).for_each(say::out);
}

/// What is read but has no runtime yet must not start: traffic would go another way than the configuration says.
fn refuse_what_cannot_run(loaded: &mut Loaded) {
    for problem in loaded.problems.iter_mut().filter(|problem| problem.kind == Kind::NotBuilt) {
        problem.severity = Severity::Error;
    }
}

/// Every problem with its excerpt, then the reason as the last line.
fn refuse(loaded: &Loaded, test: bool) -> Exit {
    say::out(render(&loaded.sources, &loaded.problems, colour()));
    let wording = wording(loaded);
    let (reason, more) = match loaded.first_error() {
        Some((problem, more)) => {
            // Panels show this line alone, so it has the place too; the TOML messages are fixed words.
            let place = problem.span.and_then(|span| loaded.sources.place(span));
            let place = place.filter(|_| wording == Wording::Xray);
            let place = place.map(|(name, at)| format!("{name}:{}:{}: ", at.line, at.column)).unwrap_or_default();
            let path =
                if place.is_empty() || problem.path.is_empty() { String::new() } else { format!("{}: ", problem.path) };
            (format!("{place}{path}{}", problem.message), more)
        }
        None => ("the configuration cannot be used".to_owned(), 0),
    };
    say::out(wording.refused(&reason, more, test));
    Exit::Config
}

/// All that can be known without opening a socket.
fn test(loaded: &Loaded, plan: Plan) -> Exit {
    if !loaded.problems.is_empty() {
        say::out(render(&loaded.sources, &loaded.problems, colour()));
    }
    // What cannot run yet is no fault of the configuration, so it must not be held against it here.
    let missing = loaded.problems.iter().filter(|problem| problem.kind == Kind::NotBuilt).count();
    let logs = Setup::of(&plan.config.log).and_then(|setup| setup.try_open()).map_err(|error| error.to_string());
    let runs =
        || if missing == 0 { Engine::prepare(plan).map(drop).map_err(|error| error.to_string()) } else { Ok(()) };
    match logs.and_then(|()| runs()) {
        Ok(()) => {
            if missing > 0 {
                say::out(words::will_refuse(missing));
            }
            say::out("Configuration OK.");
            Exit::Done
        }
        Err(error) => {
            say::out(wording(loaded).refused(&error, 0, true));
            Exit::Config
        }
    }
}

/// Opens the logs, says there what was found in the configuration, and runs it.
fn start(args: Run, early: Early, loaded: Loaded, config: Config, running: Running) -> Exit {
    let wording = wording(&loaded);
    let telemetry = match Setup::of(&config.log).and_then(|setup| Telemetry::start(&setup)) {
        Ok(telemetry) => Arc::new(telemetry),
        Err(error) => {
            say::out(wording.refused(&error.to_string(), 0, false));
            return Exit::Config;
        }
    };
    telemetry.install();
    tell_faults();
    for problem in &loaded.problems {
        let line = headline(&loaded.sources, problem);
        match problem.severity {
            Severity::Note => tracing::info!(target: "core", "{line}"),
            _ => tracing::warn!(target: "core", "{line}"),
        }
    }
    let watch = config.services.reload.watch.unwrap_or(loaded.dialect == Dialect::Toml);
    let reloading = reloading(args, watch, running, &telemetry);
    // Texts, trees and places of a large configuration weigh more than what runs of it.
    drop(loaded);
    let ended = serve::until_told(early, config, wording, reloading);
    // What the log still has comes before the reason, which must be the last line.
    drop(telemetry);
    match ended {
        Ok(()) => Exit::Done,
        Err(error) => {
            say::out(wording.not_started(&error.to_string()));
            if matches!(error, StartError::Build(_)) { Exit::Config } else { Exit::Start }
        }
    }
}

/// A fault of ours ends one task and is told in the log, in words of our own: the runtime's would make panels take the
/// whole program for crashed, and write to standard error, which nobody reads.
fn tell_faults() {
    std::panic::set_hook(Box::new(|fault| {
        let place = fault.location().map(|at| format!(" at {}:{}", at.file(), at.line())).unwrap_or_default();
        let text = fault.payload().downcast_ref::<&str>().copied();
        let what = text.or_else(|| fault.payload().downcast_ref::<String>().map(String::as_str));
        let what = what.unwrap_or("no reason given");
        tracing::error!(target: "core", "internal fault{place}, please report it: {what}");
    }));
}

/// The merged configuration in Xray's JSON, with Xray's indent.
fn dump(loaded: &Loaded, good: bool) -> Exit {
    let Some(draft) = loaded.draft.as_ref().filter(|_| good) else {
        return refuse(loaded, false);
    };
    let mut draft = draft.clone();
    xray::write::prepare(&mut draft);
    let value = serde_json::Value::from(&Plain::from(xray::write::write(&draft)));
    let mut text = Vec::new();
    let indent = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    match serde::Serialize::serialize(&value, &mut serde_json::Serializer::with_formatter(&mut text, indent)) {
        Ok(()) => {
            say::out(String::from_utf8_lossy(&text));
            Exit::Done
        }
        Err(error) => {
            say::out(wording(loaded).refused(&error.to_string(), 0, false));
            Exit::Config
        }
    }
}

fn wording(loaded: &Loaded) -> Wording {
    Wording::of(loaded.dialect)
}

/// The words for a configuration that could not even be read: by its name.
fn wording_of_name(args: &Run) -> Wording {
    let name = args.config.first().map(|name| name.to_string_lossy());
    let given = args.format.as_deref().and_then(Format::of_word);
    match given.or_else(|| name.and_then(|name| Format::of_name(&name))) {
        Some(Format::Toml) => Wording::Own,
        _ => Wording::Xray,
    }
}

fn colour() -> Colour {
    let wanted = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    if wanted { Colour::Ansi } else { Colour::Plain }
}
