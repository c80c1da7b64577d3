//! Which files are watched, and when they have come to rest.
//!
//! Folders are watched, not files: editors and managers of configurations write beside a file and rename, and a watch of
//! the file itself would follow the old one away.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout_at};

/// Quiet after which a file counts as written.
const REST: Duration = Duration::from_millis(300);

/// A file that never comes to rest is looked at all the same.
const MOST: Duration = Duration::from_millis(1500);

/// What is watched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Watched {
    /// Files by name.
    pub files: Vec<PathBuf>,
    /// Folders, of which every file with one of the endings counts.
    pub folders: Vec<PathBuf>,
    /// Those endings.
    pub endings: Vec<&'static str>,
}

/// Changes of watched files.
pub(super) struct Changes {
    _watcher: RecommendedWatcher,
    events: mpsc::Receiver<()>,
}

impl Watched {
    /// Begins to watch.
    pub(super) fn start(&self) -> notify::Result<Changes> {
        // One that waits is enough: it says that something happened, not what.
        let (sender, events) = mpsc::channel(1);
        let names: BTreeSet<OsString> =
            self.files.iter().filter_map(|file| file.file_name()).map(ToOwned::to_owned).collect();
        let endings = if self.folders.is_empty() { vec![] } else { self.endings.clone() };
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if event.is_ok_and(|event| is_change(&event.kind) && concerns(&event.paths, &names, &endings)) {
                let _ = sender.try_send(());
            }
        })?;
        for folder in self.places() {
            watcher.watch(&folder, RecursiveMode::NonRecursive)?;
        }
        Ok(Changes { _watcher: watcher, events })
    }

    /// The folders to watch: also those of files that are only linked to.
    fn places(&self) -> BTreeSet<PathBuf> {
        let real = |file: &PathBuf| std::fs::canonicalize(file).ok();
        let files = self.files.iter().cloned().chain(self.files.iter().filter_map(real));
        let folder = |file: PathBuf| match file.parent() {
            Some(parent) if parent != Path::new("") => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        let places = files.map(folder).chain(self.folders.iter().cloned());
        places.map(|place| std::fs::canonicalize(&place).unwrap_or(place)).collect()
    }
}

impl Changes {
    /// Waits for a change, and until nothing changes any more for a moment.
    pub(super) async fn next(&mut self) -> Option<()> {
        self.events.recv().await?;
        let last = Instant::now() + MOST;
        loop {
            let rest = (Instant::now() + REST).min(last);
            match timeout_at(rest, self.events.recv()).await {
                Ok(Some(())) if Instant::now() < last => {}
                Ok(None) => {
                    sleep_until(rest).await;
                    return Some(());
                }
                Ok(Some(())) | Err(_) => return Some(()),
            }
        }
    }
}

/// Reading is no change; we read ourselves.
fn is_change(kind: &EventKind) -> bool {
    !matches!(kind, EventKind::Access(kind) if *kind != AccessKind::Close(AccessMode::Write))
}

/// Whether one of the paths is watched. Names that begin with two points are the links by which Kubernetes swaps the files
/// of a folder.
fn concerns(paths: &[PathBuf], names: &BTreeSet<OsString>, endings: &[&str]) -> bool {
    let ends = |path: &Path| path.extension().and_then(|e| e.to_str()).is_some_and(|e| endings.contains(&e));
    let watched = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        names.contains(name) || name.as_encoded_bytes().starts_with(b"..") || ends(path)
    };
    paths.is_empty() || paths.iter().any(watched)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_changes_of_watched_files_count() {
        let names = BTreeSet::from([OsString::from("config.json")]);
        let concerns = |path: &str, endings: &[&str]| concerns(&[path.into()], &names, endings);
        assert!(concerns("/a/config.json", &[]) && concerns("/a/..data", &[]));
        assert!(!concerns("/a/access.log", &[]) && !concerns("/a/other.json", &[]));
        assert!(concerns("/a/other.json", &["json"]));
        assert!(is_change(&EventKind::Any) && is_change(&EventKind::Access(AccessKind::Close(AccessMode::Write))));
        assert!(!is_change(&EventKind::Access(AccessKind::Read)));
        assert!(!is_change(&EventKind::Access(AccessKind::Open(AccessMode::Any))));
    }

    #[tokio::test]
    async fn a_file_that_is_replaced_is_told_of_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.json");
        std::fs::write(&file, "1").unwrap();
        let mut changes = Watched { files: vec![file.clone()], ..Watched::default() }.start().unwrap();
        for n in 0..3 {
            let beside = folder.path().join("beside");
            std::fs::write(&beside, n.to_string()).unwrap();
            std::fs::rename(&beside, &file).unwrap();
        }
        let patience = Duration::from_secs(20);
        tokio::time::timeout(patience, changes.next()).await.unwrap().unwrap();
        std::fs::read(&file).unwrap();
        assert!(tokio::time::timeout(REST * 2, changes.next()).await.is_err(), "to read it is no change");
        std::fs::write(&file, "4").unwrap();
        tokio::time::timeout(patience, changes.next()).await.unwrap().unwrap();
    }
}
