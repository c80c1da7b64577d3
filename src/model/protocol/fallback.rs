//! Where VLESS and Trojan send those who do not speak the protocol.

use serde_json::{Value as Json, json};

use crate::addr::{Host, Target};
use crate::shape::{Defs, Dialect, Field, Key, Kind, Node, Plain, Reader, Table, Value};

/// A place on this or another machine: `80`, `"80"`, `"host:80"`, `"/run/x.sock"`, `"@x"`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DestText(pub String);

/// What a [`DestText`] means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dest {
    /// A TCP service.
    Tcp(Target),
    /// A Unix socket; `@` begins an abstract one, `@@` a padded one.
    Unix(String),
    /// An answer of our own: `serve-ws-none`.
    Serve(String),
}

impl DestText {
    /// What it means, if it means something.
    #[must_use]
    pub fn parse(&self) -> Option<Dest> {
        let text = self.0.as_str();
        if let Ok(port) = text.parse() {
            return Some(Dest::Tcp(Target::new(Host::loose("localhost").ok()?, port)));
        }
        if text.starts_with('/') || text.starts_with('@') {
            return Some(Dest::Unix(text.to_owned()));
        }
        if text == "serve-ws-none" {
            return Some(Dest::Serve(text.to_owned()));
        }
        let (host, port) = text.rsplit_once(':')?;
        // Go dials this machine where no host stands before the port.
        let host = if host.is_empty() { "localhost" } else { host };
        Some(Dest::Tcp(Target::new(Host::loose(host).ok()?, port.parse().ok()?)))
    }
}

impl Field for DestText {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        match &node.value {
            Value::Int(n) => match u16::try_from(*n) {
                Ok(n) => Some(Self(n.to_string())),
                Err(_) => cx.wrong_value(node, "a port"),
            },
            Value::Text(text) => Some(Self(text.clone())),
            _ => cx.wrong_type(node, "a port, \"host:port\" or a path"),
        }
    }

    fn write(&self, _: Dialect) -> Plain {
        self.0.parse::<u16>().map_or_else(|_| Plain::Text(self.0.clone()), |port| Plain::Int(port.into()))
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        json!({ "type": ["integer", "string"] })
    }
}

crate::record! {
    /// Where somebody goes who does not speak the protocol.
    pub struct Fallback {
        /// Server name to match, a part of it; empty matches any.
        name: String => "name";
        /// Negotiated ALPN to match; empty matches any.
        alpn: String => "alpn";
        /// Path of the first HTTP/1 request to match; empty matches any.
        path: String => "path";
        /// Where they go: a port, `host:port`, a path or `@name`.
        dest: DestText => "dest", required;
        /// Kind of the place; found from `dest` unless given.
        r#type: String => "type";
        /// Version of the PROXY header to send: 0 for none, 1 or 2.
        xver: u64 => "xver";
    }
    hook Fallback::settle;
}

impl Fallback {
    /// Where they go; the kind counts where one is given.
    #[must_use]
    pub fn place(&self) -> Option<Dest> {
        match self.r#type.as_str() {
            "" => self.dest.parse(),
            "unix" => Some(Dest::Unix(self.dest.0.clone())),
            "tcp" | "tcp4" | "tcp6" => self.dest.parse().filter(|dest| matches!(dest, Dest::Tcp(_))),
            other => Some(Dest::Serve(other.to_owned())),
        }
    }

    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        let node = table.node();
        if !self.path.is_empty() && !self.path.starts_with('/') {
            cx.error(node, Kind::Value, "\"path\" must be empty or start with \"/\"");
        }
        let given = table.has(cx.dialect, Key { toml: "dest", json: &["dest"] });
        if given && self.r#type.is_empty() && self.dest.parse().is_none() {
            cx.error(node, Kind::Value, "please fill in a valid value for every \"dest\"");
        }
        if self.xver > 2 {
            cx.error(node, Kind::Value, "invalid PROXY protocol version, \"xver\" only accepts 0, 1, 2");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_one_of_this_machine() {
        let of = |dest: &str| DestText(dest.into()).parse();
        assert_eq!(of(":8080"), of("8080"));
        assert!(of("8080").is_some() && of(":").is_none() && of("70000").is_none());
    }
}
