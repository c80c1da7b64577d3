//! Problems as text and as JSON.
//!
//! The last line of a failed start is the caller's; what stands here is the part before it: every finding with its
//! place, the user's own line with a caret, and what to write instead.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use super::excerpt;
use super::sources::Sources;
use crate::shape::{Kind, Problem, Severity};

/// More findings than this are counted, not shown: errors first, then warnings.
const SHOWN: usize = 100;

/// Whether terminal colours are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// Text only.
    Plain,
    /// With colours.
    Ansi,
}

/// How many findings of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// What keeps the configuration from loading.
    pub errors: usize,
    /// What may not do what was meant.
    pub warnings: usize,
    /// What was read differently than written.
    pub notes: usize,
}

impl Counts {
    /// Counts findings.
    #[must_use]
    pub fn of(problems: &[Problem]) -> Self {
        let count = |severity| problems.iter().filter(|p| p.severity == severity).count();
        Self { errors: count(Severity::Error), warnings: count(Severity::Warning), notes: count(Severity::Note) }
    }

    /// `2 errors, 1 warning`; empty if there is nothing.
    #[must_use]
    pub fn summary(&self) -> String {
        let kinds = [(self.errors, "error"), (self.warnings, "warning"), (self.notes, "note")];
        let some = kinds.iter().filter(|(n, _)| *n > 0);
        some.map(|(n, word)| format!("{n} {word}{}", if *n == 1 { "" } else { "s" })).collect::<Vec<_>>().join(", ")
    }
}

/// Sorts findings by file and place; those without a place come first.
pub fn sort(problems: &mut [Problem]) {
    problems.sort_by_key(|p| (p.span.map(|s| (s.file, s.start)), std::cmp::Reverse(p.severity)));
}

/// Takes the text of secrets out of messages, for findings at places that hold one.
pub fn scrub(sources: &Sources, problems: &mut [Problem]) {
    for problem in problems {
        let Some(span) = problem.span else { continue };
        for hidden in sources.hidden(span) {
            let Some(file) = sources.file(*hidden) else { continue };
            let raw = file.text.body.get(hidden.start as usize..hidden.end as usize).unwrap_or_default();
            let bare = raw.trim_matches(['"', '\'']);
            let plain = serde_json::from_str::<String>(&format!("\"{bare}\"")).unwrap_or_default();
            for secret in [bare, &plain, plain.escape_debug().to_string().as_str()] {
                problem.message = without(&problem.message, secret);
                problem.help = problem.help.take().map(|help| without(&help, secret));
            }
        }
    }
}

/// A text with a secret taken out; of a short one only quoted mentions, for it can be part of any word.
fn without(text: &str, secret: &str) -> String {
    match secret.len() {
        0 => text.to_owned(),
        1..4 => ['"', '`', '\''].iter().fold(text.to_owned(), |text, quote| {
            text.replace(&format!("{quote}{secret}{quote}"), &format!("{quote}***{quote}"))
        }),
        _ => text.replace(secret, "***"),
    }
}

/// `file:line:col: error: message` in one line.
#[must_use]
pub fn headline(sources: &Sources, problem: &Problem) -> String {
    line(sources, problem, Colour::Plain)
}

/// All findings, in the order given, and a last line with their counts.
#[must_use]
pub fn render(sources: &Sources, problems: &[Problem], colour: Colour) -> String {
    let mut order: Vec<usize> = (0..problems.len()).collect();
    if order.len() > SHOWN {
        order.sort_by_key(|n| std::cmp::Reverse(problems[*n].severity));
        order.truncate(SHOWN);
        order.sort_unstable();
    }
    let mut out = String::new();
    for problem in order.into_iter().map(|n| &problems[n]) {
        out.push_str(&line(sources, problem, colour));
        out.push('\n');
        out.push_str(&body(sources, problem, colour));
    }
    let summary = Counts::of(problems).summary();
    if !summary.is_empty() {
        out.push_str(&summary);
        if problems.len() > SHOWN {
            out.push_str(&format!(" (the first {SHOWN} are shown)"));
        }
        out.push('\n');
    }
    out
}

fn line(sources: &Sources, problem: &Problem, colour: Colour) -> String {
    let (word, code) = match problem.severity {
        Severity::Error => ("error", "1;31"),
        Severity::Warning => ("warning", "1;33"),
        Severity::Note => ("note", "1;36"),
    };
    let word = if colour == Colour::Ansi { format!("\u{1b}[{code}m{word}\u{1b}[0m") } else { word.to_owned() };
    let place = problem.span.and_then(|span| sources.place(span));
    let place = place.map(|(name, at)| format!("{}:{}:{}: ", printable(name), at.line, at.column)).unwrap_or_default();
    let path = if problem.path.is_empty() { String::new() } else { format!("{}: ", printable(&problem.path)) };
    format!("{place}{word}: {path}{}", printable(&problem.message))
}

/// The excerpt and the advice below it.
fn body(sources: &Sources, problem: &Problem, colour: Colour) -> String {
    let level = match problem.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let help = problem.help.as_deref().map(printable);
    let Some(excerpt) = problem.span.and_then(|span| excerpt::cut(sources, span)) else {
        return help.map(|help| format!("   = help: {help}\n")).unwrap_or_default();
    };
    let snippet = Snippet::source(excerpt.line.as_str())
        .line_start(excerpt.number)
        .annotation(AnnotationKind::Primary.span(excerpt.mark));
    let mut group = Group::with_level(level).element(snippet);
    if let Some(help) = &help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    let renderer = if colour == Colour::Ansi { Renderer::styled() } else { Renderer::plain() };
    let mut text = renderer.render(&[group]);
    text.push('\n');
    text
}

/// One line, without control characters: names and messages can hold what the file holds.
fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { if c == '\n' || c == '\t' { ' ' } else { '\u{fffd}' } } else { c })
        .collect()
}

/// All findings for programs.
#[derive(Debug, serde::Serialize)]
pub struct Report {
    /// How many.
    #[serde(flatten)]
    pub counts: Counts,
    /// Each of them.
    pub problems: Vec<Item>,
}

/// One finding for programs.
#[derive(Debug, serde::Serialize)]
pub struct Item {
    /// `error`, `warning` or `note`.
    pub severity: &'static str,
    /// What sort it is, in one word.
    pub kind: &'static str,
    /// The file.
    pub file: Option<String>,
    /// Line, from 1.
    pub line: Option<usize>,
    /// Column in characters, from 1.
    pub column: Option<usize>,
    /// Line of the end.
    pub end_line: Option<usize>,
    /// Column behind the end.
    pub end_column: Option<usize>,
    /// The path as people read it.
    pub path: String,
    /// The same as a JSON pointer; none in TOML and in broken files.
    pub pointer: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
}

impl Report {
    /// Of findings, in the order given.
    #[must_use]
    pub fn of(sources: &Sources, problems: &[Problem]) -> Self {
        let problems_out = problems.iter().map(|problem| Item::of(sources, problem)).collect();
        Self { counts: Counts::of(problems), problems: problems_out }
    }
}

impl Item {
    fn of(sources: &Sources, problem: &Problem) -> Self {
        let file = problem.span.and_then(|span| sources.file(span).map(|file| (file, span)));
        let start = file.map(|(file, span)| file.text.place(span.start));
        let end = file.map(|(file, span)| file.text.place(span.end));
        Self {
            severity: match problem.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Note => "note",
            },
            kind: kind(problem.kind),
            file: file.map(|(file, _)| file.text.name.clone()),
            line: start.map(|p| p.line),
            column: start.map(|p| p.column),
            end_line: end.map(|p| p.line),
            end_column: end.map(|p| p.column),
            path: problem.path.clone(),
            pointer: problem.span.and_then(|span| sources.pointer(span)),
            message: problem.message.clone(),
            help: problem.help.clone(),
        }
    }
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Conflict => "conflict",
        Kind::Ignored => "ignored",
        Kind::Legacy => "legacy",
        Kind::Missing => "missing",
        Kind::NotBuilt => "not-built",
        Kind::Reference => "reference",
        Kind::Skipped => "skipped",
        Kind::Source => "source",
        Kind::Syntax => "syntax",
        Kind::Type => "type",
        Kind::Unknown => "unknown",
        Kind::Value => "value",
    }
}

#[cfg(test)]
mod tests {
    use super::super::sources::of_json;
    use super::*;
    use crate::shape::Span;

    const BODY: &str = "{\n  \"日\": 1, \"sniffng\": {},\n  \"password\": \"hunter2\"\n}";

    fn span(of: &str) -> Option<Span> {
        let start = u32::try_from(BODY.find(of)?).ok()?;
        Some(Span { file: 0, start, end: start + u32::try_from(of.len()).ok()? })
    }

    fn problem(at: &str, message: &str) -> Problem {
        Problem {
            severity: Severity::Warning,
            kind: Kind::Unknown,
            span: span(at),
            path: "inbounds[0].sniffng".into(),
            message: message.into(),
            help: Some("did you mean `sniffing`?".into()),
        }
    }

    #[test]
    fn a_finding_shows_place_path_line_caret_and_advice() {
        let sources = of_json("c.json", BODY);
        let text = render(&sources, &[problem("\"sniffng\"", "unknown field `sniffng`")], Colour::Plain);
        let expected = "\
c.json:2:11: warning: inbounds[0].sniffng: unknown field `sniffng`
  |
2 |   \"日\": 1, \"sniffng\": {},
  |            ^^^^^^^^^
  |
  = help: did you mean `sniffing`?
1 warning
";
        assert_eq!(text, expected, "\n{text}");
        assert!(render(&sources, &[problem("1", "x")], Colour::Ansi).contains("\u{1b}[1;33mwarning"));
    }

    #[test]
    fn secrets_are_in_no_part_of_a_report() {
        let sources = of_json("c.json", BODY);
        let mut problems = vec![
            problem("\"hunter2\"", "invalid type: string \"hunter2\", expected u64"),
            problem("\"password\"", "unknown field `password`"),
        ];
        scrub(&sources, &mut problems);
        let text = render(&sources, &problems, Colour::Plain);
        assert!(!text.contains("hunter2") && text.contains("string \"***\""), "{text}");
        let json = serde_json::to_string(&Report::of(&sources, &problems)).unwrap_or_default();
        assert!(!json.contains("hunter2") && json.contains("\"pointer\":\"/password\""), "{json}");
    }

    #[test]
    fn secrets_of_broken_files_are_hidden_too() {
        for body in
            ["{\"password\": \"hunter2\" \"a\": }", "{\"id\": \"hunter2", "{'pass': 'hunter2'", "{user: hunter2 ,"]
        {
            let text = super::super::text::Text::new(0, "c", body);
            let problems = super::super::json::parse(&text, false).problems;
            let sources = of_json("c", body);
            let mut scrubbed = problems;
            scrub(&sources, &mut scrubbed);
            let shown = render(&sources, &scrubbed, Colour::Plain);
            assert!(!shown.contains("hunter2"), "{shown}");
        }
    }

    #[test]
    fn findings_are_sorted_counted_and_bounded() {
        let sources = of_json("c.json", BODY);
        let mut problems = vec![problem("\"password\"", "b"), problem("\"sniffng\"", "a")];
        problems.push(Problem { span: None, severity: Severity::Error, ..problem("1", "first") });
        sort(&mut problems);
        assert_eq!(problems.iter().map(|p| p.message.as_str()).collect::<Vec<_>>(), ["first", "a", "b"]);
        assert_eq!(Counts::of(&problems).summary(), "1 error, 2 warnings");
        let many = vec![problem("1", "x"); 5000];
        let text = render(&sources, &many, Colour::Plain);
        assert!(text.len() < 50_000 && text.contains("5000 warnings (the first 100 are shown)"));
    }

    #[test]
    fn what_a_file_holds_cannot_steer_the_terminal() {
        let sources = of_json("c\u{1b}[2J", BODY);
        assert!(!render(&sources, &[problem("1", "a\u{1b}[31m")], Colour::Plain).contains('\u{1b}'));
    }
}
