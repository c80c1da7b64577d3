//! The local control socket, and what is kept of balancers beyond the log.

use serde_json::{Value as Json, json};

use crate::record;
use crate::shape::{Defs, Dialect, Field, Node, Plain, Reader};

/// Where the control socket is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Socket {
    /// In the runtime folder of the user, under the number of the process.
    #[default]
    Auto,
    /// Nowhere: the engine takes no orders.
    Off,
    /// At this path.
    Path(String),
}

/// `"auto"`, `"off"` or a path.
impl Field for Socket {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        let text = String::read(cx, node)?;
        match text.as_str() {
            "" => cx.wrong_value(node, "a path, \"auto\" or \"off\""),
            "auto" => Some(Self::Auto),
            "off" => Some(Self::Off),
            _ => Some(Self::Path(text)),
        }
    }

    fn write(&self, _: Dialect) -> Plain {
        match self {
            Self::Auto => "auto".into(),
            Self::Off => "off".into(),
            Self::Path(path) => path.as_str().into(),
        }
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        json!({ "type": "string", "minLength": 1 })
    }
}

/// What a journal may take on disk where nothing is said, together with the file before it.
const JOURNAL_MAX_BYTES: u64 = 64 << 20;

record! {
    /// The local socket by which `etemenanki balancers`, `pin` and their relatives reach a running engine, and files that
    /// keep what is known of balancers. Not a section of Xray's, which passes over it.
    pub struct Control {
        /// Where the socket is, for this user and root alone: `auto` (`$XDG_RUNTIME_DIR/etemenanki/PID.sock`, else
        /// `/tmp/etemenanki-UID/PID.sock`), `off`, or a path.
        socket: Socket => "socket";
        /// File that keeps what is known of members over a restart; empty = none.
        state_file: String => "stateFile";
        /// File to which samples and decisions are written, one JSON object a line; empty = none.
        journal: String => "journal";
        /// What the journal and its one predecessor (`.1`) may take together, in bytes; 0 = no bound.
        journal_max_bytes: u64 = JOURNAL_MAX_BYTES => "journalMaxBytes";
    }
}
