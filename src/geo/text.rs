//! Lists kept as text, one entry a line: for those who make geodata files of their own.

use ipnet::IpNet;

use super::dat::{Site, SiteKind};
use super::write::{GeoIp, GeoSite};
use crate::model::matcher::{net, regex};

/// A list that was read from text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextList {
    /// Of names.
    Names(GeoSite),
    /// Of networks.
    Networks(GeoIp),
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct TextError {
    /// Which line, counted from 1.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

/// Reads a list. `#` begins a comment. A line is an address or a network; or a name with `domain:` (also without any prefix:
/// the name and all below it), `full:`, `keyword:` or `regexp:` before it and attributes such as `@ads` behind it. A list
/// holds either names or networks; an empty one is of names.
///
/// # Errors
/// [`TextError`] for the first line that is none of these.
pub fn read_text(code: &str, text: &str) -> Result<TextList, TextError> {
    let code = code.to_uppercase();
    let (mut names, mut nets): (Vec<_>, Vec<IpNet>) = (vec![], vec![]);
    for (line, content) in (1..).zip(text.lines()) {
        let content = without_comment(content);
        if content.is_empty() {
            continue;
        }
        let bad = |what: String| TextError { line, what };
        // A name cannot end in a number, and holds neither slash nor two colons, so nothing is both.
        match net(content) {
            Ok(net) => nets.push(net),
            Err(_) => names.push(name(content).map_err(bad)?),
        }
        if !names.is_empty() && !nets.is_empty() {
            return Err(bad(format!("`{content}`: a list holds either names or networks")));
        }
    }
    Ok(if nets.is_empty() {
        TextList::Names(GeoSite { code, names })
    } else {
        TextList::Networks(GeoIp { code, nets })
    })
}

fn without_comment(line: &str) -> &str {
    // Expressions may hold a `#`; a comment stands at the beginning or behind a blank.
    let line = line.trim();
    let end = line.char_indices().find(|(at, c)| *c == '#' && (*at == 0 || line[..*at].ends_with([' ', '\t'])));
    line[..end.map_or(line.len(), |(at, _)| at)].trim()
}

fn name(content: &str) -> Result<(SiteKind, String, Vec<String>), String> {
    let mut words = content.split_whitespace();
    let word = words.next().unwrap_or_default();
    let (kind, value) = match word.split_once(':') {
        None => (SiteKind::Suffix, word),
        Some(("domain", value)) => (SiteKind::Suffix, value),
        Some(("full", value)) => (SiteKind::Full, value),
        Some(("keyword", value)) => (SiteKind::Keyword, value),
        Some(("regexp", value)) => (SiteKind::Regex, value),
        Some(_) => {
            return Err(format!("`{word}`: expected domain:, full:, keyword:, regexp:, an address or a network"));
        }
    };
    if value.is_empty() {
        return Err(format!("`{word}` says nothing"));
    }
    let value = if kind == SiteKind::Regex {
        regex(value)?;
        value.to_owned()
    } else {
        value.to_lowercase()
    };
    let attribute = |word: &str| match word.strip_prefix('@') {
        Some(name) if !name.is_empty() && !name.contains('@') => Ok(name.to_lowercase()),
        _ => Err(format!("`{word}` is no attribute such as @ads")),
    };
    Ok((kind, value, words.map(attribute).collect::<Result<_, _>>()?))
}

/// An entry as [`read_text`] reads it; nothing for one that means nothing.
#[must_use]
pub fn text_of(site: &Site<'_>) -> Option<String> {
    let value = site.value?;
    let prefix = match site.kind {
        SiteKind::Keyword => "keyword",
        SiteKind::Regex => "regexp",
        SiteKind::Suffix => "domain",
        SiteKind::Full => "full",
        SiteKind::Other(_) => return None,
    };
    let attributes: String = site.attributes().map(|key| format!(" @{key}")).collect();
    Some(format!("{prefix}:{value}{attributes}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::geo::{Scan, networks, sites, write_networks, write_sites};

    #[test]
    fn what_is_written_is_what_was_read() {
        let text =
            "# shops\nshop.example @cn\nfull:www.Market.example  @cn @ADS # both\n\nkeyword:sale\nregexp:^a#b\\d\n";
        let TextList::Names(list) = read_text("shops", text).unwrap() else { unreachable!() };
        assert_eq!(list.code, "SHOPS");
        let file = write_sites([&list]);
        let mut scan = Scan::new(std::io::Cursor::new(file)).unwrap();
        scan.next_entry().unwrap().unwrap();
        let (body, base) = scan.body().unwrap();
        let lines: Vec<String> = sites(body, base).map(|site| text_of(&site.unwrap()).unwrap()).collect();
        assert_eq!(
            lines,
            ["domain:shop.example @cn", "full:www.market.example @cn @ads", "keyword:sale", "regexp:^a#b\\d"]
        );
        assert_eq!(read_text("shops", &lines.join("\n")).unwrap(), TextList::Names(list));
    }

    #[test]
    fn networks_are_told_from_names() {
        let TextList::Networks(list) = read_text("lan", "10.0.0.1\n10.0.0.0/8\n2001:db8::/32\n").unwrap() else {
            unreachable!()
        };
        let mut scan = Scan::new(std::io::Cursor::new(write_networks([&list]))).unwrap();
        scan.next_entry().unwrap().unwrap();
        let (body, base) = scan.body().unwrap();
        let nets: Vec<String> = networks(body, base).map(|net| net.unwrap().unwrap().to_string()).collect();
        assert_eq!(nets, ["10.0.0.1/32", "10.0.0.0/8", "2001:db8::/32"]);
    }

    #[test]
    fn bad_lines_are_told_of_by_number() {
        let bad = |text: &str| read_text("x", text).unwrap_err().to_string();
        assert_eq!(bad("a.example\n10.0.0.0/8"), "line 2: `10.0.0.0/8`: a list holds either names or networks");
        assert!(bad("\n\nregexp:(").starts_with("line 3: `(`"));
        assert_eq!(bad("a.example ads"), "line 1: `ads` is no attribute such as @ads");
        assert_eq!(bad("full:"), "line 1: `full:` says nothing");
        assert!(bad("geosite:cn").starts_with("line 1: `geosite:cn`: expected domain:"));
    }
}
