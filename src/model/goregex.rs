//! Go's regular expressions (RE2) in the words of the engine that runs them here.
//!
//! The two differ in little, but silently: `\d`, `\w`, `\s` and `\b` are ASCII in Go, `{,2}` and `&&` in a class are plain
//! text, `\Q…\E` and octal numbers exist, `(?x)` and `\u` do not. What Go has is translated, what it lacks is refused, so a
//! config means what it means to Xray. Groups are never read, and so lose their numbers and names.

use std::iter::Peekable;
use std::str::Chars;

use character::{escaped, put};
use class::{class, perl, unicode};

mod character;
mod class;

/// The expression as [`regex_automata`] has it.
///
/// # Errors
/// Says what Go has no meaning for, and what to write, if there is something.
pub fn translate(pattern: &str) -> Result<String, String> {
    let out = String::with_capacity(pattern.len() + 8);
    Translator { rest: pattern.chars().peekable(), out, open: 0, last: Last::Nothing }.all()
}

struct Translator<'p> {
    rest: Peekable<Chars<'p>>,
    out: String,
    /// Groups that are not closed yet.
    open: usize,
    last: Last,
}

/// What stands before a repetition.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Atom,
    Repetition,
}

impl Translator<'_> {
    fn all(mut self) -> Result<String, String> {
        while let Some(c) = self.rest.next() {
            match c {
                '(' => self.group()?,
                ')' => {
                    self.open = self.open.checked_sub(1).ok_or("a group is closed that was not opened")?;
                    self.atom(")");
                }
                '|' => {
                    self.out.push('|');
                    self.last = Last::Nothing;
                }
                '*' | '+' | '?' => self.repeat(&c.to_string())?,
                '{' => match counts(&mut self.rest)? {
                    Some(counts) => self.repeat(&counts)?,
                    None => self.literal('{'),
                },
                '[' => {
                    let class = class(&mut self.rest)?;
                    self.atom(&class);
                }
                '\\' => self.escape()?,
                '^' | '$' | '.' => self.atom(&c.to_string()),
                _ => self.literal(c),
            }
        }
        if self.open > 0 {
            return Err("a group is not closed".into());
        }
        Ok(self.out)
    }

    fn atom(&mut self, text: &str) {
        self.out.push_str(text);
        self.last = Last::Atom;
    }

    fn literal(&mut self, c: char) {
        put(&mut self.out, c);
        self.last = Last::Atom;
    }

    fn repeat(&mut self, what: &str) -> Result<(), String> {
        match self.last {
            Last::Nothing => return Err("a repetition has nothing to repeat".into()),
            Last::Repetition => {
                return Err(format!("`{what}` stands behind another repetition: put that into a group"));
            }
            Last::Atom => {}
        }
        self.out.push_str(what);
        if self.rest.next_if_eq(&'?').is_some() {
            self.out.push('?');
        }
        self.last = Last::Repetition;
        Ok(())
    }

    /// Behind `(`.
    fn group(&mut self) -> Result<(), String> {
        self.last = Last::Nothing;
        if self.rest.next_if_eq(&'?').is_none() {
            self.out.push_str("(?:");
            self.open += 1;
            return Ok(());
        }
        let python = self.rest.peek() == Some(&'P');
        if python {
            self.rest.next();
        }
        if self.rest.next_if_eq(&'<').is_some() {
            return self.named();
        }
        match self.rest.peek() {
            _ if python => return Err("behind `(?P` only `<name>` is known".into()),
            Some('=' | '!') => return Err("look-around is not supported".into()),
            Some('>') => {
                return Err("atomic groups are not supported: nothing here goes back, so a plain group does".into());
            }
            Some('#') => return Err("comments are not supported".into()),
            _ => {}
        }
        let mut flags = String::from("(?");
        let (mut minus, mut fresh) = (false, false);
        for c in self.rest.by_ref() {
            match c {
                'i' | 'm' | 's' | 'U' => {
                    // A flag may come twice, which the engine does not like.
                    let here = flags.rsplit(['-', '?']).next().unwrap_or_default();
                    if !here.contains(c) {
                        flags.push(c);
                    }
                    fresh = true;
                }
                '-' if !minus => {
                    flags.push(c);
                    (minus, fresh) = (true, false);
                }
                ':' | ')' if fresh || !minus => {
                    // `(?)` changes nothing.
                    if c == ':' || flags.len() > 2 {
                        self.out.push_str(&flags);
                        self.out.push(c);
                    }
                    self.open += usize::from(c == ':');
                    return Ok(());
                }
                _ => return Err(format!("`{c}` is no flag: there are i, m, s and U")),
            }
        }
        Err("a group is not closed".into())
    }

    /// Behind `(?<`.
    fn named(&mut self) -> Result<(), String> {
        if matches!(self.rest.peek(), Some('=' | '!')) {
            return Err("look-around is not supported".into());
        }
        let mut any = false;
        loop {
            match self.rest.next() {
                Some('>') if any => break,
                Some(c) if c == '_' || c.is_ascii_alphanumeric() => any = true,
                _ => return Err("the name of a group is letters, digits and `_`, and ends with `>`".into()),
            }
        }
        self.out.push_str("(?:");
        self.open += 1;
        Ok(())
    }

    /// Behind a backslash outside of a class.
    fn escape(&mut self) -> Result<(), String> {
        match self.rest.peek().copied() {
            Some('A' | 'z') => {
                let c = self.rest.next().unwrap_or('A');
                self.atom(&format!("\\{c}"));
            }
            Some('b' | 'B') => {
                let c = self.rest.next().unwrap_or('b');
                self.atom(&format!("(?-u:\\{c})"));
            }
            Some('Q') => {
                self.rest.next();
                self.quoted();
            }
            Some('p' | 'P') => {
                let text = unicode(&mut self.rest)?;
                self.atom(&text);
            }
            Some(c) if let Some(text) = perl(c) => {
                self.rest.next();
                self.atom(text);
            }
            _ => {
                let c = escaped(&mut self.rest)?;
                self.literal(c);
            }
        }
        Ok(())
    }

    /// Behind `\Q`: plain text up to `\E`, or to the end.
    fn quoted(&mut self) {
        while let Some(c) = self.rest.next() {
            if c == '\\' && self.rest.next_if_eq(&'E').is_some() {
                return;
            }
            self.literal(c);
        }
    }
}

/// Behind `{`: how often, if that is what it says; otherwise the brace is a plain one, and nothing is taken.
fn counts(rest: &mut Peekable<Chars<'_>>) -> Result<Option<String>, String> {
    let mut ahead = rest.clone();
    let Some(least) = number(&mut ahead) else { return Ok(None) };
    let (comma, most) = if ahead.next_if_eq(&',').is_some() { (true, number(&mut ahead)) } else { (false, None) };
    if ahead.next() != Some('}') {
        return Ok(None);
    }
    if least.max(most.unwrap_or(0)) > MOST {
        return Err(format!("a repetition counts to {MOST} at most"));
    }
    if most.is_some_and(|most| most < least) {
        return Err("the counts of a repetition are the wrong way round".into());
    }
    *rest = ahead;
    let most = most.map_or_else(String::new, |most| most.to_string());
    Ok(Some(format!("{{{least}{}{most}}}", if comma { "," } else { "" })))
}

/// Go's limit.
const MOST: u32 = 1000;

/// A number without leading zeros; one that is too large stays too large.
fn number(ahead: &mut Peekable<Chars<'_>>) -> Option<u32> {
    let first = ahead.next_if(char::is_ascii_digit)?;
    let mut number = first.to_digit(10)?;
    while let Some(digit) = ahead.next_if(char::is_ascii_digit) {
        if first == '0' {
            return None;
        }
        number = number.saturating_mul(10).saturating_add(digit.to_digit(10)?);
    }
    Some(number)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
