//! Which format a file is in: by what the user says, by its name, else by its first characters.

/// A format that a configuration can be in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON with comments, Xray's schema.
    Json,
    /// YAML, Xray's schema.
    Yaml,
    /// TOML: our schema, or Xray's if the roots are Xray's.
    Toml,
    /// Xray's serialized form, which is refused by name.
    Protobuf,
}

impl Format {
    /// A word of `-format`, or what follows the last point of a name. `auto`, and what is unknown, is nothing.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        match word.to_ascii_lowercase().as_str() {
            "json" | "jsonc" => Some(Self::Json),
            "yaml" | "yml" => Some(Self::Yaml),
            "toml" => Some(Self::Toml),
            "pb" | "protobuf" => Some(Self::Protobuf),
            _ => None,
        }
    }

    /// By the name of a file.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        name.rsplit_once('.').and_then(|(_, extension)| Self::of_word(extension))
    }

    /// By the first line that says something.
    #[must_use]
    pub fn of_text(body: &str) -> Self {
        for line in body.lines().map(str::trim_start) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            return if line.starts_with(['{', '/']) || line.starts_with("[{") {
                Self::Json
            } else if line.starts_with('[') || is_assignment(line) {
                Self::Toml
            } else if line.starts_with("---") || line.starts_with('%') || is_mapping(line) {
                Self::Yaml
            } else {
                Self::Json
            };
        }
        Self::Json
    }
}

/// `key = …`, with the key bare, dotted or quoted.
fn is_assignment(line: &str) -> bool {
    let key = line.split('=').next().unwrap_or_default();
    key.len() < line.len() && !key.is_empty() && !key.contains([':', '{'])
}

/// `key:` or `key: …`.
fn is_mapping(line: &str) -> bool {
    let (key, rest) = line.split_once(':').unwrap_or_default();
    !key.is_empty() && !key.contains(['{', '"', '\'']) && (rest.is_empty() || rest.starts_with(char::is_whitespace))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_format_in_any_case() {
        assert_eq!(Format::of_name("a.b/C.JSONC"), Some(Format::Json));
        assert_eq!(Format::of_name("x.yml"), Some(Format::Yaml));
        assert_eq!(Format::of_name("x.toml"), Some(Format::Toml));
        assert_eq!(Format::of_name("x.pb"), Some(Format::Protobuf));
        assert_eq!((Format::of_name("stdin:"), Format::of_name("config")), (None, None));
        assert_eq!(Format::of_word("auto"), None);
    }

    #[test]
    fn texts_tell_the_format() {
        for (body, format) in [
            ("// x\n{", Format::Json),
            ("# x\n\n{\"a\": 1}", Format::Json),
            ("# x\n[[inbound]]", Format::Toml),
            ("[log]", Format::Toml),
            ("a.b = 1", Format::Toml),
            ("inbounds:\n- x", Format::Yaml),
            ("---\na: 1", Format::Yaml),
            ("", Format::Json),
            ("\"a\": 1", Format::Json),
        ] {
            assert_eq!(Format::of_text(body), format, "{body:?}");
        }
    }
}
