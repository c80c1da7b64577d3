//! A config as verbs want it that do what its engine would do, without its listeners.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::Path;

use super::assets::assets;
use super::sources;
use crate::engine::{Engine, Plan, Ready};
use crate::frontend::{Colour, Options, Source, load, render};
use crate::geo::Assets;
use crate::model::config::Config;
use crate::reload;
use crate::shape::{Kind, Severity};

/// A config that could run.
pub struct Prepared {
    /// What would run.
    pub ready: Ready,
    /// What it says.
    pub config: Config,
    /// The geodata files without which it is to be.
    pub absent: BTreeSet<String>,
}

/// What of geodata lists that are not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    /// The config cannot run.
    Refuse,
    /// They hold nothing.
    Empty,
}

/// Reads files as `run` does, or tells all that is wrong with them.
pub fn prepared(files: &[OsString]) -> Result<Prepared, String> {
    prepare(read(files)?, &assets(), Absent::Refuse)
}

/// The texts of files.
pub fn read(files: &[OsString]) -> Result<Vec<Source>, String> {
    let texts = files.iter().map(|file| sources::read(Path::new(file))).collect::<Result<Vec<_>, _>>();
    let texts = texts.map_err(|error| error.to_string())?;
    Ok(texts.into_iter().map(|text| Source { name: text.name, bytes: text.bytes, format: None }).collect())
}

/// Makes of texts what would run, or tells all that is wrong with them.
pub fn prepare(sources: Vec<Source>, assets: &Assets, absent: Absent) -> Result<Prepared, String> {
    let mut loaded = load(sources, &Options { strict: false, env: &|name| std::env::var(name).ok() });
    let mut config = loaded.link();
    reload::add_hosts(&mut loaded, config.as_mut(), Path::new(reload::SYSTEM_HOSTS));
    let (found, absent) = match absent {
        Absent::Refuse => (reload::load_lists(&mut loaded, assets, None), BTreeSet::new()),
        Absent::Empty => reload::lists_there_are(&loaded, assets),
    };
    // What does not run has no way that could be told.
    for problem in loaded.problems.iter_mut().filter(|problem| problem.kind == Kind::NotBuilt) {
        problem.severity = Severity::Error;
    }
    let Some(config) = config.filter(|_| !loaded.failed()) else {
        let plain = !io::stderr().is_terminal() || std::env::var_os("NO_COLOR").is_some();
        loaded.problems.retain(|problem| problem.severity == Severity::Error);
        return Err(render(&loaded.sources, &loaded.problems, if plain { Colour::Plain } else { Colour::Ansi }));
    };
    let plan = Plan { config: config.clone(), lists: found.lists };
    let ready = Engine::prepare(plan).map_err(|error| error.to_string())?;
    Ok(Prepared { ready, config, absent })
}
