//! The file that is written: whole or not at all, and closed to others if it holds secrets.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// The file is new, or was replaced.
    Done,
    /// It held these bytes already.
    Unchanged,
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// Something is there.
    #[error("{} exists; --force overwrites it", .0.display())]
    Exists(PathBuf),
    /// A folder is there.
    #[error("{} is a folder", .0.display())]
    Folder(PathBuf),
    /// The system refuses.
    #[error("cannot write {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// Writes a file by way of a new one beside it, so that a half-written one is never seen.
///
/// # Errors
/// If something is there and `force` is not given, or the system refuses.
pub fn write(path: &Path, text: &str, secret: bool, force: bool) -> Result<Written, OutputError> {
    let io = |source| OutputError::Io { path: path.to_owned(), source };
    // A link is followed: what it points at is replaced, not the link.
    let target = match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_symlink() => fs::canonicalize(path).map_err(io)?,
        _ => path.to_owned(),
    };
    match fs::metadata(&target) {
        Ok(meta) if meta.is_dir() => return Err(OutputError::Folder(path.to_owned())),
        Ok(_) if same(&target, text) => return Ok(Written::Unchanged),
        Ok(_) if !force => return Err(OutputError::Exists(path.to_owned())),
        _ => {}
    }
    let fresh = beside(&target);
    let result = fill(&fresh, text, secret).and_then(|()| put(&fresh, &target, force));
    if result.is_err() {
        let _ = fs::remove_file(&fresh);
    }
    result.map(|()| Written::Done).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => OutputError::Exists(path.to_owned()),
        _ => io(source),
    })
}

/// Whether a file holds exactly a text; read no further than needed to know.
#[must_use]
pub fn same(path: &Path, text: &str) -> bool {
    let long = u64::try_from(text.len()).unwrap_or(u64::MAX);
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() == long)
        && fs::read(path).is_ok_and(|bytes| bytes == text.as_bytes())
}

fn fill(path: &Path, text: &str, secret: bool) -> io::Result<()> {
    let mut file = create(path, secret)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(unix)]
fn create(path: &Path, secret: bool) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new().write(true).create_new(true).mode(if secret { 0o600 } else { 0o666 }).open(path)
}

#[cfg(not(unix))]
fn create(path: &Path, _: bool) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Moves the new file to its name. Without `force` by a link, which fails if somebody was there first.
fn put(fresh: &Path, target: &Path, force: bool) -> io::Result<()> {
    if !force {
        match fs::hard_link(fresh, target) {
            Ok(()) => return fs::remove_file(fresh),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
            // A file system without links; that nothing is there was looked at before.
            Err(_) => {}
        }
    }
    fs::rename(fresh, target)
}

fn beside(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_overwritten_unless_asked() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("c.toml");
        assert_eq!(write(&path, "a", true, false).unwrap(), Written::Done);
        assert_eq!(write(&path, "a", true, false).unwrap(), Written::Unchanged);
        assert!(matches!(write(&path, "b", true, false), Err(OutputError::Exists(_))));
        assert_eq!(fs::read_to_string(&path).unwrap(), "a");
        assert_eq!(write(&path, "b", true, true).unwrap(), Written::Done);
        assert_eq!(fs::read_to_string(&path).unwrap(), "b");
        assert!(matches!(write(dir.path(), "b", true, true), Err(OutputError::Folder(_))));
        assert!(matches!(write(&dir.path().join("x/y"), "b", true, true), Err(OutputError::Io { .. })));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn secrets_are_closed_to_others() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("c.toml");
        write(&path, "a", true, false).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write(&link, "b", true, true).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&path).unwrap(), "b");
    }
}
