//! A log file: private, appended to, and found again when somebody has moved it away.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// An open log file and the path it was opened by.
#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    file: File,
    /// Device and inode of what is open.
    identity: (u64, u64),
}

impl LogFile {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        // Readable by its owner alone, as Xray makes it: an access log says who went where.
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        let metadata = file.metadata()?;
        Ok(Self { path: path.to_owned(), file, identity: (metadata.dev(), metadata.ino()) })
    }

    /// Appends. logrotate moves the file and tells nobody, so the path is looked at before each write.
    pub(super) fn write(&mut self, text: &[u8]) -> io::Result<()> {
        let now = self.path.metadata().map(|metadata| (metadata.dev(), metadata.ino()));
        if now.ok() != Some(self.identity)
            && let Ok(fresh) = Self::open(&self.path)
        {
            *self = fresh;
        }
        self.file.write_all(text)
    }
}
