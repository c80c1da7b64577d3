//! Where the socket is, and whether that place can be trusted.

use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use crate::model::control::Socket;

/// What the place depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surroundings {
    /// `$XDG_RUNTIME_DIR`.
    pub runtime: Option<PathBuf>,
    /// Where everybody may write.
    pub temp: PathBuf,
    /// The user whom this process acts for.
    pub uid: u32,
    /// This process.
    pub pid: u32,
}

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// The folder is not for this user alone.
    #[error("the folder {} cannot be trusted: {why}", path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Something that is no socket has its name.
    #[error("{} is in the way: it is no socket", .0.display())]
    Occupied(PathBuf),
    /// The system refuses.
    #[error("{}: {source}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// What it says.
        source: io::Error,
    },
}

/// The folder's name in the runtime folder.
const NAME: &str = "etemenanki";

impl Surroundings {
    /// Those of this process.
    #[must_use]
    pub fn here() -> Self {
        Self {
            runtime: std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute()),
            temp: "/tmp".into(),
            uid: rustix::process::geteuid().as_raw(),
            pid: std::process::id(),
        }
    }

    /// The folders in which sockets may be, the better one first.
    fn folders(&self) -> Vec<PathBuf> {
        let runtime = self.runtime.iter().filter(|path| path.is_dir()).map(|path| path.join(NAME));
        runtime.chain([self.temp.join(format!("{NAME}-{}", self.uid))]).collect()
    }

    /// Makes the folder of the socket, or takes one that is there if it can be trusted.
    fn folder(&self) -> Result<PathBuf, PlaceError> {
        let mut last = None;
        for path in self.folders() {
            let made = DirBuilder::new().mode(0o700).create(&path);
            match made {
                Err(source) if source.kind() != io::ErrorKind::AlreadyExists => {
                    last = Some(PlaceError::Io { path, source });
                }
                _ => match self.trust(&path) {
                    Ok(()) => return Ok(path),
                    Err(error) => last = Some(error),
                },
            }
        }
        Err(last.unwrap_or_else(|| PlaceError::Occupied(self.temp.clone())))
    }

    /// Whether a folder is one of this user alone.
    fn trust(&self, path: &Path) -> Result<(), PlaceError> {
        let bad = |why: String| Err(PlaceError::Folder { path: path.to_owned(), why });
        let meta = path.symlink_metadata().map_err(|source| PlaceError::Io { path: path.to_owned(), source })?;
        let mode = meta.permissions().mode() & 0o7777;
        match () {
            () if !meta.is_dir() => bad("it is no folder".to_owned()),
            () if meta.uid() != self.uid => bad(format!("it belongs to user {}, not to {}", meta.uid(), self.uid)),
            () if mode & 0o077 != 0 => bad(format!("others may look into it (mode {mode:o}, wanted 700)")),
            () => Ok(()),
        }
    }

    /// The sockets of this user's engines by number of process, as their names tell; nobody may listen there any more.
    #[must_use]
    pub fn sockets(&self) -> Vec<(u32, PathBuf)> {
        let mut found = vec![];
        for folder in self.folders().into_iter().filter(|folder| self.trust(folder).is_ok()) {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let pid = entry.file_name().to_str().and_then(|name| name.strip_suffix(".sock")?.parse().ok());
                if let Some(pid) = pid.filter(|_| entry.file_type().is_ok_and(|kind| kind.is_socket())) {
                    found.push((pid, entry.path()));
                }
            }
        }
        found.sort();
        found
    }

    /// Opens the socket; none where it is off.
    ///
    /// # Errors
    /// [`PlaceError`] where it cannot be opened, or must not.
    pub(super) fn open(&self, socket: &Socket) -> Result<Option<(UnixListener, Claim)>, PlaceError> {
        let path = match socket {
            Socket::Off => return Ok(None),
            Socket::Path(path) => PathBuf::from(path),
            Socket::Auto => {
                let folder = self.folder()?;
                self.sockets().iter().for_each(|(_, path)| clean(path));
                folder.join(format!("{}.sock", self.pid))
            }
        };
        claim(path).map(Some)
    }
}

/// Removes a socket on which nobody listens.
fn clean(path: &Path) {
    if UnixStream::connect(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
        let _ = fs::remove_file(path);
    }
}

/// Listens at a path. Whoever listens there already loses it: at an upgrade the new process takes over from the old.
fn claim(path: PathBuf) -> Result<(UnixListener, Claim), PlaceError> {
    let io = |path: &Path, source| PlaceError::Io { path: path.to_owned(), source };
    match path.symlink_metadata() {
        Ok(meta) if !meta.file_type().is_socket() => return Err(PlaceError::Occupied(path)),
        Ok(_) => fs::remove_file(&path).map_err(|source| io(&path, source))?,
        Err(_) => {}
    }
    let open = || {
        let listener = UnixListener::bind(&path)?;
        // Whoever connects in between is told apart by credentials.
        fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        let identity = identity(&path.symlink_metadata()?);
        Ok((listener, identity))
    };
    let (listener, identity) = open().map_err(|source| io(&path, source))?;
    Ok((listener, Claim { path, identity }))
}

/// A socket's name in the file system; gone when this is dropped, unless somebody else has it by then.
#[derive(Debug)]
pub(super) struct Claim {
    pub(super) path: PathBuf,
    identity: (u64, u64),
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.path.symlink_metadata().is_ok_and(|meta| identity(&meta) == self.identity) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn identity(meta: &Metadata) -> (u64, u64) {
    (meta.dev(), meta.ino())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn around(folder: &Path, runtime: Option<&Path>) -> Surroundings {
        let uid = rustix::process::geteuid().as_raw();
        Surroundings { runtime: runtime.map(Path::to_owned), temp: folder.to_owned(), uid, pid: 77 }
    }

    fn mode(path: &Path) -> u32 {
        path.symlink_metadata().unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn it_is_private_and_gone_at_the_end() {
        let temp = tempfile::tempdir().unwrap();
        let around = around(temp.path(), None);
        let (listener, claim) = around.open(&Socket::Auto).unwrap().unwrap();
        let path = temp.path().join(format!("etemenanki-{}/77.sock", around.uid));
        assert_eq!((&claim.path, mode(&path), mode(path.parent().unwrap())), (&path, 0o600, 0o700));
        assert_eq!(around.sockets(), [(77, path.clone())]);
        drop((listener, claim));
        assert!(!path.exists());
        assert!(around.open(&Socket::Off).unwrap().is_none());
    }

    #[test]
    fn the_runtime_folder_comes_first_and_need_not_be_there() {
        let (temp, runtime) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (_, claim) = around(temp.path(), Some(runtime.path())).open(&Socket::Auto).unwrap().unwrap();
        assert_eq!(claim.path, runtime.path().join("etemenanki/77.sock"));
        let gone = runtime.path().join("gone");
        let (_, claim) = around(temp.path(), Some(&gone)).open(&Socket::Auto).unwrap().unwrap();
        assert!(claim.path.starts_with(temp.path()));
    }

    #[test]
    fn a_folder_that_others_can_enter_or_made_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        let here = around(temp.path(), None);
        let folder = temp.path().join(format!("etemenanki-{}", here.uid));
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o750)).unwrap();
        let why = |around: &Surroundings| around.open(&Socket::Auto).unwrap_err().to_string();
        assert!(why(&here).contains("mode 750"), "{}", why(&here));
        fs::remove_dir(&folder).unwrap();
        std::os::unix::fs::symlink(temp.path(), &folder).unwrap();
        assert!(why(&here).contains("no folder"), "a link leads elsewhere");
        assert!(here.sockets().is_empty());
        // A folder of somebody else, as seen by him whom it is meant to deceive.
        let other = Surroundings { uid: here.uid + 1, ..here };
        let trap = temp.path().join(format!("etemenanki-{}", other.uid));
        DirBuilder::new().mode(0o700).create(trap).unwrap();
        assert!(why(&other).contains("belongs to user"), "{}", why(&other));
    }

    #[test]
    fn sockets_of_the_dead_are_cleaned_and_those_of_the_living_are_not() {
        let temp = tempfile::tempdir().unwrap();
        let here = around(temp.path(), None);
        let (living, _claim) = Surroundings { pid: 1, ..here.clone() }.open(&Socket::Auto).unwrap().unwrap();
        let (dead, claim) = Surroundings { pid: 2, ..here.clone() }.open(&Socket::Auto).unwrap().unwrap();
        drop(dead);
        // As a process that was killed leaves it.
        std::mem::forget(claim);
        assert_eq!(here.sockets().len(), 2);
        let _mine = here.open(&Socket::Auto).unwrap();
        let pids: Vec<u32> = here.sockets().iter().map(|(pid, _)| *pid).collect();
        assert_eq!(pids, [1, 77]);
        drop(living);
    }

    #[test]
    fn a_path_is_taken_over_but_no_file_is_lost() {
        let temp = tempfile::tempdir().unwrap();
        let (here, path) = (around(temp.path(), None), temp.path().join("s"));
        let at = Socket::Path(path.to_str().unwrap().to_owned());
        let (old, old_claim) = here.open(&at).unwrap().unwrap();
        let (new, new_claim) = here.open(&at).unwrap().unwrap();
        drop((old, old_claim));
        assert!(UnixStream::connect(&path).is_ok(), "the end of the old one leaves the new one's socket");
        drop((new, new_claim));
        fs::write(&path, "precious").unwrap();
        assert!(matches!(here.open(&at), Err(PlaceError::Occupied(_))));
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    }
}
