//! A file's text: decoded bytes, lines, comments.
//!
//! Places are byte offsets into the *decoded* text (byte-order mark gone, broken bytes replaced), so that every span cuts
//! the text where a character begins and an excerpt can be shown without looking at the bytes again.

use std::borrow::Cow;

use crate::shape::{Kind, Node, Problem, Severity, Span};

/// The largest configuration that is read. Real ones have a few kilobytes, lists of rules a few megabytes; a disk image
/// given by mistake must not fill the memory.
pub const LIMIT: usize = 64 << 20;

/// The most values that a file can hold, by its commas and line ends. A value costs the tree some hundred bytes, so a
/// file of [`LIMIT`] bytes that is nothing but small numbers would take gigabytes.
pub const MAX_VALUES: usize = 2_000_000;

/// One file's text and where its lines begin.
#[derive(Debug, Clone)]
pub struct Text {
    /// Number of the file, as spans name it.
    pub file: u16,
    /// Its name, as the user gave it.
    pub name: String,
    /// The decoded text.
    pub body: String,
    lines: Vec<u32>,
}

/// A place as people count it: from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Line.
    pub line: usize,
    /// Column.
    pub column: usize,
}

/// A comment; convert carries them along.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// Where it stands, marks included.
    pub span: Span,
    /// What it says, without marks and outer blanks.
    pub text: String,
    /// Whether nothing else stands before it on its line.
    pub own_line: bool,
}

/// What a parser makes of a text.
#[derive(Debug, Default)]
pub struct Parsed {
    /// The tree; none if the text is broken.
    pub root: Option<Node>,
    /// The comments in order.
    pub comments: Vec<Comment>,
    /// What was found on the way.
    pub problems: Vec<Problem>,
}

impl Text {
    /// Takes a decoded text.
    #[must_use]
    pub fn new(file: u16, name: impl Into<String>, body: impl Into<String>) -> Self {
        let mut body: String = body.into();
        if body.len() > LIMIT {
            let mut end = LIMIT;
            while !body.is_char_boundary(end) {
                end -= 1;
            }
            body.truncate(end);
        }
        let lines = std::iter::once(0).chain(body.match_indices('\n').map(|(n, _)| offset(n + 1))).collect();
        Self { file, name: name.into(), body, lines }
    }

    /// A span of this file.
    #[must_use]
    pub fn span(&self, start: usize, end: usize) -> Span {
        Span { file: self.file, start: offset(start), end: offset(end.max(start)) }
    }

    /// Line and column of a byte.
    #[must_use]
    pub fn place(&self, at: u32) -> Place {
        let line = self.lines.partition_point(|start| *start <= at);
        let start = self.line_start(line) as usize;
        let before = self.body.get(start..(at as usize).min(self.body.len())).unwrap_or_default();
        Place { line, column: before.chars().count() + 1 }
    }

    /// How many lines there are.
    #[must_use]
    pub fn line_count(&self) -> usize {
        self.lines.len()
    }

    /// Where a line (from 1) begins.
    #[must_use]
    pub fn line_start(&self, line: usize) -> u32 {
        self.lines.get(line.saturating_sub(1)).copied().unwrap_or_else(|| offset(self.body.len()))
    }

    /// A line (from 1) without its end.
    #[must_use]
    pub fn line(&self, line: usize) -> &str {
        let start = self.line_start(line) as usize;
        let end = self.line_start(line + 1) as usize;
        self.body.get(start..end).unwrap_or_default().trim_end_matches(['\n', '\r'])
    }

    /// A finding in this file, without path.
    #[must_use]
    pub fn problem(&self, severity: Severity, kind: Kind, span: Span, message: impl Into<String>) -> Problem {
        Problem { severity, kind, span: Some(span), path: String::new(), message: message.into(), help: None }
    }

    /// The comment between two bytes; its marks are cut off.
    #[must_use]
    pub fn comment(&self, start: usize, end: usize) -> Comment {
        let raw = self.body.get(start..end).unwrap_or_default();
        let text = raw.strip_prefix("/*").map_or_else(
            || raw.trim_start_matches(['/', '#']),
            |block| block.strip_suffix("*/").unwrap_or(block).trim_matches('*'),
        );
        let before = self.body.as_bytes()[..start].iter().rev().find(|b| !matches!(b, b' ' | b'\t' | b'\r'));
        Comment {
            span: self.span(start, end),
            text: text.trim().to_owned(),
            own_line: before.is_none_or(|b| *b == b'\n'),
        }
    }
}

/// Makes text of a file's bytes. Nothing comes back if they are no text that can be read; the reason is among the
/// findings. `strict` refuses a byte-order mark, as Xray does.
#[must_use]
pub fn decode(file: u16, name: &str, bytes: &[u8], strict: bool) -> (Text, Vec<Problem>, bool) {
    if let Some(why) = refused(bytes) {
        let text = Text::new(file, name, "");
        let start = text.span(0, 0);
        let problem = Problem { help: why.1, ..text.problem(Severity::Error, Kind::Source, start, why.0) };
        return (text, vec![problem], false);
    }
    let mut problems = vec![];
    let marked = bytes.strip_prefix(b"\xef\xbb\xbf");
    let body = String::from_utf8_lossy(marked.unwrap_or(bytes));
    let broken = matches!(body, Cow::Owned(_));
    // Each replaced byte can grow to three, which Text::new bounds again.
    let text = Text::new(file, name, body.into_owned());
    let start = text.span(0, 0);
    if marked.is_some() {
        let severity = if strict { Severity::Error } else { Severity::Warning };
        let mut problem = text.problem(severity, Kind::Syntax, start, "the file begins with a byte order mark");
        problem.help = Some("it is skipped here; Xray refuses such a file, so save it as UTF-8 without BOM".into());
        problems.push(problem);
    }
    if broken {
        let at = text.body.find('\u{fffd}').unwrap_or_default();
        let count = text.body.matches('\u{fffd}').count();
        let span = text.span(at, at + '\u{fffd}'.len_utf8());
        let mut problem = text.problem(
            Severity::Warning,
            Kind::Syntax,
            span,
            format!("not valid UTF-8: {count} broken character(s) replaced by U+FFFD, the first here"),
        );
        problem.help = Some("save the file as UTF-8".into());
        problems.push(problem);
    }
    (text, problems, true)
}

/// Why bytes cannot be read as text at all, with advice.
fn refused(bytes: &[u8]) -> Option<(String, Option<String>)> {
    if bytes.len() > LIMIT {
        let size = format!("at least {} MiB", bytes.len() >> 20);
        return Some((
            format!("the file is too large for a configuration: {size}, the limit is {} MiB", LIMIT >> 20),
            Some("large domain and address lists belong into geosite.dat and geoip.dat files".into()),
        ));
    }
    if bytes.iter().filter(|b| matches!(b, b',' | b'\n')).count() > MAX_VALUES {
        return Some((
            format!("the file holds too many values for a configuration: more than {MAX_VALUES} commas and lines"),
            Some("large domain and address lists belong into geosite.dat and geoip.dat files".into()),
        ));
    }
    let encoding = match bytes {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => "UTF-32",
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "UTF-16",
        // Without a mark: ASCII text has a zero in every other byte.
        [0, a, 0, b, ..] | [a, 0, b, 0, ..] if *a != 0 && *b != 0 => "UTF-16",
        _ => {
            let zero = bytes.iter().take(4096).position(|b| *b == 0)?;
            return Some((format!("not a text file: byte {zero} is zero"), None));
        }
    };
    Some((
        format!("the file is {encoding}, it must be UTF-8"),
        Some(
            "save it as UTF-8; PowerShell's `>` writes UTF-16, `Out-File -Encoding utf8NoBOM` writes what is needed"
                .into(),
        ),
    ))
}

/// Offsets fit: texts are cut at [`LIMIT`].
fn offset(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_nothing_but_values_is_refused_before_it_takes_the_memory() {
        let (_, problems, readable) = decode(0, "c", &b"0,".repeat(MAX_VALUES + 1), false);
        assert!(!readable && problems[0].message.contains("too many values"), "{problems:?}");
        assert!(decode(0, "c", &b"0,".repeat(MAX_VALUES), false).2);
    }

    #[test]
    fn places_count_lines_and_characters() {
        let text = Text::new(0, "c", "ab\nдв/日x\n");
        let at = text.body.find('x').map_or(0, offset);
        assert_eq!(text.place(at), Place { line: 2, column: 5 });
        assert_eq!(text.place(0), Place { line: 1, column: 1 });
        assert_eq!(text.place(999), Place { line: 3, column: 1 });
        assert_eq!((text.line(2), text.line(3), text.line(9)), ("дв/日x", "", ""));
    }

    #[test]
    fn case_003_utf16_is_told_by_name() {
        for bytes in [&b"\xff\xfe{\0"[..], b"\xfe\xff\0{", b"{\0 \0\n\0", b"\0{\0 "] {
            let (_, problems, fine) = decode(0, "c", bytes, false);
            assert!(!fine && problems[0].message.contains("UTF-16"), "{problems:?}");
        }
    }

    #[test]
    fn case_003_a_byte_order_mark_is_skipped() {
        let (text, problems, fine) = decode(0, "c", b"\xef\xbb\xbf{}", false);
        assert!(fine && text.body == "{}" && problems[0].severity == Severity::Warning);
        assert_eq!(decode(0, "c", b"\xef\xbb\xbf{}", true).1[0].severity, Severity::Error);
    }

    #[test]
    fn broken_bytes_and_binaries_are_told() {
        let (text, problems, fine) = decode(0, "c", b"{\"a\xff\": 1}", false);
        assert!(fine && text.body.contains('\u{fffd}') && problems[0].severity == Severity::Warning);
        assert!(!decode(0, "c", b"\x0a\x01\x00\x00\x00\x00", false).2);
    }

    #[test]
    fn comments_lose_their_marks() {
        let text = Text::new(0, "c", "/** one **/ // two\n  # three");
        assert_eq!(text.comment(0, 11).text, "one");
        let two = text.comment(12, 18);
        assert_eq!((two.text.as_str(), two.own_line), ("two", false));
        let three = text.comment(21, 28);
        assert_eq!((three.text.as_str(), three.own_line), ("three", true));
    }
}
