//! The fields of one HTTP head, in order, spelled as they came.
//!
//! A list and not a map: heads are short, order and letter case survive the trip, and repeated fields stay apart.

/// Header fields in the order they came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, Vec<u8>)>);

impl Headers {
    /// Appends a field. Names and values must already be free of line ends; [`Headers::write`] drops any that are not.
    pub fn push(&mut self, name: impl Into<String>, value: impl Into<Vec<u8>>) {
        self.0.push((name.into(), value.into()));
    }

    /// Puts a field into the first place and removes others of that name.
    pub fn lead(&mut self, name: &str, value: impl Into<Vec<u8>>) {
        self.remove(name);
        self.0.insert(0, (name.to_owned(), value.into()));
    }

    /// Every value of a field, in order.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> + 'a {
        self.0.iter().filter(move |(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_slice())
    }

    /// The first value of a field.
    #[must_use]
    pub fn first(&self, name: &str) -> Option<&[u8]> {
        self.0.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_slice())
    }

    /// Whether a field is there.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.first(name).is_some()
    }

    /// Removes every field of that name.
    pub fn remove(&mut self, name: &str) {
        self.0.retain(|(key, _)| !key.eq_ignore_ascii_case(name));
    }

    /// The comma-separated items of all fields of that name, trimmed, without empty ones.
    pub fn items<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> + 'a {
        self.all(name).flat_map(|value| value.split(|&b| b == b',')).map(<[u8]>::trim_ascii).filter(|t| !t.is_empty())
    }

    /// Whether a comma-separated field holds a word, in any letter case.
    #[must_use]
    pub fn lists(&self, name: &str, word: &str) -> bool {
        self.items(name).any(|item| item.eq_ignore_ascii_case(word.as_bytes()))
    }

    /// Name and value of every field, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_slice()))
    }

    /// How many fields there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes the fields as lines, and the blank line behind them.
    pub fn write(&self, out: &mut Vec<u8>) {
        for (name, value) in &self.0 {
            // Only configured fields can hold a line end; one of them must not become two.
            if name.bytes().chain(value.iter().copied()).any(|b| matches!(b, b'\r' | b'\n' | 0)) {
                continue;
            }
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b": ");
            out.extend_from_slice(value);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"\r\n");
    }
}

impl<'a> FromIterator<(&'a str, &'a [u8])> for Headers {
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a [u8])>>(fields: I) -> Self {
        Self(fields.into_iter().map(|(name, value)| (name.to_owned(), value.to_vec())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_split_trimmed_and_compared_in_any_case() {
        let headers: Headers =
            [("Connection", &b"Keep-Alive, , upgrade"[..]), ("connection", b"X-One")].into_iter().collect();
        assert!(headers.lists("CONNECTION", "keep-alive") && headers.lists("connection", "x-one"));
        assert_eq!(headers.items("connection").count(), 3);
        assert!(!headers.lists("connection", "close"));
    }

    #[test]
    fn a_line_end_in_a_value_never_becomes_a_field() {
        let mut headers = Headers::default();
        headers.push("A", "1");
        headers.push("B", "2\r\nEvil: 3");
        let mut out = Vec::new();
        headers.write(&mut out);
        assert_eq!(out, b"A: 1\r\n\r\n");
    }
}
