//! From the arguments to named texts: which files, where they come from, and how much of them is read.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use super::args::Run;
use super::fetch::{self, Endpoint, FetchError};
use crate::reload::Watched;

/// Largest configuration that is read. A real one with every user of a large panel has some ten MiB.
pub const LIMIT: u64 = 64 << 20;

/// Names of configurations in a folder, in the order in which the first is the default one.
const EXTENSIONS: [&str; 5] = ["json", "jsonc", "toml", "yaml", "yml"];

/// One configuration text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// As it was given, without what could be a secret (the query of a URL).
    pub name: String,
    /// Its bytes, undecoded.
    pub bytes: Vec<u8>,
}

/// All texts of a run, and what was chosen on the way.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Gathered {
    /// In the order in which they are merged.
    pub texts: Vec<Text>,
    /// What the user did not say and should see.
    pub notes: Vec<String>,
}

/// A configuration that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The file system refuses.
    #[error("cannot read {name}: {source}")]
    Read {
        /// What was asked for.
        name: String,
        /// Why not.
        source: io::Error,
    },
    /// A folder where a file belongs.
    #[error("cannot read {0}: it is a folder (--confdir reads folders)")]
    Folder(String),
    /// Too large.
    #[error("{0} is larger than {limit} MiB, which no configuration is", limit = LIMIT >> 20)]
    TooLarge(String),
    /// The network refuses.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// `--confdir` alone, and it is not there.
    #[error("cannot read the folder {name}: {source}")]
    Confdir {
        /// The folder.
        name: String,
        /// Why not.
        source: io::Error,
    },
    /// A folder without any.
    #[error("the folder {0} holds no configuration (.json, .jsonc, .toml, .yaml, .yml)")]
    Empty(String),
    /// What was read to its end at the start.
    #[error("standard input cannot be read again")]
    Spent,
    /// Nothing was named, nothing was found, and a person sits at standard input.
    #[error("no configuration: name one with -c FILE, or see `etemenanki demo`")]
    Nothing,
}

/// Where things are looked for; apart, so that tests need no other process.
struct Place<'a> {
    /// Looks up an environment variable.
    env: &'a dyn Fn(&str) -> Option<String>,
    /// The working folder.
    folder: &'a Path,
    /// The folder of the program.
    program: Option<&'a Path>,
    /// Whether a person sits at standard input.
    terminal: bool,
}

/// Everything that `run` was given, in the order in which Xray reads it.
pub fn gather(run: &Run) -> Result<Gathered, SourceError> {
    let (names, notes) = named(run)?;
    let texts = names.iter().map(|name| read(name)).collect::<Result<_, _>>()?;
    Ok(Gathered { texts, notes })
}

/// The same once more while it runs: files may have come to a folder, addresses are asked again, standard input is spent.
pub fn again(run: &Run) -> Result<Vec<Text>, SourceError> {
    let (names, _) = named(run)?;
    if names.iter().any(|name| name == Path::new(STDIN)) {
        return Err(SourceError::Spent);
    }
    names.iter().map(|name| read(name)).collect()
}

/// What of it can be watched: files and folders.
pub fn watched(run: &Run) -> Watched {
    let names = named(run).map(|(names, _)| names).unwrap_or_default();
    let is_file = |name: &PathBuf| endpoint(&name.to_string_lossy()).is_none() && name != Path::new(STDIN);
    let env = |name: &str| std::env::var(name).ok();
    let place = Place { env: &env, folder: Path::new(""), program: None, terminal: false };
    let folders = run.confdir.as_deref().map(PathBuf::from).into_iter();
    let folders = folders.chain(variable(&place, "xray.location.confdir").map(PathBuf::from));
    Watched {
        files: names.into_iter().filter(is_file).collect(),
        folders: folders.filter(|folder| folder.is_dir()).collect(),
        endings: EXTENSIONS.to_vec(),
    }
}

/// The names of everything that `run` was given.
fn named(run: &Run) -> Result<(Vec<PathBuf>, Vec<String>), SourceError> {
    let program = std::env::current_exe().ok();
    let place = Place {
        env: &|name| std::env::var(name).ok(),
        folder: Path::new(""),
        program: program.as_deref().and_then(Path::parent),
        terminal: io::stdin().is_terminal(),
    };
    choose(run, &place)
}

/// The name of standard input.
const STDIN: &str = "stdin:";

/// Which texts, by name.
fn choose(run: &Run, place: &Place<'_>) -> Result<(Vec<PathBuf>, Vec<String>), SourceError> {
    let mut names: Vec<PathBuf> = run.config.iter().map(PathBuf::from).collect();
    let mut notes = Vec::new();
    let format = run.format.as_deref();
    let given = run.confdir.as_deref().map(|dir| (place.folder.join(dir), "arg"));
    let from_env = variable(place, "xray.location.confdir").map(|dir| (place.folder.join(dir), "env"));

    // A folder that was named and is not there is no fault as long as something else was: v2rayA always names one.
    let folder = [&given, &from_env].into_iter().flatten().find(|(dir, _)| dir.is_dir());
    match (folder, &given) {
        (Some((dir, origin)), _) => {
            notes.push(format!("Using confdir from {origin}: {}", dir.display()));
            let before = names.len();
            names.extend(configs_in(dir, format)?);
            if names.is_empty() && before == 0 {
                return Err(SourceError::Empty(dir.display().to_string()));
            }
        }
        (None, Some((dir, _))) if names.is_empty() => {
            let source = std::fs::read_dir(dir).err().unwrap_or_else(|| io::ErrorKind::NotADirectory.into());
            return Err(SourceError::Confdir { name: dir.display().to_string(), source });
        }
        (None, Some((dir, _))) => notes.push(format!("No confdir there: {}", dir.display())),
        (None, None) => {}
    }
    if !names.is_empty() {
        return Ok((names, notes));
    }

    let in_folder = EXTENSIONS.iter().map(|extension| place.folder.join(format!("config.{extension}")));
    if let Some(found) = in_folder.into_iter().find(|path| path.is_file()) {
        notes.push(format!("Using default config:  {}", found.display()));
        return Ok((vec![found], notes));
    }
    let elsewhere = variable(place, "xray.location.config").map(PathBuf::from);
    if let Some(found) = elsewhere.as_deref().or(place.program).map(|dir| dir.join("config.json"))
        && found.is_file()
    {
        notes.push(format!("Using config from env:  {}", found.display()));
        return Ok((vec![found], notes));
    }
    if place.terminal {
        return Err(SourceError::Nothing);
    }
    notes.push("Using config from STDIN".to_owned());
    Ok((vec![STDIN.into()], notes))
}

/// The configurations of a folder, in byte order of their names.
pub fn configs_in(dir: &Path, format: Option<&str>) -> Result<Vec<PathBuf>, SourceError> {
    let failed = |source| SourceError::Confdir { name: dir.display().to_string(), source };
    let wanted: &[&str] = match format {
        Some("json" | "jsonc") => &EXTENSIONS[..2],
        Some("toml") => &EXTENSIONS[2..3],
        Some("yaml" | "yml") => &EXTENSIONS[3..],
        _ => &EXTENSIONS,
    };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let fits = path.extension().and_then(OsStr::to_str).is_some_and(|extension| wanted.contains(&extension));
        if fits && !path.is_dir() {
            names.push(path);
        }
    }
    names.sort_by(|a, b| a.as_os_str().as_bytes().cmp(b.as_os_str().as_bytes()));
    Ok(names)
}

/// Reads one text, wherever it is.
pub fn read(argument: &Path) -> Result<Text, SourceError> {
    let name = argument.to_string_lossy();
    if name == STDIN {
        let bytes = read_bounded(io::stdin().lock(), "stdin")?;
        return Ok(Text { name: "stdin".to_owned(), bytes });
    }
    if let Some(endpoint) = endpoint(&name) {
        let bytes = fetch::get(&endpoint, LIMIT)?.ok_or_else(|| SourceError::TooLarge(endpoint.to_string()))?;
        return Ok(Text { name: endpoint.to_string(), bytes });
    }
    let failed = |source| SourceError::Read { name: name.clone().into_owned(), source };
    let file = File::open(argument).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(SourceError::Folder(name.into_owned()));
    }
    if metadata.is_file() && metadata.len() > LIMIT {
        return Err(SourceError::TooLarge(name.into_owned()));
    }
    let bytes = read_bounded(file, &name)?;
    Ok(Text { name: name.into_owned(), bytes })
}

fn read_bounded(from: impl Read, name: &str) -> Result<Vec<u8>, SourceError> {
    let mut bytes = Vec::new();
    let failed = |source| SourceError::Read { name: name.to_owned(), source };
    from.take(LIMIT + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > LIMIT { Err(SourceError::TooLarge(name.to_owned())) } else { Ok(bytes) }
}

/// What is fetched by HTTP, over whichever socket.
fn endpoint(argument: &str) -> Option<Endpoint> {
    let split = |text: &str| match text.find(":/") {
        Some(at) => (text[..at].to_owned(), text[at + 1..].to_owned()),
        None => (text.to_owned(), "/".to_owned()),
    };
    if argument.starts_with("http://") || argument.starts_with("https://") {
        return Some(Endpoint::Url(argument.to_owned()));
    }
    if let Some(rest) = argument.strip_prefix('@') {
        let (name, path) = split(rest.strip_prefix('@').unwrap_or(rest));
        return Some(Endpoint::Abstract { padded: rest.starts_with('@'), name, path });
    }
    // The old spelling puts socket and path together and lets `.sock` tell where one ends.
    if let Some(rest) = argument.strip_prefix("http+unix://") {
        let at = rest.find(".sock").map_or(rest.len(), |at| at + ".sock".len());
        let (socket, path) = rest.split_at(at);
        let path = path.strip_prefix(':').unwrap_or(path);
        let path = if path.is_empty() { "/" } else { path };
        return Some(Endpoint::Socket { socket: socket.into(), path: path.to_owned() });
    }
    if !argument.starts_with('/') || Path::new(argument).is_file() {
        return None;
    }
    let (socket, path) = split(argument);
    let is_socket = std::fs::metadata(&socket).is_ok_and(|metadata| metadata.file_type().is_socket());
    is_socket.then(|| Endpoint::Socket { socket: socket.into(), path })
}

/// `a.b.c` as it stands, then as `A_B_C`; V2Ray's prefix last.
fn variable(place: &Place<'_>, name: &str) -> Option<String> {
    let shell = name.to_uppercase().replace('.', "_");
    let old = shell.replacen("XRAY", "V2RAY", 1);
    [name, &shell, &old].into_iter().find_map(|name| (place.env)(name)).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests;
