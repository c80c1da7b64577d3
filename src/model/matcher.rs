//! What a rule can ask of a name or of an address; the text forms are Xray's.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::{Value as Json, json};

use super::goregex;
use crate::shape::{Defs, Dialect, Field, Kind, Node, Plain, Reader, TextList};

/// A list in a geodata file: `geosite:cn@ads` is `{ file: "geosite.dat", code: "CN", attrs: ["ads"] }`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ListRef {
    /// File in the asset directory.
    pub file: String,
    /// Name of the list, upper-case.
    pub code: String,
    /// Attributes that an entry must all have, lower-case; domain lists only.
    pub attrs: Vec<String>,
}

/// One condition on a domain name. Texts are lower-case, but for regular expressions. The order of the variants is the
/// canonical order within a list, so that lists which mean the same are equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DomainRule {
    /// The name or any name below it.
    Suffix(String),
    /// Exactly the name.
    Full(String),
    /// Any name that contains the text.
    Keyword(String),
    /// Any name in which the expression is found.
    Regex(String),
    /// Any name without a dot that contains the text.
    Dotless(String),
    /// The entries of a list. Boxed, since there may be a hundred thousand of the others.
    List(Box<ListRef>),
}

/// One condition on an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IpRule {
    /// Whether addresses outside are meant.
    pub negated: bool,
    /// Which addresses.
    pub set: IpSet,
}

/// Some addresses.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IpSet {
    /// Those of a network.
    Net(IpNet),
    /// Those of a list.
    List(Box<ListRef>),
}

/// What a text without prefix means at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bare {
    /// Part of a name: routing rules, DNS servers, sniffing exclusions.
    Keyword,
    /// A whole name: `dns.hosts`.
    Full,
    /// A name and those below: lists of our TOML.
    Suffix,
}

impl DomainRule {
    /// Reads Xray's text form.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    pub fn parse(text: &str, bare: Bare) -> Result<Self, String> {
        let lower = |text: &str| text.to_lowercase();
        if let Some(code) = text.strip_prefix("geosite:") {
            return ListRef::parse("geosite.dat", code, true).map(Box::new).map(Self::List);
        }
        for prefix in ["ext:", "ext-domain:", "ext-site:"] {
            if let Some(rest) = text.strip_prefix(prefix) {
                return ListRef::ext(rest, true).map(Box::new).map(Self::List);
            }
        }
        if let Some(pattern) = text.strip_prefix("regexp:") {
            return regex(pattern).map(|()| Self::Regex(pattern.to_owned()));
        }
        for prefix in ["domain:", "suffix:"] {
            if let Some(name) = text.strip_prefix(prefix) {
                return Ok(Self::Suffix(lower(name)));
            }
        }
        if let Some(name) = text.strip_prefix("full:") {
            return Ok(Self::Full(lower(name)));
        }
        if let Some(part) = text.strip_prefix("keyword:") {
            return Ok(Self::Keyword(lower(part)));
        }
        if let Some(part) = text.strip_prefix("dotless:") {
            let dotted = part.contains('.');
            return if dotted {
                Err("a `dotless:` text cannot hold a dot".into())
            } else {
                Ok(Self::Dotless(lower(part)))
            };
        }
        Ok(match bare {
            Bare::Keyword => Self::Keyword(lower(text)),
            Bare::Full => Self::Full(lower(text)),
            Bare::Suffix => Self::Suffix(lower(text)),
        })
    }
}

/// Whether an expression can be run.
///
/// # Errors
/// A sentence that says why not.
pub fn regex(pattern: &str) -> Result<(), String> {
    goregex::translate(pattern)
        .and_then(|here| regex_automata::util::syntax::parse(&here).map(drop).map_err(|error| last_line(&error)))
        .map_err(|why| format!("`{pattern}` is not a regular expression this engine can run: {why}{}", hint(pattern)))
}

/// Whether a text of a rule's `user` can match somebody: a name, or `regexp:` and an expression.
///
/// # Errors
/// A sentence that says why not.
pub fn user(text: &str) -> Result<(), String> {
    text.strip_prefix("regexp:").map_or(Ok(()), regex)
}

/// What to write instead, for the mistake that people make.
fn hint(pattern: &str) -> &'static str {
    if pattern.starts_with('*') { "; for a shell pattern such as `*.example` write `domain:example`" } else { "" }
}

/// The parser's last line is the one that says what is wrong; those before it draw the pattern.
fn last_line(error: &impl fmt::Display) -> String {
    let text = error.to_string();
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    last.unwrap_or("it does not parse").trim_start_matches("error: ").to_owned()
}

impl fmt::Display for DomainRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Suffix(text) => write!(f, "domain:{text}"),
            Self::Full(text) => write!(f, "full:{text}"),
            Self::Keyword(text) => write!(f, "keyword:{text}"),
            Self::Regex(text) => write!(f, "regexp:{text}"),
            Self::Dotless(text) => write!(f, "dotless:{text}"),
            Self::List(list) if list.file == "geosite.dat" => write!(f, "geosite:{}", list.code_text()),
            Self::List(list) => write!(f, "ext:{}:{}", list.file, list.code_text()),
        }
    }
}

impl IpRule {
    /// Reads Xray's text form.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (mut negated, mut rest) = (false, text);
        while let Some(inner) = rest.strip_prefix('!') {
            negated = !negated;
            rest = inner;
        }
        let mut list = |file: &str, code: &str| {
            let mut code = code;
            while let Some(inner) = code.strip_prefix('!') {
                negated = !negated;
                code = inner;
            }
            ListRef::parse(file, code, false).map(Box::new).map(IpSet::List)
        };
        let set = if let Some(code) = rest.strip_prefix("geoip:") {
            list("geoip.dat", code)?
        } else if let Some(ext) = rest.strip_prefix("ext:").or_else(|| rest.strip_prefix("ext-ip:")) {
            let (file, code) = ext.split_once(':').ok_or("expected ext:FILE:CODE")?;
            list(file, code)?
        } else {
            IpSet::Net(net(rest)?)
        };
        Ok(Self { negated, set })
    }
}

impl fmt::Display for IpRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let not = if self.negated { "!" } else { "" };
        match &self.set {
            IpSet::Net(net) if net.prefix_len() == net.max_prefix_len() => write!(f, "{not}{}", net.addr()),
            IpSet::Net(net) => write!(f, "{not}{net}"),
            IpSet::List(list) if list.file == "geoip.dat" => write!(f, "{not}geoip:{}", list.code_text()),
            IpSet::List(list) => write!(f, "{not}ext:{}:{}", list.file, list.code_text()),
        }
    }
}

/// Reads an address or network; host bits may be set and are cleared, brackets are tolerated, `/` alone means all bits.
///
/// # Errors
/// A sentence that says what is wrong.
pub fn net(text: &str) -> Result<IpNet, String> {
    let text = text.trim();
    let bare = text.replace(['[', ']'], "");
    let (ip, bits) = bare.split_once('/').map_or((bare.as_str(), ""), |(ip, bits)| (ip, bits));
    let written: IpAddr =
        ip.parse().map_err(|_| format!("`{text}` is neither an address nor a network such as 10.0.0.0/8"))?;
    let ip = written.to_canonical();
    let all = if ip.is_ipv4() { 32 } else { 128 };
    let mut bits: u8 = if bits.is_empty() {
        all
    } else {
        bits.parse().map_err(|_| format!("`{text}`: the prefix length must be 0 to {all}"))?
    };
    if written.is_ipv6() && ip.is_ipv4() && bits >= 96 {
        bits -= 96;
    }
    IpNet::new(ip, bits).map(|net| net.trunc()).map_err(|_| format!("`{text}`: the prefix length must be 0 to {all}"))
}

impl ListRef {
    fn parse(file: &str, code: &str, attrs: bool) -> Result<Self, String> {
        let mut parts = code.split('@');
        let name = parts.next().unwrap_or_default().trim().to_uppercase();
        let rest: Vec<String> = parts.map(|a| a.trim().to_lowercase()).collect();
        if file.is_empty() {
            return Err("the file's name is missing".into());
        }
        if name.is_empty() {
            return Err("the list's name is missing".into());
        }
        if rest.iter().any(String::is_empty) {
            return Err("an attribute is missing behind `@`".into());
        }
        if !attrs && !rest.is_empty() {
            return Err("address lists have no attributes".into());
        }
        Ok(Self { file: file.to_owned(), code: name, attrs: rest })
    }

    fn ext(rest: &str, attrs: bool) -> Result<Self, String> {
        let (file, code) = rest.split_once(':').ok_or("expected ext:FILE:CODE")?;
        Self::parse(file, code, attrs)
    }

    fn code_text(&self) -> String {
        let mut text = self.code.to_lowercase();
        for attr in &self.attrs {
            text.push('@');
            text.push_str(attr);
        }
        text
    }
}

/// A list of name conditions in text form, in canonical order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct DomainRules(pub Vec<DomainRule>);

/// A list of address conditions in text form, in canonical order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct IpRules(pub Vec<IpRule>);

impl DomainRules {
    /// Sorts by kind and text and drops repetitions: the order never matters.
    #[must_use]
    pub fn of(mut rules: Vec<DomainRule>) -> Self {
        rules.sort();
        rules.dedup();
        Self(rules)
    }

    /// Reads a list of texts; each bad one is reported at its place.
    pub fn read_list(cx: &mut Reader<'_>, node: &Node, bare: Bare) -> Option<Self> {
        read_texts(cx, node, |text| DomainRule::parse(text, bare)).map(Self::of)
    }
}

impl IpRules {
    /// Sorts by kind and text and drops repetitions: the order never matters.
    #[must_use]
    pub fn of(mut rules: Vec<IpRule>) -> Self {
        rules.sort();
        rules.dedup();
        Self(rules)
    }
}

/// Reads a list of texts, each by `parse`, and reports each bad one at its own place where it has one.
fn read_texts<T>(cx: &mut Reader<'_>, node: &Node, parse: impl Fn(&str) -> Result<T, String>) -> Option<Vec<T>> {
    let texts = TextList::read(cx, node)?;
    let items = node.list();
    let mut out = Vec::with_capacity(texts.0.len());
    for (n, text) in texts.0.iter().enumerate() {
        match parse(text) {
            Ok(rule) => out.push(rule),
            Err(why) => {
                let at = items.and_then(|items| items.get(n)).unwrap_or(node);
                cx.within(crate::shape::Seg::Index(n), |cx| {
                    cx.error(at, Kind::Value, why);
                });
            }
        }
    }
    Some(out)
}

fn texts_shape(dialect: Dialect, defs: &mut Defs) -> Json {
    TextList::shape(dialect, defs)
}

impl Field for DomainRules {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        let bare = if cx.json() { Bare::Keyword } else { Bare::Suffix };
        Self::read_list(cx, node, bare)
    }

    fn write(&self, _: Dialect) -> Plain {
        Plain::List(self.0.iter().map(|rule| Plain::Text(rule.to_string())).collect())
    }

    fn shape(dialect: Dialect, defs: &mut Defs) -> Json {
        texts_shape(dialect, defs)
    }
}

impl Field for IpRules {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        read_texts(cx, node, IpRule::parse).map(Self::of)
    }

    fn write(&self, _: Dialect) -> Plain {
        Plain::List(self.0.iter().map(|rule| Plain::Text(rule.to_string())).collect())
    }

    fn shape(dialect: Dialect, defs: &mut Defs) -> Json {
        texts_shape(dialect, defs)
    }
}

/// One network in text form.
impl Field for IpNet {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        let text = String::read(cx, node)?;
        net(&text).map_err(|why| cx.error(node, Kind::Value, why)).ok()
    }

    fn write(&self, _: Dialect) -> Plain {
        Plain::Text(self.to_string())
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        json!({ "type": "string" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn domain(text: &str) -> String {
        DomainRule::parse(text, Bare::Keyword).map_or_else(|why| why, |rule| rule.to_string())
    }

    fn ip(text: &str) -> String {
        IpRule::parse(text).map_or_else(|why| why, |rule| rule.to_string())
    }

    #[test]
    fn domain_texts_read_and_print() {
        assert_eq!(domain("QQ.com"), "keyword:qq.com");
        assert_eq!(domain("domain:Example.COM"), "domain:example.com");
        assert_eq!(domain("geosite:CN@Ads@!cn"), "geosite:cn@ads@!cn");
        assert_eq!(domain("ext:my.dat:X"), "ext:my.dat:x");
        assert_eq!(domain("regexp:^R\\d+$"), "regexp:^R\\d+$");
        assert_eq!(DomainRule::parse("a.example", Bare::Full), Ok(DomainRule::Full("a.example".into())));
    }

    #[test]
    fn bad_domain_texts_say_why() {
        assert!(domain("regexp:(?!a)").contains("(?!a)"));
        assert!(domain("regexp:*.example.com").contains("*.example.com"));
        assert_eq!(domain("geosite:cn@"), "an attribute is missing behind `@`");
        assert_eq!(domain("ext::x"), "the file's name is missing");
        assert_eq!(domain("dotless:a.b"), "a `dotless:` text cannot hold a dot");
    }

    #[test]
    fn addresses_read_and_print() {
        assert_eq!(ip("10.1.2.3/8"), "10.0.0.0/8");
        assert_eq!(ip("1.2.3.4/"), "1.2.3.4");
        assert_eq!(ip("[::1]"), "::1");
        assert_eq!(ip("!10.0.0.0/8"), "!10.0.0.0/8");
        assert_eq!(ip("geoip:!!cn"), "geoip:cn");
        assert_eq!(ip("!geoip:!cn"), "geoip:cn");
        assert_eq!(ip("geoip:!private"), "!geoip:private");
        assert_eq!(ip("::ffff:10.0.0.0/104"), "10.0.0.0/8");
        assert!(ip("example.com").contains("neither an address nor a network"));
        assert!(ip("10.0.0.0/33").contains("0 to 32"));
    }
}
