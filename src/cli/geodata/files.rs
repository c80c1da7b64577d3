//! Opens geodata files and walks their lists.

use std::ffi::OsStr;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::cli::assets::assets;
use crate::geo::{DatError, Scan, holds};
use crate::model::lists::Holds;

/// A file by its path, or by its name in an asset directory.
pub fn find(file: &OsStr) -> Result<PathBuf, String> {
    let path = Path::new(file);
    if path.is_file() {
        return Ok(path.to_path_buf());
    }
    assets().path(&file.to_string_lossy()).map_err(|error| match error.help() {
        Some(help) => format!("{error}\n{help}"),
        None => error.to_string(),
    })
}

/// A list of a file.
pub struct Entry<'a> {
    /// Its name as the file has it.
    pub code: &'a str,
    /// Bytes of its body.
    pub size: u64,
    /// The body.
    pub body: &'a [u8],
    /// Where the body begins.
    pub base: u64,
    /// What it holds; nothing if it is empty.
    pub holds: Option<Holds>,
}

/// Gives every list of a file until told to stop.
pub fn walk(path: &Path, mut each: impl FnMut(Entry<'_>) -> Result<ControlFlow<()>, DatError>) -> Result<(), String> {
    let said = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let file = File::open(path).map_err(|error| said(&error))?;
    let mut scan = Scan::new(file).map_err(|error| said(&error))?;
    while let Some(code) = scan.next_entry().map_err(|error| said(&error))? {
        let (body, base) = scan.body().map_err(|error| said(&error))?;
        let holds = holds(body, base).map_err(|error| said(&error))?;
        let entry = Entry { code: &code.name, size: code.size, body, base, holds };
        if each(entry).map_err(|error| said(&error))?.is_break() {
            break;
        }
    }
    Ok(())
}
