//! Where secrets stand in a text, by the names of keys alone.
//!
//! Excerpts must not show secrets, least of all of a file that does not parse, where nothing else is known of it. So
//! this looks at words and quotes only, knows no grammar, takes all formats alike, and would rather hide too much. It
//! looks into comments too: servers that are out of use stand there.

use super::text::Text;
use crate::shape::{Span, nearest};

/// Keys whose values are hidden, in lower case without `_` and `-`.
const NAMES: &[&str] = &[
    "accesskey",
    "accounts",
    "apikey",
    "auth",
    "authorization",
    "authtoken",
    "certificate",
    "clients",
    "cookie",
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
    "proxyauthorization",
    "psk",
    "secret",
    "secretkey",
    "seed",
    "shortid",
    "shortids",
    "token",
    "user",
    "username",
    "users",
    "uuid",
];

/// Those of [`NAMES`] that people misspell without a shorter word meaning something else: `pasword` is hidden too.
const LONG: &[&str] =
    &["password", "passwd", "presharedkey", "privatekey", "secretkey", "uuid", "accounts", "authorization"];

/// Lists of people. Written as an object by mistake, they hold names with passwords.
const PEOPLE: &[&str] = &["accounts", "clients", "users"];

/// Keys that are near one of [`LONG`] and mean something else.
const OTHERS: &[&str] = &["passive"];

/// What stands before a secret inside a text, as in the query of a URL.
const QUERIES: &[&str] =
    &["token", "key", "secret", "password", "passwd", "pass", "pwd", "auth", "sig", "signature", "uuid"];

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
        if word.quoted {
            inside(text, word.start, word.end, &mut found);
        }
        let Some(value) = separator(bytes, word.next) else { continue };
        let name = &text.body[word.start..word.end];
        if !secret(name) {
            continue;
        }
        let people = PEOPLE.iter().any(|known| name.eq_ignore_ascii_case(known));
        at = if people && bytes.get(value) == Some(&b'{') {
            hide_map(text, value, &mut found)
        } else {
            hide(text, value, &mut found)
        };
    }
    found
}

/// A quoted or bare word: its inner bytes and the byte behind it.
struct Word {
    start: usize,
    end: usize,
    next: usize,
    quoted: bool,
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
                        return Some(Word { start, end, next: end + if long { 3 } else { 1 }, quoted: true });
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
            Some(Word { start: at, end: at + len, next: at + len, quoted: false })
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
    NAMES.binary_search(&plain.as_str()).is_ok()
        || plain.ends_with("password")
        || plain.ends_with("secret")
        || LONG.iter().any(|known| near(&plain, known))
}

/// Whether a key is another one misspelt. First letters and lengths are compared first, as most keys differ there.
fn near(name: &str, known: &str) -> bool {
    name.len() > 3
        && name.as_bytes().first() == known.as_bytes().first()
        && name.len().abs_diff(known.len()) <= 2
        && !OTHERS.contains(&name)
        && nearest(name, [known]).is_some()
}

/// Hides what is secret whatever the key is called: UUIDs, the login of a URL, and parameters such as `token=…`.
fn inside(text: &Text, start: usize, end: usize, found: &mut Vec<Span>) {
    let body = &text.body[start..end];
    let is_uuid = body.len() == 36
        && body
            .bytes()
            .enumerate()
            .all(|(n, b)| if matches!(n, 8 | 13 | 18 | 23) { b == b'-' } else { b.is_ascii_hexdigit() });
    if is_uuid {
        found.push(text.span(start, end));
        return;
    }
    if let Some(scheme) = body.find("://") {
        let from = scheme + 3;
        let authority = body[from..].find(['/', '?', '#']).map_or(body.len(), |n| from + n);
        if let Some(login) = body[from..authority].rfind('@').filter(|len| *len > 0) {
            found.push(text.span(start + from, start + from + login));
        }
    }
    for (mark, _) in body.match_indices(['?', '&']) {
        let rest = &body[mark + 1..];
        let Some((name, value)) = rest.split_once('=') else { break };
        let len = value.find(['&', '#']).unwrap_or(value.len());
        if len > 0 && QUERIES.iter().any(|query| name.eq_ignore_ascii_case(query) || secret(name)) {
            let from = start + mark + 1 + name.len() + 1;
            found.push(text.span(from, from + len));
        }
    }
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

/// Hides the texts of an object that holds nothing but texts, such as names with passwords; any other is left to its own
/// keys.
fn hide_map(text: &Text, open: usize, found: &mut Vec<Span>) -> usize {
    let bytes = text.body.as_bytes();
    let (mut at, mut values) = (open + 1, vec![]);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'}' => {
                found.append(&mut values);
                return at;
            }
            b':' | b',' => at += 1,
            b if b.is_ascii_whitespace() => at += 1,
            _ => match word(bytes, at).filter(|word| word.quoted) {
                Some(value) => {
                    if value.end > value.start && separator(bytes, value.next).is_none() {
                        values.push(text.span(value.start, value.end));
                    }
                    at = value.next;
                }
                None => break,
            },
        }
    }
    open + 1
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

    #[test]
    fn misspelt_names_hide_their_values_and_other_words_do_not() {
        assert_eq!(
            hidden(r#"{"pasword": "a", "passwrd": "b", "privateKye": "c", "Uuids": "d"}"#),
            ["a", "b", "c", "d"]
        );
        assert!(hidden(r#"{"protocol": "a", "security": "b", "path": "c", "port": "d", "publicKey": "e"}"#).is_empty());
    }

    #[test]
    fn credentials_in_urls_and_headers_are_hidden() {
        assert_eq!(hidden(r#"{"url": "@s:/p?a=1&token=TT&b=2#f"}"#), ["TT"]);
        assert_eq!(hidden(r#"{"url": "https://u:p@host/x?q=1"}"#), ["u:p"]);
        assert_eq!(hidden(r#"{"headers": {"Proxy-Authorization": "Basic eA==", "Host": "x"}}"#), ["Basic eA=="]);
        assert_eq!(
            hidden(r#"{"x": "b831381d-6324-4d53-ad4f-8cda48b30811"}"#),
            ["b831381d-6324-4d53-ad4f-8cda48b30811"]
        );
        assert!(hidden(r#"{"path": "/a?ed=2048", "probeURL": "http://h/generate_204"}"#).is_empty());
    }

    #[test]
    fn accounts_in_any_form_are_hidden() {
        assert_eq!(hidden(r#"{"accounts": {"joe": "pw", "ann": "pv"}}"#), ["pw", "pv"]);
        assert_eq!(hidden(r#"{"users": ["joe:pw"], "clients": "x"}"#), ["joe:pw", "x"]);
        assert_eq!(hidden(r#"{"clients": [{"email": "e", "id": "i"}]}"#), ["i"]);
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
