//! The law of the house, read from the sources: who may import whom, no rings, and no clock where there must be none.
//!
//! The sources are split into words by a small lexer (comments, strings and test code left out) instead of being parsed:
//! imports and paths are all that counts, and a parser with every feature on would cost each build more than the law does.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

/// Folder of `src/` and the folders it may import. A folder may always import itself; what has no row does not belong.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("addr", &[]),
    ("wire", &[]),
    ("shape", &[]),
    ("model", &["addr", "shape"]),
    ("flow", &["addr"]),
    ("proto", &["addr", "wire"]),
    ("frontend", &["addr", "shape", "model"]),
    ("balance", &["addr", "model"]),
    ("geo", &["addr", "shape", "model"]),
    ("route", &["addr", "model", "geo"]),
    ("telemetry", &["addr", "model"]),
    ("net", &["addr", "wire", "model", "flow"]),
    ("tls", &["addr", "wire", "model", "flow", "proto", "net"]),
    ("tunnel", &["addr", "flow"]),
    ("transport", &["addr", "wire", "model", "flow", "proto", "net", "tls"]),
    ("probe", &["addr", "model", "flow", "net", "balance"]),
    ("convert", &["addr", "shape", "model", "frontend"]),
    ("inbound", &["addr", "wire", "model", "flow", "proto", "net", "tls", "transport", "tunnel"]),
    ("outbound", &["addr", "wire", "model", "flow", "proto", "net", "tls", "transport", "dns", "tunnel"]),
    ("dns", &["addr", "model", "flow", "net", "tls", "transport", "geo"]),
    ("service", &["addr", "model", "flow", "net", "tls", "balance"]),
    (
        "engine",
        &[
            "addr",
            "wire",
            "shape",
            "model",
            "flow",
            "proto",
            "balance",
            "dns",
            "geo",
            "route",
            "net",
            "tls",
            "transport",
            "tunnel",
            "probe",
            "journal",
            "inbound",
            "outbound",
            "service",
        ],
    ),
    ("simulate", &["addr", "model", "balance"]),
    ("journal", &["addr", "balance"]),
    ("update", &["model", "geo", "engine"]),
    ("reload", &["addr", "shape", "model", "frontend", "geo", "engine", "telemetry", "update"]),
    ("control", &["addr", "model", "balance", "engine", "telemetry"]),
    ("demo", ALL),
    ("cli", ALL),
    ("main.rs", ALL),
    ("lib.rs", ALL),
];

/// What the top of the house may import.
const ALL: &[&str] = &["*"];

/// No tokio, no clock, no global in these: time, randomness and sockets are arguments there.
const PURE: &[&str] = &[
    "addr/",
    "wire/",
    "shape/",
    "model/",
    "proto/",
    "geo/",
    "route/",
    "balance/",
    "dns/cache.rs",
    "dns/fake.rs",
    "dns/filter.rs",
    "dns/hijack.rs",
    "dns/hosts.rs",
    "dns/message.rs",
    "dns/plan.rs",
    "dns/question.rs",
    "simulate/",
    "probe/rank.rs",
    "probe/recipe.rs",
];

/// Words that end purity, as a run of tokens.
const IMPURE: &[&[&str]] = &[
    &["tokio", "::"],
    &["use", "tokio"],
    &["Instant", "::", "now"],
    &["SystemTime", "::", "now"],
    &["OnceLock"],
    &["LazyLock"],
    &["thread_local", "!"],
    &["static", "mut"],
];

#[test]
fn the_house_stands() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut sources = Vec::new();
    collect(&root, "", &mut sources);
    let report = judge(&sources);
    // Written past the capture of the test runner: a run that read nothing must be seen.
    let _ = writeln!(std::io::stdout(), "layers: read {} files, {} arrows between them", report.files, report.arrows);
    assert!(report.files > 0 && report.arrows > 0, "nothing was read: the check itself is broken");
    assert!(report.faults.is_empty(), "{}", list(&report.faults));
}

#[test]
fn each_fault_is_found() {
    let good = ("addr/tag.rs", "pub struct Tag;");
    let cases: &[(&str, Files<'_>, &str)] = &[
        ("arrow", &[good, ("wire/a.rs", "use crate::addr::tag::Tag;")], "wire may not import addr"),
        ("group", &[good, ("wire/a.rs", "use crate::{addr::{tag::{self, Tag as T}}};")], "wire may not import addr"),
        ("path in code", &[good, ("wire/a.rs", "fn f(t: crate::addr::tag::Tag) {}")], "wire may not import addr"),
        ("super", &[good, ("wire/a.rs", "use super::super::addr::tag::Tag;")], "wire may not import addr"),
        (
            "macro",
            &[("wire/a.rs", "#[macro_export] macro_rules! m { () => {} }"), ("addr/b.rs", "crate::m!();")],
            "addr may not import wire",
        ),
        ("unknown room", &[("attic/box.rs", "")], "attic has no row"),
        ("ring", &[("addr/a.rs", "use crate::addr::b::B;"), ("addr/b.rs", "use super::a::A;")], "ring"),
        ("own face", &[("addr/mod.rs", "mod a; pub use a::A;"), ("addr/a.rs", "use crate::addr::A;")], "its own face"),
        ("a face defines", &[("addr/mod.rs", "pub struct A;")], "a face defines nothing"),
        ("tokio", &[("route/a.rs", "use tokio::net::TcpStream;")], "pure"),
        ("clock", &[("balance/a.rs", "fn f() { let t = std::time::Instant::now(); }")], "pure"),
        ("clock of a recipe", &[("probe/recipe.rs", "fn f() { SystemTime::now(); }")], "pure"),
        ("global", &[("model/a.rs", "static X: LazyLock<u8> = LazyLock::new(f);")], "pure"),
    ];
    for (name, sources, want) in cases {
        let owned: Vec<_> = sources.iter().map(|(path, text)| (path.to_string(), text.to_string())).collect();
        let faults = judge(&owned).faults;
        assert!(faults.iter().any(|fault| fault.contains(want)), "{name}: wanted {want:?}, got: {}", list(&faults));
    }
}

#[test]
fn what_is_allowed_is_not_a_fault() {
    let sources = [
        ("lib.rs", "pub mod addr; pub mod model; pub mod probe;"),
        ("main.rs", "fn main() { etemenanki::probe::driver::run(); }"),
        ("addr/macros.rs", "#[macro_export] macro_rules! m { () => { $crate::addr::Tag } }"),
        ("addr/mod.rs", "//! Doc.\nmod tag;\nmod target;\npub use self::tag::Tag;\npub use target::{Host, Target};"),
        ("addr/tag.rs", "pub struct Tag<'a>(&'a str); // use crate::model::x; \n const S: &str = \"crate::model::a\";"),
        (
            "addr/target.rs",
            "use super::tag::Tag; /* crate::model /* nested */ */ const C: char = '\"'; fn f() { r#\"crate::net\"#; }",
        ),
        ("model/a.rs", "use crate::addr::Tag; #[cfg(test)] mod tests { use crate::probe::x; use tokio::x; }"),
        ("model/b.rs", "#[cfg(test)]\n#[allow(dead_code)]\nmod tests;"),
        ("model/b/tests.rs", "use super::*; use crate::probe::driver; fn f() { Instant::now(); }"),
        ("probe/driver.rs", "use crate::model::a::A; fn f() { tokio::time::Instant::now(); }"),
    ];
    let owned: Vec<_> = sources.iter().map(|(path, text)| (path.to_string(), text.to_string())).collect();
    let report = judge(&owned);
    assert!(report.faults.is_empty(), "{}", list(&report.faults));
    assert_eq!((report.files, report.arrows), (9, 6));
}

/// Invented sources: path below `src/` and text.
type Files<'a> = &'a [(&'a str, &'a str)];

struct Report {
    files: usize,
    arrows: usize,
    faults: Vec<String>,
}

/// One file: its words outside test code, and where it stands in the tree of modules.
struct Source<'a> {
    path: &'a str,
    module: Vec<String>,
    words: Vec<String>,
}

/// Reads every source and lists each breach of the law.
fn judge(sources: &[(String, String)]) -> Report {
    let mut tests = Vec::new();
    let mut files = Vec::new();
    for (path, text) in sources {
        let (words, own_tests) = without_tests(&lex(text));
        let module = module_of(path);
        tests.extend(own_tests.into_iter().map(|name| [module.join("/"), name].join("/")));
        files.push(Source { path, module, words });
    }
    files.retain(|file| !tests.iter().any(|test| file.module.join("/").starts_with(test)));

    let tree: BTreeMap<_, _> = files.iter().map(|file| (file.module.clone(), file.path)).collect();
    let macros: BTreeMap<_, _> =
        files.iter().flat_map(|f| exported_macros(&f.words).map(|name| (name, f.path))).collect();
    let mut faults = Vec::new();
    let mut arrows: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in &files {
        let to = arrows.entry(file.path).or_default();
        for path in paths(file) {
            match path.first().and_then(|first| macros.get(first)) {
                Some(target) if path.len() == 1 => to.insert(target),
                _ => to.insert(resolve(&tree, &path)),
            };
        }
        to.remove(file.path);
        to.remove("lib.rs");
        faults.extend(judge_file(file, to));
    }
    faults.extend(ring(&arrows));
    Report { files: files.len(), arrows: arrows.values().map(BTreeSet::len).sum(), faults }
}

fn judge_file(file: &Source<'_>, to: &BTreeSet<&str>) -> Vec<String> {
    let path = file.path;
    let mut faults = Vec::new();
    let Some((_, allowed)) = MAY_IMPORT.iter().find(|(name, _)| *name == room(path)) else {
        return vec![format!("src/{path}: {} has no row in the import table", room(path))];
    };
    for target in to {
        let (from, into) = (room(path), room(target));
        if from != into && !allowed.contains(&into) && *allowed != ALL {
            faults.push(format!("src/{path}: {from} may not import {into} (src/{target})"));
        }
        if let Some(folder) = target.strip_suffix("mod.rs")
            && path.starts_with(folder)
        {
            faults.push(format!("src/{path}: imports through its own face src/{target}; name the file that defines"));
        }
    }
    if PURE.iter().any(|pure| path.starts_with(pure)) {
        for run in IMPURE {
            if file.words.windows(run.len()).any(|words| words == *run) {
                faults.push(format!("src/{path}: pure, but says `{}`", run.concat()));
            }
        }
    }
    if path.ends_with("mod.rs")
        && let Some(word) =
            file.words.iter().find(|w| ["fn", "struct", "enum", "trait", "impl", "macro_rules"].contains(&w.as_str()))
    {
        faults.push(format!("src/{path}: a face defines nothing, but it says `{word}`"));
    }
    faults
}

/// The first ring of files, told as a path.
fn ring(arrows: &BTreeMap<&str, BTreeSet<&str>>) -> Option<String> {
    fn walk<'a>(
        at: &'a str,
        arrows: &BTreeMap<&'a str, BTreeSet<&'a str>>,
        trail: &mut Vec<&'a str>,
        done: &mut BTreeSet<&'a str>,
    ) -> Option<String> {
        if let Some(start) = trail.iter().position(|seen| *seen == at) {
            return Some(format!("ring of imports: {} -> {at}", trail[start..].join(" -> ")));
        }
        if !done.insert(at) {
            return None;
        }
        trail.push(at);
        let found = arrows.get(at).into_iter().flatten().find_map(|next| walk(next, arrows, trail, done));
        trail.pop();
        found
    }
    let mut done = BTreeSet::new();
    arrows.keys().find_map(|start| walk(start, arrows, &mut Vec::new(), &mut done))
}

/// Every module path that a file names, made absolute: `use` trees, and `crate::…` and the like in code.
fn paths(file: &Source<'_>) -> Vec<Vec<String>> {
    let words = &file.words;
    let children: BTreeSet<_> = words.windows(2).filter(|pair| pair[0] == "mod").map(|pair| pair[1].as_str()).collect();
    let mut found = Vec::new();
    let mut inline: Vec<(String, usize)> = Vec::new();
    let mut depth = 0;
    let mut at = 0;
    while at < words.len() {
        let inside: Vec<_> = file.module.iter().cloned().chain(inline.iter().map(|(name, _)| name.clone())).collect();
        match words[at].as_str() {
            "mod" if words.get(at + 2).is_some_and(|word| word == "{") => inline.push((words[at + 1].clone(), depth)),
            "{" => depth += 1,
            "}" => {
                depth = depth.saturating_sub(1);
                inline.pop_if(|(_, level)| *level == depth);
            }
            "use" => {
                at += 1;
                let mut named = Vec::new();
                tree_of_use(words, &mut at, &[], &mut named);
                found.extend(named.iter().filter_map(|path| absolute(path, &inside, &children)));
                continue;
            }
            // `$crate` is the crate of whoever uses the macro: their arrow, and they have one to the macro.
            _ if at == 0 || !["::", "$"].contains(&words[at - 1].as_str()) => {
                let mut path = vec![words[at].clone()];
                while words.get(at + 1).is_some_and(|w| w == "::") && words.get(at + 2).is_some_and(|w| is_name(w)) {
                    path.push(words[at + 2].clone());
                    at += 2;
                }
                if path.len() > 1 {
                    found.extend(absolute(&path, &inside, &children));
                }
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Walks `a::{b, c::{self, d as e}, f::*}` and collects each full path.
fn tree_of_use(words: &[String], at: &mut usize, prefix: &[String], into: &mut Vec<Vec<String>>) {
    let mut path = prefix.to_vec();
    while let Some(word) = words.get(*at) {
        match word.as_str() {
            "::" => {}
            "{" => {
                *at += 1;
                while words.get(*at).is_some_and(|word| word != "}") {
                    tree_of_use(words, at, &path, into);
                    if words.get(*at).is_some_and(|word| word == ",") {
                        *at += 1;
                    }
                }
                *at += 1;
                return;
            }
            "as" => *at += 1,
            "*" | "self" if !path.is_empty() => {}
            name if is_name(name) => path.push(name.to_owned()),
            _ => break,
        }
        *at += 1;
    }
    if path.len() > prefix.len() || !prefix.is_empty() {
        into.push(path);
    }
}

/// The path from the root of the crate, if it stays within it.
fn absolute(path: &[String], inside: &[String], children: &BTreeSet<&str>) -> Option<Vec<String>> {
    let mut base = inside.to_vec();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" | "etemenanki" => {
            base.clear();
            rest = &path[1..];
        }
        "self" => rest = &path[1..],
        "super" => {
            while rest.first().is_some_and(|word| word == "super") {
                base.pop();
                rest = &rest[1..];
            }
        }
        child if children.contains(child) => {}
        _ => return None,
    }
    base.extend(rest.iter().cloned());
    Some(base)
}

/// The file that the longest known part of a path stands for.
fn resolve<'a>(tree: &BTreeMap<Vec<String>, &'a str>, path: &[String]) -> &'a str {
    (0..=path.len()).rev().find_map(|len| tree.get(&path[..len]).copied()).unwrap_or("lib.rs")
}

/// `net/relay.rs` is `net::relay`, `net/mod.rs` is `net`, `lib.rs` is the root.
fn module_of(path: &str) -> Vec<String> {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let path = path.strip_suffix("/mod").unwrap_or(path);
    if path == "lib" { Vec::new() } else { path.split('/').map(str::to_owned).collect() }
}

fn room(path: &str) -> &str {
    path.split('/').next().unwrap_or(path)
}

fn exported_macros(words: &[String]) -> impl Iterator<Item = String> + '_ {
    let starts = words.windows(7).filter(|w| w[1] == "[" && w[2] == "macro_export" && w[4] == "macro_rules");
    starts.map(|w| w[6].clone())
}

/// Leaves out every item under `#[cfg(test)]`, and names the modules in other files that are such items.
fn without_tests(words: &[String]) -> (Vec<String>, Vec<String>) {
    let (mut kept, mut modules) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < words.len() {
        let is_test = words[at] == "#" && words[at..].iter().skip(1).take(4).eq(["[", "cfg", "(", "test"].iter());
        if !is_test {
            kept.push(words[at].clone());
            at += 1;
            continue;
        }
        let mut depth = 0usize;
        let start = at;
        loop {
            match words.get(at).map(String::as_str) {
                None => break,
                Some("(" | "[" | "{") => depth += 1,
                Some(")" | "]") => depth = depth.saturating_sub(1),
                Some("}") if depth <= 1 => break,
                Some("}") => depth -= 1,
                Some(";") if depth == 0 => break,
                Some(_) => {}
            }
            at += 1;
        }
        at += 1;
        let item = &words[start..at.min(words.len())];
        if let [.., keyword, name, end] = item
            && keyword == "mod"
            && end == ";"
        {
            modules.push(name.clone());
        }
    }
    (kept, modules)
}

/// Splits Rust text into names, `::` and single signs; comments, strings, characters and lifetimes vanish.
fn lex(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let at = |index: usize| chars.get(index).copied().unwrap_or('\0');
    let mut words = Vec::new();
    let mut i = 0;
    while i < chars.len() {
        let raw_from = i + usize::from(at(i) == 'b');
        match at(i) {
            '/' if at(i + 1) == '/' => i += chars[i..].iter().position(|c| *c == '\n').unwrap_or(chars.len() - i),
            '/' if at(i + 1) == '*' => i = past_comment(&chars, i),
            '"' => i = past_quote(&chars, i + 1, '"'),
            '\'' if at(i + 1) == '\\' || at(i + 2) == '\'' => i = past_quote(&chars, i + 1, '\''),
            '\'' => i += 1 + chars[i + 1..].iter().take_while(|c| c.is_alphanumeric() || **c == '_').count(),
            'r' | 'b' if at(raw_from) == 'r' && is_raw(&chars, raw_from + 1) => i = past_raw(&chars, raw_from + 1),
            c if c.is_alphanumeric() || c == '_' => {
                let len = chars[i..].iter().take_while(|c| c.is_alphanumeric() || **c == '_').count();
                words.push(chars[i..i + len].iter().collect());
                i += len;
            }
            ':' if at(i + 1) == ':' => {
                words.push("::".to_owned());
                i += 2;
            }
            c => {
                if !c.is_whitespace() {
                    words.push(c.to_string());
                }
                i += 1;
            }
        }
    }
    words
}

fn past_comment(chars: &[char], mut i: usize) -> usize {
    let mut depth = 0;
    while i < chars.len() {
        match chars[i..] {
            ['/', '*', ..] => (depth, i) = (depth + 1, i + 2),
            ['*', '/', ..] => (depth, i) = (depth - 1, i + 2),
            _ => i += 1,
        }
        if depth == 0 {
            break;
        }
    }
    i
}

fn past_quote(chars: &[char], mut i: usize, quote: char) -> usize {
    while i < chars.len() && chars[i] != quote {
        i += if chars[i] == '\\' { 2 } else { 1 };
    }
    i + 1
}

fn is_raw(chars: &[char], from: usize) -> bool {
    chars[from.min(chars.len())..].iter().find(|c| **c != '#') == Some(&'"')
}

fn past_raw(chars: &[char], from: usize) -> usize {
    let hashes = chars[from..].iter().take_while(|c| **c == '#').count();
    let close: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
    let body = from + hashes + 1;
    chars[body..].windows(close.len()).position(|w| w == close).map_or(chars.len(), |end| body + end + close.len())
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

fn collect(folder: &Path, prefix: &str, into: &mut Vec<(String, String)>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries.map(|entry| entry.expect("a readable folder")) {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            collect(&entry.path(), &format!("{name}/"), into);
        } else if name.ends_with(".rs") {
            into.push((name, std::fs::read_to_string(entry.path()).expect("a readable source")));
        }
    }
}

fn list(faults: &[String]) -> String {
    faults.iter().fold(format!("{} breaches of the law:", faults.len()), |mut text, fault| {
        let _ = write!(text, "\n  {fault}");
        text
    })
}
