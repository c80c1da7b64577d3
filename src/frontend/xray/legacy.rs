//! Old forms that spread over several sections.

use crate::frontend::merge::Item;
use crate::shape::{Class, Entry, Kind, Node, Reader, Severity, Span, Value};

/// Which block of the root's `transport` a transport reads, by the words of `network`.
const BLOCKS: &[(&[&str], &[&str])] = &[
    (&["tcp", "raw"], &["tcpSettings", "rawSettings"]),
    (&["kcp", "mkcp"], &["kcpSettings"]),
    (&["ws", "websocket"], &["wsSettings"]),
    (&["http", "h2", "h3"], &["httpSettings"]),
    (&["ds", "domainsocket"], &["dsSettings"]),
    (&["quic"], &["quicSettings"]),
    (&["grpc", "gun"], &["grpcSettings", "gunSettings"]),
    (&["httpupgrade"], &["httpupgradeSettings"]),
    (&["xhttp", "splithttp"], &["xhttpSettings", "splithttpSettings"]),
];

/// V2Ray's `transport` at the root: settings for every inbound and outbound whose own `streamSettings` lack them. Only
/// the block that a transport uses is given to it.
pub fn spread_transport<'i>(cx: &mut Reader<'_>, defaults: &Entry, items: impl Iterator<Item = &'i mut Item>) {
    let Some(blocks) = defaults.node.map() else {
        cx.wrong_type::<()>(&defaults.node, "an object");
        return;
    };
    if blocks.is_empty() {
        return;
    }
    let message =
        "`transport` at the root is V2Ray's form (newer Xray refuses it): it is put into each `streamSettings`";
    cx.report(Severity::Warning, Kind::Legacy, defaults.key_span, message);
    let mut used = vec![false; blocks.len()];
    for item in items {
        give(&mut item.node, blocks, &mut used);
    }
    for (block, used) in blocks.iter().zip(used) {
        let known = BLOCKS.iter().any(|(_, names)| names.iter().any(|name| block.key.eq_ignore_ascii_case(name)));
        cx.key(&block.key, |cx| match (known, used) {
            (true, true) => cx.mark(block.node.span, Class::Rewritten, "put into streamSettings"),
            (true, false) => cx.mark(block.node.span, Class::Dropped, "nothing uses this transport"),
            (false, _) => {
                cx.report(Severity::Warning, Kind::Unknown, block.key_span, format!("unknown field `{}`", block.key));
                cx.mark(block.node.span, Class::Unknown, "");
            }
        });
    }
}

/// Gives one inbound or outbound the block of its transport.
fn give(item: &mut Node, blocks: &[Entry], used: &mut [bool]) {
    let span = item.span;
    let Value::Map(entries) = &mut item.value else { return };
    let at = match entries.iter().position(|e| is(e, "streamSettings") && !e.node.is_null()) {
        Some(at) => at,
        None => {
            let node = Node { value: Value::Map(vec![]), span };
            entries.push(Entry { key: "streamSettings".into(), key_span: span, node });
            entries.len() - 1
        }
    };
    let Value::Map(stream) = &mut entries[at].node.value else { return };
    let network = stream.iter().rev().find(|e| is(e, "network") || is(e, "method")).and_then(|e| e.node.text());
    let network = network.unwrap_or("tcp").to_lowercase();
    if let Some((_, names)) = BLOCKS.iter().find(|(words, _)| words.contains(&network.as_str())) {
        let named = |e: &Entry| names.iter().any(|name| is(e, name)) && !e.node.is_null();
        if !stream.iter().any(named)
            && let Some(n) = blocks.iter().position(named)
        {
            used[n] = true;
            stream.push(blocks[n].clone());
        }
    }
    if stream.is_empty() {
        entries.remove(at);
    }
}

fn is(entry: &Entry, name: &str) -> bool {
    entry.key.eq_ignore_ascii_case(name)
}

/// `domainStrategy` beside an outbound's `settings`: V2Ray 5 has it there, Xray reads it inside the settings of freedom
/// only, and whoever wrote it for Xray looks for the reason for hours.
pub fn domain_strategy(cx: &mut Reader<'_>, node: &Node) {
    for entry in node.map().unwrap_or_default().iter().filter(|e| is(e, "domainStrategy") && !e.node.is_null()) {
        cx.key(&entry.key, |cx| {
            let message =
                "`domainStrategy` beside `settings` is V2Ray's key and read as `targetStrategy`; Xray ignores it";
            cx.report(Severity::Warning, Kind::Legacy, entry.key_span, message).help =
                Some("write `targetStrategy` here, or for freedom `domainStrategy` inside `settings`".into());
        });
    }
}

/// V2Ray's `cacheStrategy` and `fallbackStrategy` as the switches they are here, in the section and in each server; with
/// the places of what was rewritten, and into what.
#[must_use]
pub fn dns_strategies(cx: &mut Reader<'_>, node: &Node) -> (Node, Vec<(Span, &'static str)>) {
    let mut node = node.clone();
    let mut done = vec![];
    if let Value::Map(entries) = &mut node.value {
        switches(cx, entries, ("disableFallback", "disableFallbackIfMatch"), &mut done);
        for entry in entries.iter_mut().filter(|e| is(e, "servers")) {
            let Value::List(servers) = &mut entry.node.value else { continue };
            cx.key("servers", |cx| {
                for (n, server) in servers.iter_mut().enumerate() {
                    let Value::Map(entries) = &mut server.value else { continue };
                    cx.within(crate::shape::Seg::Index(n), |cx| switches(cx, entries, ("skipFallback", ""), &mut done));
                }
            });
        }
    }
    (node, done)
}

/// Rewrites both keys of one object. `fallback` are the switches for `disabled` and for `disabledIfAnyMatch`.
fn switches(
    cx: &mut Reader<'_>,
    entries: &mut [Entry],
    fallback: (&'static str, &'static str),
    done: &mut Vec<(Span, &'static str)>,
) {
    for entry in entries.iter_mut() {
        let (disabled, if_match) = if is(entry, "cacheStrategy") {
            ("disableCache", "")
        } else if is(entry, "fallbackStrategy") {
            fallback
        } else {
            continue;
        };
        let word = entry.node.text().unwrap_or_default().to_lowercase().replace(['_', '-'], "");
        let (key, value) = match word.as_str() {
            "" | "enabled" => (disabled, false),
            "disabled" => (disabled, true),
            "disabledifanymatch" if !if_match.is_empty() => (if_match, true),
            _ => {
                cx.key(&entry.key.clone(), |cx| {
                    cx.wrong_value::<()>(&entry.node, "`enabled`, `disabled` or `disabledIfAnyMatch`");
                });
                continue;
            }
        };
        cx.key(&entry.key.clone(), |cx| {
            let message = format!("`{}` is V2Ray's spelling of `{key}`", entry.key);
            cx.report(Severity::Note, Kind::Legacy, entry.key_span, message);
        });
        done.push((entry.node.span, key));
        entry.key = key.to_owned();
        entry.node.value = Value::Bool(value);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::frontend::json;
    use crate::frontend::text::Text;
    use crate::shape::Dialect;

    #[test]
    fn defaults_of_transports_go_where_that_transport_is_used_and_nothing_of_it_is_said() {
        let body = r#"{"transport": {"wsSettings": {"path": "/x"}, "kcpSettings": {}, "tcpSettings": {"a": 1}, "odd": 1},
            "items": [{"streamSettings": {"network": "WS"}}, {"streamSettings": {"network": "ws", "wsSettings": {}}},
                      {}, {"streamSettings": {"network": "grpc"}}]}"#;
        let root = json::parse(&Text::new(0, "c", body), false).root.unwrap();
        let entries = root.map().unwrap();
        let mut items: Vec<Item> =
            entries[1].node.list().unwrap().iter().map(|node| Item { path: vec![], node: node.clone() }).collect();
        let env = |_: &str| None;
        let mut cx = Reader::new(Dialect::Json, &env);
        spread_transport(&mut cx, &entries[0], items.iter_mut());
        let stream = |n: usize| {
            let stream = items[n].node.map().unwrap().iter().find(|e| e.key == "streamSettings")?;
            let keys = stream.node.map().unwrap().iter();
            Some(keys.map(|e| format!("{}={}", e.key, e.node.map().map_or(0, <[Entry]>::len))).collect::<Vec<_>>())
        };
        assert_eq!(stream(0).unwrap(), ["network=0", "wsSettings=1"]);
        assert_eq!(stream(1).unwrap(), ["network=0", "wsSettings=0"]);
        assert_eq!(stream(2).unwrap(), ["tcpSettings=1"]);
        assert_eq!(stream(3).unwrap(), ["network=0"]);
        assert_eq!(cx.problems.iter().filter(|p| p.kind == Kind::Unknown).count(), 1);
        let class = |key: &str| cx.marks.iter().find(|m| m.path == key).map(|m| m.class);
        assert_eq!((class("wsSettings"), class("kcpSettings")), (Some(Class::Rewritten), Some(Class::Dropped)));
    }
}
