//! Makes Go's flags ordinary before clap sees them.
//!
//! Panels, clients and service units start `xray` with `-config FILE`, `-test`, `-c=FILE`, or with flags and no verb at
//! all. clap reads `-config` as the short option `-c` with the value `onfig`, so the words are rewritten first. Only the
//! verbs that Xray has are touched: our own (`convert`, `schema`, …) keep clap's rules.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Verbs whose flags follow Go's rules.
const GO_VERBS: &[&str] = &["run", "version", "uuid", "x25519", "wg", "mlkem768", "mldsa65", "vlessenc", "tls"];

/// Flags that take the next word as their value, whatever it looks like.
const TAKES_VALUE: &[&str] =
    &["c", "config", "confdir", "format", "i", "domain", "name", "org", "file", "expire", "cert", "serverName"];

/// Flags that may be written `-test=false`.
const SWITCHES: &[&str] = &["test", "dump", "strict", "ca", "pem", "std-encoding"];

/// The words of the command line, the program's name first, as clap shall see them.
#[must_use]
pub fn normalise(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut words = words.into_iter();
    let mut out = vec![words.next().unwrap_or_else(|| "etemenanki".into())];
    let mut rest: Vec<OsString> = words.collect();
    match rest.first().map(|first| first.as_bytes()) {
        None => rest.push("run".into()),
        // `--version` and `-V` are clap's own; Go's spelling is what integrators parse.
        Some(b"-version") => rest[0] = "version".into(),
        Some(b"-help") => rest[0] = "--help".into(),
        Some(b"--help" | b"-h" | b"-V" | b"--version") => {}
        Some(first) if first.starts_with(b"-") => rest.insert(0, "run".into()),
        Some(_) => {}
    }
    if rest.first().is_some_and(|verb| GO_VERBS.iter().any(|known| verb == known)) {
        out.push(rest.remove(0));
        go_flags(rest, &mut out);
    } else {
        out.append(&mut rest);
    }
    out
}

fn go_flags(words: Vec<OsString>, out: &mut Vec<OsString>) {
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let Some((name, value)) = flag(&word) else {
            out.push(word);
            continue;
        };
        if name.is_empty() {
            // `--` ends the flags, for Go and for clap.
            out.push(word);
            out.extend(words);
            return;
        }
        if SWITCHES.contains(&name.as_str())
            && let Some(value) = value.and_then(OsStr::to_str).and_then(go_bool)
        {
            out.extend(value.then(|| format!("--{name}").into()));
            continue;
        }
        let mut dashed: OsString = if name.chars().count() == 1 { "-" } else { "--" }.into();
        dashed.push(&name);
        if !TAKES_VALUE.contains(&name.as_str()) {
            if let Some(value) = value {
                dashed.push("=");
                dashed.push(value);
            }
            out.push(dashed);
            continue;
        }
        // Joined with `=`, so that a value that begins with a dash is one.
        if let Some(value) = value.map(OsStr::to_owned).or_else(|| words.next()) {
            dashed.push("=");
            dashed.push(value);
        }
        out.push(dashed);
    }
}

/// Name and value of `-name`, `--name` and `-name=value`. A lone `-` is a word like any other.
fn flag(word: &OsStr) -> Option<(String, Option<&OsStr>)> {
    let bytes = word.as_bytes();
    let body = bytes.strip_prefix(b"--").or_else(|| bytes.strip_prefix(b"-").filter(|body| !body.is_empty()))?;
    let (name, value) = match body.iter().position(|byte| *byte == b'=') {
        Some(at) => (&body[..at], Some(OsStr::from_bytes(&body[at + 1..]))),
        None => (body, None),
    };
    OsString::from_vec(name.to_vec()).into_string().ok().map(|name| (name, value))
}

/// What Go's flag package takes for a boolean.
fn go_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
