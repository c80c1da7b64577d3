//! What is logged, and where to.

use serde_json::{Value as Json, json};

use crate::shape::{Defs, Dialect, Field, Kind, Node, Plain, Reader};
use crate::{record, words};

words! {
    /// How much is logged.
    pub enum Level(fold) {
        /// What an operator did, and state changes.
        Info = "info";
        /// Everything.
        Debug = "debug";
        /// Recovered trouble.
        Warning = "warning";
        /// Trouble that needs a human.
        Error = "error";
        /// Nothing, the access log included.
        None = "none";
    }
}

/// Where lines go.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Sink {
    /// Nowhere.
    #[default]
    Off,
    /// Standard output.
    Stdout,
    /// Appended to a file, made with mode 0600.
    File(String),
}

/// TOML: `"off"`, `"stdout"` or a path. (JSON: absent or `""` is standard output, `"none"` is off.)
impl Field for Sink {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        let text = String::read(cx, node)?;
        Some(match (cx.dialect, text.as_str()) {
            (Dialect::Json, "") | (Dialect::Toml, "stdout") => Self::Stdout,
            (Dialect::Json, "none") | (Dialect::Toml, "off") => Self::Off,
            _ => {
                let off = if cx.json() { "none" } else { "off" };
                if ["none", "off"].iter().any(|word| text.eq_ignore_ascii_case(word)) {
                    let what = format!("`{text}` is the name of a file here; `{off}` writes nothing");
                    cx.warn(node, Kind::Value, what);
                }
                Self::File(text)
            }
        })
    }

    fn write(&self, dialect: Dialect) -> Plain {
        match (dialect, self) {
            (Dialect::Json, Self::Off) => "none".into(),
            (Dialect::Json, Self::Stdout) => "".into(),
            (Dialect::Toml, Self::Off) => "off".into(),
            (Dialect::Toml, Self::Stdout) => "stdout".into(),
            (_, Self::File(path)) => path.as_str().into(),
        }
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        json!({ "type": "string" })
    }
}

record! {
    /// Logs. A JSON file without this section logs at `warning` and has no access log; with it, `access` is standard
    /// output unless it says otherwise.
    pub struct Log {
        /// How much is logged.
        level: Level => "loglevel";
        /// Where general lines go.
        error: Sink = Sink::Stdout => "error";
        /// Where one line a flow goes.
        access: Sink => "access";
        /// Whether DNS queries are put into the access log.
        dns_log: bool => "dnsLog";
        /// How client addresses are shortened: `quarter`, `half`, `full`, or `/16+/32`.
        mask_address: String => "maskAddress";
    }
}
