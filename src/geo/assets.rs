//! Finds geodata files, and compiles the lists that a config names. The only place here that touches files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::build::Builder;
use super::dat::{Scan, SiteKind, networks, sites};
use super::lists::{Lists, Wanted};
use super::names::Names;
use super::nets::Nets;
use crate::model::lists::Holds;
use crate::model::matcher::{ListRef, regex};
use crate::shape::nearest;

/// The directories that geodata files are looked for in, the first that holds a file counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Assets {
    dirs: Vec<PathBuf>,
    /// Files that are to be looked for elsewhere.
    instead: BTreeMap<String, PathBuf>,
}

/// What loading gave.
#[derive(Debug, Default)]
pub struct Found {
    /// The lists that could be had.
    pub lists: Lists,
    /// Those that could not, and why.
    pub faults: Vec<(ListRef, Holds, ListError)>,
    /// Entries that mean nothing and were left out, in words; no more than a few of each list.
    pub skipped: Vec<String>,
    /// Bytes of the entries that were decoded for them.
    pub decoded: u64,
    /// The files as they were.
    stamps: BTreeMap<String, Stamp>,
}

/// How to tell whether a file is still the same.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    path: PathBuf,
    len: u64,
    modified: Option<SystemTime>,
}

/// Why a list cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// A path that leads out of the asset directories.
    #[error("{file}: a geodata file must lie inside the asset directory, so its name is relative and without `..`")]
    Outside {
        /// As written.
        file: String,
    },
    /// There is no such file.
    #[error("{file}: there is no such geodata file in {}", places(dirs))]
    NoFile {
        /// As written.
        file: String,
        /// Where it was looked for.
        dirs: Vec<PathBuf>,
    },
    /// The file cannot be read, or is none.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file has no such list.
    #[error("{}: there is no list {code} in it", path.display())]
    NoList {
        /// Which file.
        path: PathBuf,
        /// The list.
        code: String,
        /// A list of it with nearly that name.
        near: Option<String>,
    },
}

impl ListError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Outside { .. } | Self::File { .. } => None,
            Self::NoFile { .. } => {
                Some("put the file there, or name its directory in the environment: XRAY_LOCATION_ASSET=DIR".into())
            }
            Self::NoList { near: Some(near), .. } => Some(format!("did you mean {}?", near.to_lowercase())),
            Self::NoList { path, .. } => {
                Some(format!("`etemenanki geodata list {}` shows what it holds", path.display()))
            }
        }
    }
}

fn places(dirs: &[PathBuf]) -> String {
    let dirs: Vec<String> = dirs.iter().map(|dir| dir.display().to_string()).collect();
    if dirs.is_empty() { "any asset directory".into() } else { dirs.join(", ") }
}

/// Where packages of Xray and V2Ray put their files.
const SHARED: &[&str] = &[
    "/usr/local/share/xray",
    "/usr/share/xray",
    "/opt/share/xray",
    "/usr/local/share/v2ray",
    "/usr/share/v2ray",
    "/opt/share/v2ray",
];

impl Assets {
    /// These directories, in order.
    #[must_use]
    pub fn new(dirs: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { dirs: dirs.into_iter().collect(), instead: BTreeMap::new() }
    }

    /// Where Xray and V2Ray look: the directory that the environment names, or else that of the program, then those of
    /// packages.
    #[must_use]
    pub fn usual(env: &dyn Fn(&str) -> Option<String>, program: Option<&Path>) -> Self {
        let names = ["XRAY_LOCATION_ASSET", "xray.location.asset", "V2RAY_LOCATION_ASSET", "v2ray.location.asset"];
        let named = names.iter().find_map(|name| env(name)).filter(|dir| !dir.is_empty());
        let first = named.map(PathBuf::from).or_else(|| program?.parent().map(Path::to_path_buf));
        let shared = SHARED.iter().filter(|_| cfg!(unix)).map(PathBuf::from);
        Self::new(first.into_iter().chain(shared))
    }

    /// The same with some files in place of those that lie there, as they would be after an update.
    #[must_use]
    pub fn with(&self, files: impl IntoIterator<Item = (String, PathBuf)>) -> Self {
        Self { dirs: self.dirs.clone(), instead: files.into_iter().collect() }
    }

    /// The directories.
    #[must_use]
    pub fn dirs(&self) -> &[PathBuf] {
        &self.dirs
    }

    /// Where a file lies.
    ///
    /// # Errors
    /// [`ListError`] if the name leads elsewhere, or there is no such file.
    pub fn path(&self, file: &str) -> Result<PathBuf, ListError> {
        let inside = |part: Component<'_>| matches!(part, Component::Normal(_));
        if !Path::new(file).components().all(inside) || file.is_empty() {
            return Err(ListError::Outside { file: file.to_owned() });
        }
        let instead = self.instead.get(file).cloned();
        let found = instead.or_else(|| self.dirs.iter().map(|dir| dir.join(file)).find(|path| path.is_file()));
        found.ok_or_else(|| ListError::NoFile { file: file.to_owned(), dirs: self.dirs.clone() })
    }

    /// Compiles lists, each file read once. Those of a file that has not changed since `before` are taken over.
    #[must_use]
    pub fn load(&self, wanted: &Wanted, before: Option<&Found>) -> Found {
        let mut found = Found::default();
        let all = wanted.names.iter().map(|list| (list, Holds::Names));
        let all = all.chain(wanted.nets.iter().map(|list| (list, Holds::Networks)));
        let mut files: BTreeMap<&str, Vec<(&ListRef, Holds)>> = BTreeMap::new();
        for (list, holds) in all {
            files.entry(&list.file).or_default().push((list, holds));
        }
        for (file, mut lists) in files {
            let Ok(path) = self.path(file) else {
                let fault = |(list, holds): (&ListRef, Holds)| Some((list.clone(), holds, self.path(file).err()?));
                found.faults.extend(lists.into_iter().filter_map(fault));
                continue;
            };
            let stamp = stamp(&path);
            let same = before.filter(|before| stamp.is_some() && before.stamps.get(file) == stamp.as_ref());
            if let Some(before) = same {
                lists.retain(|(list, holds)| !found.lists.take_over(&before.lists, list, *holds));
            }
            if let Err(source) = read(&path, &lists, &mut found) {
                let said = source.to_string();
                for (list, holds) in lists {
                    let source = io::Error::new(source.kind(), said.clone());
                    found.faults.push((list.clone(), holds, ListError::File { path: path.clone(), source }));
                }
                continue;
            }
            found.stamps.extend(stamp.map(|stamp| (file.to_owned(), stamp)));
        }
        found
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let known = path.metadata().ok()?;
    Some(Stamp { path: path.to_path_buf(), len: known.len(), modified: known.modified().ok() })
}

/// One pass over a file for all lists that are wanted of it.
fn read(path: &Path, wanted: &[(&ListRef, Holds)], found: &mut Found) -> io::Result<()> {
    if wanted.is_empty() {
        return Ok(());
    }
    let mut left: BTreeSet<(&ListRef, Holds)> = wanted.iter().copied().collect();
    let mut scan = Scan::new(File::open(path)?)?;
    let mut codes = vec![];
    while let Some(code) = scan.next_entry()? {
        let mine = |(list, _): &(&ListRef, Holds)| list.code.eq_ignore_ascii_case(&code.name);
        let here: Vec<_> = left.iter().copied().filter(mine).collect();
        if !here.is_empty() {
            let (body, base) = scan.body()?;
            found.decoded += code.size;
            for (list, holds) in here {
                // The first entry of a name counts.
                left.remove(&(list, holds));
                match holds {
                    Holds::Names => found.lists.put_names(list.clone(), names(list, body, base, &mut found.skipped)?),
                    Holds::Networks => found.lists.put_nets(list.clone(), nets(list, body, base, &mut found.skipped)?),
                }
            }
            if left.is_empty() {
                return Ok(());
            }
        }
        codes.push(code.name);
    }
    for (list, holds) in left {
        let near = nearest(&list.code, codes.iter().map(String::as_str)).map(str::to_owned);
        let fault = ListError::NoList { path: path.to_path_buf(), code: list.code.to_lowercase(), near };
        found.faults.push((list.clone(), holds, fault));
    }
    Ok(())
}

/// Entries of one list that are told of when left out.
const TOLD: usize = 3;

/// Counts what is left out of a list, and tells of the first few.
struct Skips<'a> {
    list: &'a ListRef,
    count: usize,
    told: &'a mut Vec<String>,
}

impl Skips<'_> {
    fn skip(&mut self, what: impl FnOnce() -> String) {
        self.count += 1;
        if self.count <= TOLD {
            self.told.push(format!("{}:{}: left out {}", self.list.file, self.list.code.to_lowercase(), what()));
        }
    }

    fn close(self) {
        if self.count > TOLD {
            let more = self.count - TOLD;
            self.told.push(format!("{}:{}: left out {more} more", self.list.file, self.list.code.to_lowercase()));
        }
    }
}

fn names(list: &ListRef, body: &[u8], base: u64, told: &mut Vec<String>) -> io::Result<Arc<Names>> {
    let mut skips = Skips { list, count: 0, told };
    let mut set = Builder::default();
    for site in sites(body, base) {
        let site = site.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        if !list.attrs.iter().all(|attribute| site.has(attribute)) {
            continue;
        }
        let Some(value) = site.value else {
            skips.skip(|| "an entry that is not UTF-8".into());
            continue;
        };
        match site.kind {
            SiteKind::Regex => match regex(value) {
                Ok(()) => set.regex(value, 0),
                Err(why) => skips.skip(|| why),
            },
            SiteKind::Keyword => set.keyword(&value.to_lowercase(), false, 0),
            SiteKind::Suffix => set.suffix(&value.to_lowercase(), 0),
            SiteKind::Full => set.full(&value.to_lowercase(), 0),
            SiteKind::Other(kind) => skips.skip(|| format!("`{value}`, which is of the unknown kind {kind}")),
        }
    }
    skips.close();
    set.finish().map(Arc::new).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

fn nets(list: &ListRef, body: &[u8], base: u64, told: &mut Vec<String>) -> io::Result<Arc<Nets>> {
    let mut skips = Skips { list, count: 0, told };
    let mut all = vec![];
    for net in networks(body, base) {
        match net.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))? {
            Some(net) => all.push(net),
            None => skips.skip(|| "an entry that is no network".into()),
        }
    }
    skips.close();
    Ok(Arc::new(Nets::new(all)))
}

#[cfg(test)]
mod tests;
