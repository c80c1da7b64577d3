//! The piece of a file that a message shows.

use std::ops::Range;

use super::sources::Sources;
use crate::shape::Span;

/// How many characters of a long line are shown on either side of the place.
const AROUND: usize = 50;

/// One line of a file, made fit to be shown.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Excerpt {
    /// The line, secrets and control characters replaced, cut where it is long.
    pub(super) line: String,
    /// Its number, from 1.
    pub(super) number: usize,
    /// The bytes to point at.
    pub(super) mark: Range<usize>,
}

/// Cuts out the line where a span begins.
pub(super) fn cut(sources: &Sources, span: Span) -> Option<Excerpt> {
    let text = &sources.file(span).filter(|file| !file.text.body.is_empty())?.text;
    let number = text.place(span.start).line;
    let line = text.line(number);
    let line_start = text.line_start(number) as usize;
    let start = (span.start as usize).saturating_sub(line_start).min(line.len());
    let end = (span.end as usize).saturating_sub(line_start).clamp(start, line.len());
    let window = window(line, start, end);
    let whole = text.span(line_start + window.start, line_start + window.end);
    let hidden: Vec<Range<usize>> = sources
        .hidden(whole)
        .iter()
        .map(|s| (s.start as usize).saturating_sub(line_start)..(s.end as usize).saturating_sub(line_start))
        .collect();

    let mut out = String::new();
    if window.start > 0 {
        out.push('…');
    }
    let (mut from, mut to) = (None, None);
    let mut covers = hidden.iter().peekable();
    for (at, c) in line[window.clone()].char_indices().map(|(at, c)| (window.start + at, c)) {
        while covers.peek().is_some_and(|cover| cover.end <= at) {
            covers.next();
        }
        let cover = covers.peek().filter(|cover| cover.contains(&at));
        let first = cover.is_some_and(|cover| cover.start.max(window.start) == at);
        if at == start || (at > start && from.is_none()) {
            from = Some(if cover.is_some() && !first { out.len() - STARS.len() } else { out.len() });
        }
        if at >= end && to.is_none() {
            to = Some(out.len());
        }
        match cover {
            Some(_) if first => out.push_str(STARS),
            Some(_) => {}
            None if c == '\t' => out.push(' '),
            None if c.is_control() => out.push('\u{fffd}'),
            None => out.push(c),
        }
    }
    let from = from.unwrap_or(out.len());
    let to = to.unwrap_or(out.len()).max(from);
    if window.end < line.len() {
        out.push('…');
    }
    Some(Excerpt { line: out, number, mark: from..to })
}

/// What stands for a secret, however long it is.
const STARS: &str = "***";

/// The part of a line that is shown: all of it, or what is around the place.
fn window(line: &str, start: usize, end: usize) -> Range<usize> {
    let long = line.chars().nth(4 * AROUND).is_some();
    if !long {
        return 0..line.len();
    }
    let before = line[..start].char_indices().rev().nth(AROUND - 1).map_or(0, |(at, _)| at);
    let end = line[..end].char_indices().map(|(at, _)| at).filter(|at| *at >= start).nth(2 * AROUND).unwrap_or(end);
    let after = line[end..].char_indices().nth(AROUND).map_or(line.len(), |(at, _)| end + at);
    before..after
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::sources::of_json;
    use super::*;

    fn show(body: &str, marked: &str) -> (String, String) {
        let start = u32::try_from(body.find(marked).unwrap()).unwrap();
        let span = Span { file: 0, start, end: start + u32::try_from(marked.len()).unwrap() };
        let excerpt = cut(&of_json("c", body), span).unwrap();
        let marked = excerpt.line[excerpt.mark.clone()].to_owned();
        (excerpt.line, marked)
    }

    #[test]
    fn secrets_are_blanked_and_the_mark_follows() {
        let body = "{\"password\": \"hunter2\", \"prot\": 1}";
        assert_eq!(show(body, "\"prot\""), ("{\"password\": \"***\", \"prot\": 1}".into(), "\"prot\"".into()));
        assert_eq!(show(body, "\"hunter2\"").1, "\"***\"");
        assert_eq!(show(body, "unter").1, "***");
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let body = format!("{{\"a\": \"{}\", \"日本\": 1, \"b\": \"{}\"}}", "x".repeat(500), "é".repeat(500));
        let (line, marked) = show(&body, "\"日本\"");
        assert_eq!(marked, "\"日本\"");
        assert!(line.chars().count() < 120 && line.starts_with('…') && line.ends_with('…'), "{line}");
        let (line, _) = show(&body, &format!("\"{}\"", "x".repeat(500)));
        assert!(line.chars().count() < 400);
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(show("{\"a\": \"\u{1b}[31m\tx\"}", "x").0, "{\"a\": \"\u{fffd}[31m x\"}");
    }

    #[test]
    fn a_place_of_several_lines_shows_the_first_and_the_end_of_a_file_shows_something() {
        assert_eq!(show("{\"a\": {\n}}", "{\n}").1, "{");
        let sources = of_json("c", "{");
        assert!(cut(&sources, Span { file: 0, start: 1, end: 1 }).is_some());
        assert!(cut(&sources, Span { file: 0, start: 9, end: 9 }).is_some());
        assert!(cut(&sources, Span { file: 7, start: 0, end: 0 }).is_none());
    }
}
