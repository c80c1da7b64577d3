//! Unix sockets to listen at: in the file system, or in Linux' abstract name space.

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::task::{Context, Poll};

use tokio::net::{UnixListener, UnixStream};

use crate::net::tcp::Accept;

/// Where a Unix socket is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnixPlace {
    /// A file, with the permissions it shall have.
    File {
        /// Its path.
        path: PathBuf,
        /// Its mode; absent: what the process gives to all files.
        mode: Option<u32>,
    },
    /// A name that begins with `@` in configurations.
    Abstract {
        /// The name without `@`.
        name: String,
        /// Whether zeros fill it up to the full length, as HAProxy expects (`@@name`).
        padded: bool,
    },
}

/// Longest path of a Unix socket address on Linux, its first byte being the zero that makes it abstract.
const PATH: usize = 107;

impl UnixPlace {
    /// Whether a socket there is a socket here.
    pub(super) fn is_where(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File { path, .. }, Self::File { path: other, .. }) => path == other,
            (one, other) => one == other,
        }
    }

    /// Gives the file of an open socket its permissions.
    pub(super) fn settle(&self) -> io::Result<()> {
        match self {
            Self::File { path, mode: Some(mode) } => std::fs::set_permissions(path, PermissionsExt::from_mode(*mode)),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for UnixPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, .. } => path.display().fmt(f),
            Self::Abstract { name, padded } => write!(f, "{}{name}", if *padded { "@@" } else { "@" }),
        }
    }
}

/// A listener that removes its file when it ends, unless another process has put its own there meanwhile.
#[derive(Debug)]
pub(super) struct Listener {
    inner: UnixListener,
    file: Option<(PathBuf, Identity)>,
}

/// Device and inode of a file.
type Identity = (u64, u64);

/// Opens a place. A file that an earlier process left is replaced; one that somebody still listens at is not.
pub(super) fn listen(place: &UnixPlace) -> io::Result<Listener> {
    match place {
        UnixPlace::File { path, .. } => {
            let inner = match UnixListener::bind(path) {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_left(path) => {
                    std::fs::remove_file(path)?;
                    UnixListener::bind(path)?
                }
                other => other?,
            };
            place.settle()?;
            let file = identity(path).map(|identity| (path.clone(), identity));
            Ok(Listener { inner, file })
        }
        UnixPlace::Abstract { name, padded } => {
            abstract_listener(&abstract_name(name, *padded)).map(|inner| Listener { inner, file: None })
        }
    }
}

#[cfg(target_os = "linux")]
fn abstract_listener(name: &[u8]) -> io::Result<UnixListener> {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net;
    let listener = net::UnixListener::bind_addr(&net::SocketAddr::from_abstract_name(name)?)?;
    listener.set_nonblocking(true)?;
    UnixListener::from_std(listener)
}

#[cfg(not(target_os = "linux"))]
fn abstract_listener(_: &[u8]) -> io::Result<UnixListener> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Connects to whoever listens at a place.
pub(super) async fn dial(place: &UnixPlace) -> io::Result<UnixStream> {
    match place {
        UnixPlace::File { path, .. } => UnixStream::connect(path).await,
        UnixPlace::Abstract { name, padded } => {
            // A zero in front is how tokio is told of the abstract name space.
            let name = [&[0], &*abstract_name(name, *padded)].concat();
            UnixStream::connect(OsStr::from_bytes(&name)).await
        }
    }
}

/// The name without the zero in front.
fn abstract_name(name: &str, padded: bool) -> Vec<u8> {
    let mut name = name.as_bytes().to_vec();
    // A longer one is refused by the system, not cut.
    if padded && name.len() < PATH {
        name.resize(PATH, 0);
    }
    name
}

/// Whether the file is a socket at which nobody listens.
fn is_left(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    let socket = std::fs::symlink_metadata(path).is_ok_and(|data| data.file_type().is_socket());
    let answer = std::os::unix::net::UnixStream::connect(path);
    socket && answer.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

impl Accept for Listener {
    type Connection = UnixStream;

    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<(UnixStream, SocketAddr)>> {
        Accept::poll_accept(&mut self.inner, cx)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some((path, ours)) = &self.file
            && identity(path).as_ref() == Some(ours)
        {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn identity(path: &Path) -> Option<Identity> {
    std::fs::symlink_metadata(path).ok().map(|data| (data.dev(), data.ino()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_left_file_is_replaced_and_a_used_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let place = UnixPlace::File { path: path.clone(), mode: Some(0o600) };
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let listener = listen(&place).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(listen(&place).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        drop(listener);
        assert!(!path.exists());
        std::fs::write(&path, "precious").unwrap();
        assert!(listen(&place).is_err() && path.exists());
    }

    #[tokio::test]
    async fn a_file_that_somebody_else_made_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let listener = listen(&UnixPlace::File { path: path.clone(), mode: None }).unwrap();
        std::fs::remove_file(&path).unwrap();
        let other = std::os::unix::net::UnixListener::bind(&path).unwrap();
        drop(listener);
        assert!(path.exists());
        drop(other);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_padded_name_is_not_cut() {
        assert!(listen(&UnixPlace::Abstract { name: "x".repeat(PATH + 1), padded: true }).is_err());
    }
}
