//! The file of a journal: private, of bounded size, and readable from its first line on.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::line::{Line, What};

/// What a journal and the file before it may take together, in bytes; 0 is no bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit(pub u64);

impl Limit {
    /// The most that one of the two files may take.
    fn of_one(self) -> u64 {
        if self.0 == 0 { u64::MAX } else { (self.0 / 2).max(1) }
    }
}

/// An open journal.
#[derive(Debug)]
pub(super) struct JournalFile {
    path: PathBuf,
    limit: Limit,
    file: File,
    size: u64,
    /// Device and inode of what is open.
    identity: (u64, u64),
    /// The lines without which the others cannot be read; each file begins with them.
    head: Vec<Line>,
}

impl JournalFile {
    /// Opens or makes it, for its owner alone.
    ///
    /// # Errors
    /// Where it cannot be opened, or is no file.
    pub(super) fn open(path: &Path, limit: Limit) -> io::Result<Self> {
        let (file, size, identity) = open(path)?;
        Ok(Self { path: path.to_owned(), limit, file, size, identity, head: vec![] })
    }

    /// Appends lines, in one write where they fit.
    ///
    /// # Errors
    /// Where the disk does not take them.
    pub(super) fn append(&mut self, lines: &[Line]) -> io::Result<()> {
        self.find_again()?;
        let mut text = String::new();
        for line in lines {
            let one = line.text();
            let size = self.size + (text.len() + one.len()) as u64;
            if size > self.limit.of_one() && self.size + text.len() as u64 > 0 {
                self.put(&std::mem::take(&mut text))?;
                self.turn()?;
            }
            text.push_str(&one);
            self.keep(line);
        }
        self.put(&text)
    }

    fn put(&mut self, text: &str) -> io::Result<()> {
        self.file.write_all(text.as_bytes())?;
        self.size += text.len() as u64;
        Ok(())
    }

    /// Remembers a line that every file must have.
    fn keep(&mut self, line: &Line) {
        match &line.what {
            What::Start { .. } => self.head = vec![line.clone()],
            What::Keeper { keeper, .. } => {
                let same = |known: &Line| matches!(&known.what, What::Keeper { keeper: k, .. } if k == keeper);
                self.head.retain(|known| !same(known));
                self.head.push(line.clone());
            }
            _ => {}
        }
    }

    /// Lets this file be the one before, and begins the next.
    fn turn(&mut self) -> io::Result<()> {
        let mut before = self.path.clone().into_os_string();
        before.push(".1");
        fs::rename(&self.path, before)?;
        self.begin()
    }

    /// Somebody may have moved the file away and told nobody, as logrotate does.
    fn find_again(&mut self) -> io::Result<()> {
        let now = self.path.symlink_metadata().map(|meta| (meta.dev(), meta.ino()));
        if now.is_ok_and(|now| now == self.identity) { Ok(()) } else { self.begin() }
    }

    fn begin(&mut self) -> io::Result<()> {
        (self.file, self.size, self.identity) = open(&self.path)?;
        let head: String = self.head.iter().map(Line::text).collect();
        self.put(&head)
    }
}

/// The file, its size and its identity. A line that a crash tore is ended, so that the next one is whole.
fn open(path: &Path) -> io::Result<(File, u64, (u64, u64))> {
    let nofollow = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    let mut file =
        OpenOptions::new().read(true).append(true).create(true).mode(0o600).custom_flags(nofollow).open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    if meta.permissions().mode() & 0o077 != 0 {
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    let mut size = meta.len();
    if size > 0 {
        let mut last = [0];
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            file.write_all(b"\n")?;
            size += 1;
        }
    }
    Ok((file, size, (meta.dev(), meta.ino())))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::BufReader;

    use super::super::read::{Lines, Read as Found};
    use super::*;

    fn lost(n: u64) -> Line {
        Line { t: n, what: What::Lost { lines: n } }
    }

    fn start() -> Line {
        Line { t: 0, what: What::Start { journal: Line::VERSION, engine: "e".into() } }
    }

    fn read(path: &Path) -> Vec<Line> {
        let lines = Lines::new(BufReader::new(File::open(path).unwrap())).map(|line| line.unwrap());
        lines.map(|line| if let Found::Line(line) = line { line } else { panic!("{line:?}") }).collect()
    }

    #[test]
    fn it_is_private_even_where_it_was_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j");
        fs::write(&path, "{\"t\":1,\"line\":\"lost\",\"lines\":1}").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let mut journal = JournalFile::open(&path, Limit(0)).unwrap();
        journal.append(&[lost(2)]).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(read(&path), [lost(1), lost(2)], "the torn end is ended");
    }

    #[test]
    fn it_turns_once_and_each_file_can_be_read_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (path, before) = (folder.path().join("j"), folder.path().join("j.1"));
        let mut journal = JournalFile::open(&path, Limit(600)).unwrap();
        journal.append(&[start()]).unwrap();
        for n in 0..100 {
            journal.append(&[lost(n), lost(n)]).unwrap();
            let size = |path: &Path| fs::metadata(path).map_or(0, |meta| meta.len());
            assert!(size(&path) <= 300 && size(&before) <= 300, "{} {}", size(&path), size(&before));
        }
        for path in [&path, &before] {
            assert_eq!(read(path)[0], start(), "{path:?}");
        }
        assert_eq!(read(&path).last(), Some(&lost(99)));
        assert_eq!(fs::metadata(&before).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "one file before, no more");
    }

    #[test]
    fn a_file_that_was_moved_away_is_begun_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j");
        let mut journal = JournalFile::open(&path, Limit(0)).unwrap();
        journal.append(&[start(), lost(1)]).unwrap();
        fs::rename(&path, folder.path().join("old")).unwrap();
        journal.append(&[lost(2)]).unwrap();
        assert_eq!(read(&path), [start(), lost(2)]);
    }

    #[test]
    fn what_is_no_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(JournalFile::open(folder.path(), Limit(0)).is_err());
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path().join("target"), &link).unwrap();
        assert!(JournalFile::open(&link, Limit(0)).is_err(), "a link may lead anywhere");
    }
}
