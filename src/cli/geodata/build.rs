//! `geodata build`.

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::cli::exit::Exit;
use crate::cli::geodata_args::Build;
use crate::cli::say;
use crate::geo::{GeoIp, GeoSite, TextList, read_text, write_networks, write_sites};

/// Makes one file of several texts.
pub fn build(args: &Build) -> Result<Exit, String> {
    let (mut names, mut nets): (Vec<GeoSite>, Vec<GeoIp>) = (vec![], vec![]);
    for path in &args.files {
        let said = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = fs::read_to_string(path).map_err(|error| said(&error))?;
        let code = path.file_stem().and_then(|stem| stem.to_str()).ok_or_else(|| said(&"it has no name for a list"))?;
        match read_text(code, &text).map_err(|error| said(&error))? {
            TextList::Names(list) => names.push(list),
            TextList::Networks(list) => nets.push(list),
        }
        if !names.is_empty() && !nets.is_empty() {
            return Err(said(&"one .dat holds either lists of names or lists of networks"));
        }
    }
    let mut codes: Vec<&str> = names.iter().map(|one| &*one.code).chain(nets.iter().map(|one| &*one.code)).collect();
    codes.sort_unstable();
    if let Some(twice) = codes.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("two files make the list {}", twice[0].to_lowercase()));
    }
    let count: usize = names.iter().map(|one| one.names.len()).chain(nets.iter().map(|one| one.nets.len())).sum();
    let bytes = if nets.is_empty() { write_sites(&names) } else { write_networks(&nets) };
    replace(&args.output, &bytes).map_err(|error| format!("{}: {error}", args.output.display()))?;
    say::err(format!("{}: {} lists, {count} entries, {} bytes", args.output.display(), codes.len(), bytes.len()));
    Ok(Exit::Done)
}

/// Writes a file beside its place and moves it there, so that a reader sees the old or the new one whole.
fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.new", std::process::id()));
    let beside = path.with_file_name(name);
    let mut file = fs::File::create(&beside)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all()).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}
