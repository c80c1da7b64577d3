//! `geodata show`.

use std::ffi::OsStr;
use std::io::{BufWriter, Write, stdout};
use std::ops::ControlFlow::{Break, Continue};

use super::files::{find, walk};
use crate::cli::exit::Exit;
use crate::cli::geodata_args::Show;
use crate::geo::{networks, sites, text_of};
use crate::model::lists::Holds;
use crate::model::matcher::{Bare, DomainRule, IpRule, IpSet, ListRef};
use crate::shape::nearest;

/// Shows the entries of one list.
pub fn show(args: &Show) -> Result<Exit, String> {
    let list = named(&args.list)?;
    let path = find(OsStr::new(&list.file))?;
    let (mut lines, mut codes, mut found) = (vec![], vec![], false);
    walk(&path, |entry| {
        codes.push(entry.code.to_owned());
        if !entry.code.eq_ignore_ascii_case(&list.code) {
            return Ok(Continue(()));
        }
        found = true;
        match entry.holds {
            Some(Holds::Networks) => {
                for net in networks(entry.body, entry.base) {
                    lines.extend(net?.map(|net| net.to_string()));
                }
            }
            Some(Holds::Names) => {
                for site in sites(entry.body, entry.base) {
                    let site = site?;
                    if list.attrs.iter().all(|attribute| site.has(attribute)) {
                        lines.extend(text_of(&site));
                    }
                }
            }
            None => {}
        }
        Ok(Break(()))
    })?;
    if !found {
        let near = nearest(&list.code, codes.iter().map(String::as_str));
        let near = near.map(|near| format!("; did you mean {}?", near.to_lowercase())).unwrap_or_default();
        return Err(format!("{}: there is no list {} in it{near}", path.display(), list.code.to_lowercase()));
    }
    let mut out = BufWriter::new(stdout().lock());
    // Whoever reads it may go away: `… | head`.
    let _ = lines.iter().try_for_each(|line| writeln!(out, "{line}")).and_then(|()| out.flush());
    Ok(Exit::Done)
}

/// A list as a rule names it.
fn named(text: &str) -> Result<ListRef, String> {
    if let Ok(DomainRule::List(list)) = DomainRule::parse(text, Bare::Keyword) {
        return Ok(*list);
    }
    match IpRule::parse(text) {
        Ok(IpRule { set: IpSet::List(list), .. }) => Ok(*list),
        _ => Err(format!("`{text}` names no list; expected geosite:NAME, geoip:NAME or ext:FILE:NAME")),
    }
}
