//! The file by which what is known of balancers outlives the process: written as a whole or not at all, read with care.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::balance::Memory;

/// Where what is known is kept. Its calls wait for the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateFile(pub PathBuf);

/// Why a state file cannot be read or written. The engine runs on without it.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The disk says so.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Something else than a file is there; it is neither read nor replaced.
    #[error("it is not a file")]
    NoFile,
    /// Nobody writes that much.
    #[error("it is larger than {} MiB", MOST >> 20)]
    TooLarge,
    /// What it says is not what is written here.
    #[error("it cannot be understood: {0}")]
    Broken(#[from] serde_json::Error),
    /// Another version wrote it.
    #[error("its version is {0}, and this program knows {VERSION}")]
    Version(u32),
}

/// The form of the file.
const VERSION: u32 = 1;

/// A file given by mistake must not fill the memory.
const MOST: u64 = 64 << 20;

#[derive(Serialize, Deserialize)]
struct State<M> {
    version: u32,
    /// When it was written, in milliseconds since 1970: the ages in it are those of then.
    wall_ms: u64,
    memory: M,
}

impl StateFile {
    /// What was known, grown older by the time since. Nothing where there is no file.
    ///
    /// # Errors
    /// [`StateError`] says why it cannot be used.
    pub fn read(&self) -> Result<Memory, StateError> {
        let meta = match fs::metadata(&self.0) {
            Ok(meta) => meta,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Memory::default()),
            Err(error) => return Err(error.into()),
        };
        if !meta.is_file() {
            return Err(StateError::NoFile);
        }
        let mut text = vec![];
        File::open(&self.0)?.take(MOST + 1).read_to_end(&mut text)?;
        if text.len() as u64 > MOST {
            return Err(StateError::TooLarge);
        }
        read_text(&text, now_ms())
    }

    /// Writes what is known beside the file, for its owner alone, and puts it in the file's place.
    ///
    /// # Errors
    /// [`StateError`] says why not; the file is as it was then.
    pub fn write(&self, memory: &Memory) -> Result<(), StateError> {
        // Who links to a file elsewhere means that one.
        let path = match fs::canonicalize(&self.0) {
            Ok(path) if !fs::metadata(&path)?.is_file() => return Err(StateError::NoFile),
            Ok(path) => path,
            Err(_) => self.0.clone(),
        };
        let text = serde_json::to_vec(&State { version: VERSION, wall_ms: now_ms(), memory })?;
        let beside = beside(&path);
        // What a crash left; whatever else is there by this name is not followed.
        let _ = fs::remove_file(&beside);
        let written = put(&beside, &text).and_then(|()| fs::rename(&beside, &path));
        if written.is_err() {
            let _ = fs::remove_file(&beside);
        }
        Ok(written?)
    }
}

/// The name under which a file is written before it is the file: another one for each process.
fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.tmp", std::process::id()));
    path.with_file_name(name)
}

fn put(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text)?;
    // Otherwise a power cut may leave an empty file in place of the one before.
    file.sync_all()
}

fn read_text(text: &[u8], now_ms: u64) -> Result<Memory, StateError> {
    #[derive(Deserialize)]
    struct Head {
        version: u32,
    }
    // Of another version nothing else may be understood.
    let Head { version } = serde_json::from_slice(text)?;
    if version != VERSION {
        return Err(StateError::Version(version));
    }
    let mut state: State<Memory> = serde_json::from_slice(text)?;
    // A clock that was set back tells nothing of how long nobody ran.
    state.memory.grow_older(Duration::from_millis(now_ms.saturating_sub(state.wall_ms)));
    Ok(state.memory)
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::balance::{GroupMemory, SubjectMemory, Test};

    fn known() -> Memory {
        let seconds = Duration::from_secs;
        let test = Test { age: seconds(10), dial: seconds(1), time: seconds(2), bytes: 3 };
        let subject = SubjectMemory {
            print: u64::MAX,
            up: Some(true),
            tests: vec![test],
            pings: vec![(seconds(20), None), (seconds(5), Some(seconds(1)))],
            dials: vec![(seconds(6), seconds(1))],
            availability: Some(0.5),
            rate: Some(1.5),
            quarantine: Some(seconds(30)),
            ejections: vec![seconds(7)],
            up_udp: None,
        };
        let group = |left| GroupMemory {
            pin: Some(("a".into(), left, true)),
            fenced: vec!["b".into()],
            ..GroupMemory::default()
        };
        Memory {
            subjects: BTreeMap::from([(u64::MAX, BTreeMap::from([("a".into(), subject)]))]),
            groups: BTreeMap::from([
                ("ever".into(), group(None)),
                ("long".into(), group(Some(seconds(100)))),
                ("short".into(), group(Some(seconds(40)))),
            ]),
        }
    }

    fn text(wall_ms: u64) -> Vec<u8> {
        serde_json::to_vec(&State { version: VERSION, wall_ms, memory: known() }).unwrap()
    }

    #[test]
    fn what_is_read_has_grown_older_by_the_time_since() {
        let seconds = Duration::from_secs;
        let read = read_text(&text(1_000_000), 1_060_000).unwrap();
        let subject = &read.subjects[&u64::MAX]["a"];
        assert_eq!((subject.tests[0].age, subject.tests[0].time), (seconds(70), seconds(2)));
        assert_eq!(subject.pings, [(seconds(80), None), (seconds(65), Some(seconds(1)))]);
        assert_eq!((subject.dials[0].0, subject.ejections[0]), (seconds(66), seconds(67)));
        assert_eq!(subject.quarantine, Some(Duration::ZERO));
        let pin = |group: &str| read.groups[group].pin.clone();
        assert_eq!(pin("ever"), Some(("a".into(), None, true)));
        assert_eq!(pin("long"), Some(("a".into(), Some(seconds(40)), true)));
        assert_eq!(pin("short"), None, "its time is over");
        assert_eq!(read.groups["short"].fenced, ["b"]);
        // A clock that was set back adds nothing, and one that went mad breaks nothing.
        assert_eq!(read_text(&text(1_000_000), 999).unwrap(), known());
        assert!(read_text(&text(0), u64::MAX).is_ok());
    }

    #[test]
    fn a_file_is_written_as_a_whole_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = StateFile(folder.path().join("state.json"));
        assert_eq!(file.read().unwrap(), Memory::default(), "none is there yet");
        fs::write(beside(&file.0), "left by a crash").unwrap();
        for _ in 0..2 {
            file.write(&known()).unwrap();
        }
        assert_eq!(fs::metadata(&file.0).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(file.read().unwrap().groups.len(), 3);
        let link = StateFile(folder.path().join("link"));
        std::os::unix::fs::symlink(&file.0, &link.0).unwrap();
        link.write(&Memory::default()).unwrap();
        assert_eq!(file.read().unwrap(), Memory::default());
        let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(names.count(), 2, "nothing is left beside it");
        assert!(link.0.is_symlink());
    }

    #[test]
    fn what_cannot_be_used_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let file = StateFile(folder.path().join("state.json"));
        let whole = String::from_utf8(text(1)).unwrap();
        for (text, want) in [
            ("", "it cannot be understood: "),
            (&whole[..whole.len() / 2], "it cannot be understood: "),
            ("{\"version\":1,\"wall_ms\":1,\"memory\":{\"subjects\":[]}}", "it cannot be understood: "),
            ("{\"version\":2}", "its version is 2, and this program knows 1"),
        ] {
            fs::write(&file.0, text).unwrap();
            let told = file.read().unwrap_err().to_string();
            assert!(told.starts_with(want), "{told}");
        }
        File::create(&file.0).unwrap().set_len(MOST + 1).unwrap();
        assert_eq!(file.read().unwrap_err().to_string(), "it is larger than 64 MiB");
        let here = StateFile(folder.path().to_owned());
        assert!(matches!((here.read(), here.write(&known())), (Err(StateError::NoFile), Err(StateError::NoFile))));
        let nowhere = StateFile(folder.path().join("none/state.json"));
        assert!(matches!(nowhere.write(&known()), Err(StateError::Io(_))));
    }
}
