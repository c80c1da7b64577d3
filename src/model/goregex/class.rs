//! Sets of characters: `[…]`, `\d` and the like, `\pN`.

use std::iter::Peekable;
use std::str::Chars;

use super::character::{escaped, put};

/// The set that a letter behind a backslash means, which is ASCII in Go.
pub(super) fn perl(letter: char) -> Option<&'static str> {
    Some(match letter {
        'd' => "[0-9]",
        'D' => "[^0-9]",
        's' => r"[\t\n\x0c\r ]",
        'S' => r"[^\t\n\x0c\r ]",
        'w' => "[0-9A-Za-z_]",
        'W' => "[^0-9A-Za-z_]",
        _ => return None,
    })
}

/// Of ASCII, by name: `[:alpha:]`.
const POSIX: &[&str] = &[
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "word",
    "xdigit",
];

/// At the `p` or `P` behind a backslash.
pub(super) fn unicode(rest: &mut Peekable<Chars<'_>>) -> Result<String, String> {
    const EXPECTED: &str = "expected a set of characters such as \\pL or \\p{Greek}";
    let mut not = rest.next() == Some('P');
    let mut name = String::new();
    match rest.next() {
        Some('{') => loop {
            match rest.next() {
                Some('}') if !name.is_empty() => break,
                Some('^') if name.is_empty() => not = !not,
                Some(c) if c.is_ascii_alphanumeric() || matches!(c, '_' | ' ') => name.push(c),
                _ => return Err(EXPECTED.into()),
            }
        },
        Some(c) if c.is_ascii_alphabetic() => name.push(c),
        _ => return Err(EXPECTED.into()),
    }
    Ok(format!("\\{}{{{name}}}", if not { 'P' } else { 'p' }))
}

/// Behind `[`, up to its end.
pub(super) fn class(rest: &mut Peekable<Chars<'_>>) -> Result<String, String> {
    let mut out = String::from(if rest.next_if_eq(&'^').is_some() { "[^" } else { "[" });
    let mut first = true;
    loop {
        match rest.peek().copied() {
            None => return Err("a set of characters is not closed".into()),
            Some(']') if !first => {
                rest.next();
                out.push(']');
                return Ok(out);
            }
            Some('[') if let Some(set) = posix(rest)? => out.push_str(&set),
            Some(_) => item(rest, &mut out)?,
        }
        first = false;
    }
}

/// One character, a range of them, or a set that a backslash means.
fn item(rest: &mut Peekable<Chars<'_>>, out: &mut String) -> Result<(), String> {
    let mut behind = rest.clone();
    if behind.next() == Some('\\') {
        match behind.next() {
            Some('p' | 'P') => {
                rest.next();
                out.push_str(&unicode(rest)?);
                return Ok(());
            }
            Some(c) if let Some(set) = perl(c) => {
                *rest = behind;
                out.push_str(set);
                return Ok(());
            }
            _ => {}
        }
    }
    let from = one(rest)?;
    put(out, from);
    let mut behind = rest.clone();
    if behind.next() == Some('-') && behind.peek().is_some_and(|next| *next != ']') {
        *rest = behind;
        let to = one(rest)?;
        if to < from {
            return Err("a range of characters is the wrong way round".into());
        }
        out.push('-');
        put(out, to);
    }
    Ok(())
}

fn one(rest: &mut Peekable<Chars<'_>>) -> Result<char, String> {
    match rest.next() {
        Some('\\') => escaped(rest),
        Some(c) => Ok(c),
        None => Err("a set of characters is not closed".into()),
    }
}

/// `[:alpha:]` or `[:^alpha:]`, if it stands here; a bracket without `:]` behind it is a plain one.
fn posix(rest: &mut Peekable<Chars<'_>>) -> Result<Option<String>, String> {
    let text: String = rest.clone().collect();
    let Some((name, _)) = text.strip_prefix("[:").and_then(|text| text.split_once(":]")) else { return Ok(None) };
    if !POSIX.contains(&name.strip_prefix('^').unwrap_or(name)) {
        return Err(format!("[:{name}:] means nothing: there are {}", POSIX.join(", ")));
    }
    let set = format!("[:{name}:]");
    rest.by_ref().take(set.len()).for_each(drop);
    Ok(Some(set))
}
