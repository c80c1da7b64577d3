//! Where secrets stand in a text, by the names of keys alone.
//!
//! Excerpts must not show secrets, least of all of a file that does not parse, where nothing else is known of it. So
//! this looks at words and quotes only, knows no grammar, takes all formats alike, and would rather hide too much. It
//! looks into comments too: servers that are out of use stand there.

use super::text::Text;
use crate::shape::Span;

/// Keys whose values are hidden, in lower case without `_` and `-`.
const NAMES: &[&str] = &[
    "accesskey",
    "apikey",
    "auth",
    "authtoken",
    "certificate",
    "decryption",
    "echserverkeys",
    "encryption",
    "id",
    "key",
    "masterkeylog",
    "mldsa65seed",
    "mldsa65verify",
    "pass",
    "passwd",
    "password",
    "presharedkey",
    "privatekey",
    "psk",
    "secret",
    "secretkey",
    "seed",
    "shortid",
    "shortids",
    "token",
    "user",
    "username",
    "uuid",
];

/// Values of such keys that say how a login works and are no secret.
const WORDS: &[&str] = &["", "false", "noauth", "none", "null", "password", "true"];

/// Every value that belongs to a key with a secret's name. Quotes are not part of the places.
#[must_use]
pub fn find(text: &Text) -> Vec<Span> {
    let bytes = text.body.as_bytes();
    let mut found = vec![];
    let mut at = 0;
    while at < bytes.len() {
        let Some(word) = word(bytes, at) else {
            at += 1;
            continue;
        };
        at = word.next;
        if !secret(&text.body[word.start..word.end]) {
            continue;
        }
        if let Some(value) = separator(bytes, word.next) {
            at = hide(text, value, &mut found);
        }
    }
    found
}

/// A quoted or bare word: its inner bytes and the byte behind it.
struct Word {
    start: usize,
    end: usize,
    next: usize,
}

/// The word that begins here.
fn word(bytes: &[u8], at: usize) -> Option<Word> {
    match bytes.get(at)? {
        quote @ (b'"' | b'\'') => {
            let long = bytes.get(at..at + 3).is_some_and(|q| q.iter().all(|b| b == quote));
            let start = at + if long { 3 } else { 1 };
            let mut end = start;
            while let Some(byte) = bytes.get(end) {
                match *byte {
                    b'\\' if *quote == b'"' => end += 1,
                    b'\n' if !long => break,
                    b if b == *quote && (!long || bytes[end..].starts_with(&[b, b, b])) => {
                        return Some(Word { start, end, next: end + if long { 3 } else { 1 } });
                    }
                    _ => {}
                }
                end += 1;
            }
            // Not closed: an apostrophe of a comment, or the mistake itself. What follows is looked at anew.
            None
        }
        byte if name_byte(*byte) => {
            let len = bytes[at..].iter().take_while(|b| name_byte(**b)).count();
            Some(Word { start: at, end: at + len, next: at + len })
        }
        _ => None,
    }
}

fn name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-' || byte >= 0x80
}

fn secret(name: &str) -> bool {
    if name.len() > 40 {
        return false;
    }
    let plain: String = name.chars().filter(|c| !matches!(c, '_' | '-')).collect::<String>().to_ascii_lowercase();
    NAMES.binary_search(&plain.as_str()).is_ok() || plain.ends_with("password") || plain.ends_with("secret")
}

/// Where the value begins: behind `:` or `=`, or at a quote where that was forgotten.
fn separator(bytes: &[u8], at: usize) -> Option<usize> {
    let blank = |at: usize| at + bytes[at.min(bytes.len())..].iter().take_while(|b| b.is_ascii_whitespace()).count();
    let next = blank(at);
    match bytes.get(next)? {
        b':' | b'=' => Some(blank(next + 1)),
        b'"' | b'\'' if next > at => Some(next),
        _ => None,
    }
}

/// Hides the value that begins here; returns the byte to go on from.
fn hide(text: &Text, at: usize, found: &mut Vec<Span>) -> usize {
    let bytes = text.body.as_bytes();
    match bytes.get(at) {
        None => at,
        Some(b'{') => at + 1,
        Some(b'[') => hide_list(text, at, found),
        Some(b'"' | b'\'') => match word(bytes, at) {
            Some(value) => {
                let shown = WORDS.iter().any(|w| w.eq_ignore_ascii_case(&text.body[value.start..value.end]));
                if !shown {
                    found.push(text.span(value.start, value.end));
                }
                value.next
            }
            None => hide_line(text, at + 1, found),
        },
        Some(_) => {
            let len =
                bytes[at..].iter().take_while(|b| !matches!(b, b',' | b'}' | b']' | b'\n' | b'\r' | b'#')).count();
            let value = text.body[at..at + len].trim_end();
            if !WORDS.iter().any(|w| w.eq_ignore_ascii_case(value)) {
                found.push(text.span(at, at + value.len()));
            }
            at + len
        }
    }
}

/// Hides the texts of a list; stops at objects, whose own keys say what they hold.
fn hide_list(text: &Text, open: usize, found: &mut Vec<Span>) -> usize {
    let bytes = text.body.as_bytes();
    let mut at = open + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b']' | b'{' | b'}' => return at,
            b'"' | b'\'' => match word(bytes, at) {
                Some(value) => {
                    if value.end > value.start {
                        found.push(text.span(value.start, value.end));
                    }
                    at = value.next;
                }
                None => at = hide_line(text, at + 1, found),
            },
            b if name_byte(*b) => {
                let len = bytes[at..].iter().take_while(|b| name_byte(**b)).count();
                found.push(text.span(at, at + len));
                at += len;
            }
            _ => at += 1,
        }
    }
    at
}

/// Hides the rest of a line, because a quote on it is not closed.
fn hide_line(text: &Text, at: usize, found: &mut Vec<Span>) -> usize {
    let end = text.body[at..].find('\n').map_or(text.body.len(), |n| at + n);
    found.push(text.span(at, end));
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(body: &str) -> Vec<String> {
        let text = Text::new(0, "c", body);
        find(&text).iter().map(|s| body[s.start as usize..s.end as usize].to_owned()).collect()
    }

    #[test]
    fn the_list_of_names_is_sorted() {
        assert!(NAMES.is_sorted());
    }

    #[test]
    fn values_are_found_in_every_format() {
        assert_eq!(hidden(r#"{"password": "a\"b", "PASS":"c", "port": 1, "id" : 5}"#), ["a\\\"b", "c", "5"]);
        assert_eq!(hidden("private_key = \"k\"\npre_shared_key='p' # x\nseed = \"\"\"a\nb\"\"\""), ["k", "p", "a\nb"]);
        assert_eq!(hidden("- password: hun ter # c\n  id: x\n"), ["hun ter", "x"]);
        assert_eq!(hidden(r#""shortIds": ["ab", "", "cd"], "tag": "x""#), ["ab", "cd"].map(str::to_owned).to_vec());
    }

    #[test]
    fn broken_text_hides_what_may_be_secret() {
        assert_eq!(hidden("{\"password\": \"hunter2,\n\"a\": 1"), ["hunter2,"]);
        assert_eq!(hidden("{\"password\" \"hunter2\"}"), ["hunter2"]);
        assert_eq!(hidden("{password: hunter2}"), ["hunter2"]);
        assert_eq!(hidden("{'password': 'hunter2'}"), ["hunter2"]);
        assert_eq!(hidden("// it's \"pass\": \"old\""), ["old"]);
        assert_eq!(hidden("\"password\":\n  \"x\""), ["x"]);
    }

    #[test]
    fn ways_to_log_in_and_objects_are_shown() {
        assert!(hidden(r#"{"auth": "noauth", "auth": "password", "key": {"tag": "x"}}"#).is_empty());
    }

    proptest::proptest! {
        #[test]
        fn any_text_can_be_searched(body in "([{}\\[\\]\":,'=#\\\\\n é]|pass|id|\"\"\"){0,60}") {
            for span in find(&Text::new(0, "c", body.as_str())) {
                proptest::prop_assert!(body.get(span.start as usize..span.end as usize).is_some());
            }
        }
    }
}
