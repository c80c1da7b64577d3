//! Session secrets for debugging one's own traffic; only where a configuration names the file.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use rustls::KeyLog;

use super::error::TlsError;

/// Appends lines in the NSS format, each in one write, so that several sessions can share the file.
#[derive(Debug)]
pub(super) struct FileLog(File);

impl FileLog {
    pub(super) fn open(path: &Path) -> Result<Self, TlsError> {
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        // Whoever reads them reads the traffic.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path);
        file.map(Self).map_err(|source| TlsError::File { path: path.into(), source })
    }
}

impl KeyLog for FileLog {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let mut line = format!("{label} ");
        for byte in client_random {
            let _ = write!(line, "{byte:02x}");
        }
        line.push(' ');
        for byte in secret {
            let _ = write!(line, "{byte:02x}");
        }
        line.push('\n');
        // A full disk must not break connections.
        let _ = (&self.0).write_all(line.as_bytes());
    }
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn secrets_are_for_the_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys");
        drop(FileLog::open(&path).unwrap());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
