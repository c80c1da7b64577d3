//! `geodata list`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::ControlFlow::Continue;

use serde_json::json;

use super::files::{find, walk};
use crate::cli::exit::Exit;
use crate::cli::geodata_args::List;
use crate::cli::say;
use crate::geo::{networks, sites};
use crate::model::lists::Holds;

/// Shows the lists of each file.
pub fn list(args: &List) -> Result<Exit, String> {
    let usual = || ["geosite.dat", "geoip.dat"].map(OsString::from).to_vec();
    let files = if args.files.is_empty() { usual() } else { args.files.clone() };
    for file in files {
        let path = find(&file)?;
        let name = path.display().to_string();
        let (mut lines, mut lists, mut entries) = (vec![], 0, 0);
        walk(&path, |entry| {
            let mut attributes: BTreeMap<String, usize> = BTreeMap::new();
            let count = match entry.holds {
                Some(Holds::Networks) => {
                    networks(entry.body, entry.base).try_fold(0, |count, net| net.map(|_| count + 1))?
                }
                Some(Holds::Names) => {
                    let mut count = 0;
                    for site in sites(entry.body, entry.base) {
                        site?.attributes().for_each(|key| *attributes.entry(key.to_lowercase()).or_default() += 1);
                        count += 1;
                    }
                    count
                }
                None => 0,
            };
            let (code, size) = (entry.code.to_lowercase(), entry.size);
            let kind = match entry.holds {
                Some(Holds::Names) => "names",
                Some(Holds::Networks) => "networks",
                None => "entries",
            };
            lists += 1;
            entries += count;
            lines.push(if args.json {
                let holds = entry.holds.map(|_| kind);
                json!({ "file": name, "list": code, "entries": count, "holds": holds, "bytes": size, "attributes": attributes })
                    .to_string()
            } else {
                let attributes: Vec<String> = attributes.iter().map(|(key, count)| format!("@{key} {count}")).collect();
                let attributes = if attributes.is_empty() { String::new() } else { format!("  ({})", attributes.join(", ")) };
                format!("  {code:<32} {count:>8} {kind:<8} {size:>10} bytes{attributes}")
            });
            Ok(Continue(()))
        })?;
        if !args.json {
            say::out(format!("{name}: {lists} lists, {entries} entries"));
        }
        lines.iter().for_each(say::out);
    }
    Ok(Exit::Done)
}
