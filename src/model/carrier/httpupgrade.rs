//! HTTPUpgrade: a WebSocket handshake, and no frames after it.

use std::collections::BTreeMap;

use crate::shape::{Class, Kind, Node, Reader, Severity, Table};

crate::record! {
    /// A WebSocket handshake, and plain bytes after it.
    pub struct HttpUpgrade {
        /// Path of the request. JSON may end it in `?ed=N`, which becomes `max_early_data`.
        path: String = "/".into() => "path";
        /// Host of the request; empty takes the server name, else the address.
        host: String => "host";
        /// More headers of the request.
        headers: BTreeMap<String, String> => "headers";
        /// Connections begin with a PROXY header.
        accept_proxy_protocol: bool => "acceptProxyProtocol";
        /// Whether bytes are sent before the answer came; 0 is off.
        max_early_data: u32 => "maxEarlyData";
    }
    hook HttpUpgrade::settle;
}

impl HttpUpgrade {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        host_header(cx, table.node(), &mut self.headers, &mut self.host);
        if cx.json()
            && let Some(ed) = early_data(cx, table.node(), &mut self.path)
        {
            self.max_early_data = ed;
        }
        rooted(&mut self.path);
    }
}

/// Moves a Host header, in any letter case, to its own key.
pub(super) fn host_header(cx: &mut Reader<'_>, node: &Node, headers: &mut BTreeMap<String, String>, host: &mut String) {
    let keys: Vec<String> = headers.keys().filter(|k| k.eq_ignore_ascii_case("host")).cloned().collect();
    for key in keys {
        let Some(value) = headers.remove(&key) else { continue };
        cx.report(Severity::Note, Kind::Legacy, node.span, format!("the header `{key}` is now the key `host`"));
        if host.is_empty() {
            *host = value;
        }
        cx.mark(node.span, Class::Rewritten, "host");
    }
}

/// Cuts `ed=N` out of a path's query; the rest of the query stays as it is.
pub(super) fn early_data(cx: &mut Reader<'_>, node: &Node, path: &mut String) -> Option<u32> {
    let (bare, query) = path.split_once('?')?;
    let (ours, rest): (Vec<&str>, Vec<&str>) = query.split('&').partition(|part| part.starts_with("ed="));
    let text = ours.first()?.strip_prefix("ed=")?;
    let ed = text.parse();
    if ed.is_err() {
        cx.warn(node, Kind::Value, format!("`ed={text}` in the path is no number of bytes; no early data is sent"));
    }
    *path = if rest.is_empty() { bare.to_owned() } else { format!("{bare}?{}", rest.join("&")) };
    Some(ed.unwrap_or(0))
}

/// A path begins with a slash.
pub(super) fn rooted(path: &mut String) {
    if !path.starts_with('/') {
        path.insert(0, '/');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::{Dialect, Value};

    #[test]
    fn early_data_is_cut_out_of_the_query() {
        let env = |_: &str| None;
        let mut cx = Reader::new(Dialect::Json, &env);
        for (text, path, ed) in [
            ("/up?ed=2048", "/up", Some(2048)),
            ("/up?key=1&ed=2048", "/up?key=1", Some(2048)),
            ("/%3Fed%3D2048", "/%3Fed%3D2048", None),
            ("/a b", "/a b", None),
            ("/x?ed=no", "/x", Some(0)),
        ] {
            let mut out = text.to_owned();
            assert_eq!(early_data(&mut cx, &Node::bare(Value::Null), &mut out), ed, "{text}");
            assert_eq!(out, path);
        }
    }
}
