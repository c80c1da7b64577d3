//! `geodata test`.

use std::ffi::OsString;
use std::net::IpAddr;
use std::ops::ControlFlow::Continue;

use serde_json::json;

use super::files::{Entry, find, walk};
use crate::addr::Host;
use crate::cli::exit::Exit;
use crate::cli::geodata_args::Test;
use crate::cli::say;
use crate::geo::{Builder, DatError, SiteKind, networks, sites};
use crate::model::lists::Holds;
use crate::model::matcher::regex;

/// Shows which lists hold a name or an address.
pub fn test(args: &Test) -> Result<Exit, String> {
    let host = Host::parse(&args.name).map_err(|error| format!("`{}`: {error}", args.name))?;
    let usual = if host.ip().is_some() { "geoip.dat" } else { "geosite.dat" };
    let files = if args.file.is_empty() { vec![OsString::from(usual)] } else { args.file.clone() };
    let mut exit = Exit::Failed;
    for file in files {
        let path = find(&file)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        walk(&path, |entry| {
            let held = match (&host, entry.holds) {
                (Host::Ip(ip), Some(Holds::Networks)) => by_network(&entry, *ip)?,
                (Host::Domain(name), Some(Holds::Names)) => by_name(&entry, name.as_str())?,
                _ => None,
            };
            if let Some(by) = held {
                exit = Exit::Done;
                let code = entry.code.to_lowercase();
                say::out(if args.json {
                    json!({ "file": name, "list": code, "entry": by }).to_string()
                } else {
                    let list = match name.as_str() {
                        "geosite.dat" => format!("geosite:{code}"),
                        "geoip.dat" => format!("geoip:{code}"),
                        other => format!("ext:{other}:{code}"),
                    };
                    format!("{list:<32} {by}")
                });
            }
            Ok(Continue(()))
        })?;
    }
    if exit == Exit::Failed {
        say::err(format!("no list holds {}", args.name));
    }
    Ok(exit)
}

fn by_network(entry: &Entry<'_>, ip: IpAddr) -> Result<Option<String>, DatError> {
    for net in networks(entry.body, entry.base) {
        if let Some(net) = net?.filter(|net| net.contains(&ip)) {
            return Ok(Some(net.to_string()));
        }
    }
    Ok(None)
}

/// The entry that holds the name. What cannot be an expression is passed over, as when a list is loaded.
fn by_name(entry: &Entry<'_>, name: &str) -> Result<Option<String>, DatError> {
    let mut set = Builder::default();
    for site in sites(entry.body, entry.base) {
        let site = site?;
        let Some(value) = site.value else { continue };
        match site.kind {
            SiteKind::Full => set.full(&value.to_lowercase(), 0),
            SiteKind::Suffix => set.suffix(&value.to_lowercase(), 0),
            SiteKind::Keyword => set.keyword(&value.to_lowercase(), false, 0),
            SiteKind::Regex if regex(value).is_ok() => set.regex(value, 0),
            SiteKind::Regex | SiteKind::Other(_) => {}
        }
    }
    let large = DatError { at: entry.base, what: "the expressions of this list are too large together" };
    let set = set.finish().map_err(|_| large)?;
    Ok(set.find(name).map(|met| met.rule.to_string()))
}
