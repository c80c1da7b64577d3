//! Reading a journal back.

use std::io::{self, BufRead};

use super::line::{Line, What};

/// What was read: a line, or why one is none.
#[derive(Debug, Clone, PartialEq)]
pub enum Read {
    /// A line.
    Line(Line),
    /// A line that cannot be read, counted from 1: torn by a crash, of a later version, or no journal at all.
    Bad {
        /// Which.
        number: usize,
        /// Why.
        why: String,
    },
}

/// Longest line that is read. Those of a keeper with a thousand members are the longest; what is longer is no journal.
const LONGEST: u64 = 4 << 20;

/// The lines of a journal, one after the other.
#[derive(Debug)]
pub struct Lines<R> {
    from: R,
    number: usize,
}

impl<R: BufRead> Lines<R> {
    /// Reads from here.
    pub fn new(from: R) -> Self {
        Self { from, number: 0 }
    }

    /// The next line, or nothing at the end.
    fn next_text(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut text = Vec::new();
        let read = io::Read::take(&mut self.from, LONGEST).read_until(b'\n', &mut text)?;
        self.number += 1;
        Ok((read > 0).then_some(text))
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = io::Result<Read>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let text = match self.next_text().transpose()? {
                Ok(text) => text,
                Err(error) => return Some(Err(error)),
            };
            if text.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            return Some(Ok(match serde_json::from_slice::<Line>(&text) {
                Ok(Line { what: What::Start { journal, .. }, .. }) if journal > Line::VERSION => {
                    let why = format!("version {journal} of the journal is not known here");
                    Read::Bad { number: self.number, why }
                }
                Ok(line) => Read::Line(line),
                Err(error) => Read::Bad { number: self.number, why: error.to_string() },
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Read> {
        Lines::new(text.as_bytes()).map(|read| read.unwrap_or_else(|error| panic!("{error}"))).collect()
    }

    #[test]
    fn a_torn_line_costs_itself_alone() {
        let lost = Line { t: 1, what: What::Lost { lines: 3 } };
        let text = format!("{}{{\"t\":2,\"line\":\"sa\n\n{}", lost.text(), lost.text());
        let found = read(&text);
        assert_eq!((&found[0], &found[2], found.len()), (&Read::Line(lost.clone()), &Read::Line(lost), 3));
        assert!(matches!(&found[1], Read::Bad { number: 2, .. }), "{found:?}");
    }

    #[test]
    fn what_is_no_journal_is_told_and_nothing_else() {
        assert!(matches!(&read("[log]\n")[..], [Read::Bad { number: 1, .. }]));
        assert!(read("").is_empty());
        let later = r#"{"t":1,"line":"start","journal":9,"engine":"x"}"#;
        assert!(matches!(&read(later)[..], [Read::Bad { why, .. }] if why.contains("version 9")));
    }

    #[test]
    fn more_keys_than_we_know_do_no_harm() {
        assert!(matches!(&read(r#"{"t":1,"line":"lost","lines":2,"more":true}"#)[..], [Read::Line(_)]));
    }
}
