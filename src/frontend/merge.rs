//! Several files of Xray's schema become one, by Xray's rules.
//!
//! A section of a later file replaces the earlier one whole; inbounds and outbounds are replaced by tag. Nothing is
//! merged deeper, so what looks like an addition can remove: each replacement is told. The old envelope (`inbound`,
//! `outboundDetour`, the root's `port`) is opened here too, because tags count across all of it.

use crate::shape::{Class, Entry, Kind, Node, Reader, Seg, Severity, Span, Value};

/// An inbound or outbound, and where it stands in its own file.
#[derive(Debug, Clone)]
pub struct Item {
    /// The steps to it.
    pub path: Vec<Seg>,
    /// It.
    pub node: Node,
}

/// The parts of one file, or of all of them together.
#[derive(Debug, Default)]
pub struct Envelope {
    /// Where the outermost object stands.
    pub span: Span,
    /// Every other section, and keys that nobody knows.
    pub sections: Vec<Entry>,
    /// Inbounds in the order in which they count.
    pub inbounds: Vec<Item>,
    /// Outbounds in the order in which they count; the first is the default.
    pub outbounds: Vec<Item>,
}

/// The sections of the root. Of other keys, which nobody reads, every file's stays, so that each is told.
const SECTIONS: &[&str] = &[
    "api",
    "browserForwarder",
    "burstObservatory",
    "control",
    "dns",
    "env",
    "fakeDns",
    "geodata",
    "log",
    "metrics",
    "multiObservatory",
    "observatory",
    "policy",
    "reload",
    "reverse",
    "routing",
    "services",
    "stats",
    "transport",
    "version",
];

/// The section that is merged key by key.
const MERGED: &str = "env";

/// Keys of one side of the envelope.
struct Side {
    one: &'static str,
    detour: &'static str,
    list: &'static str,
}

const INBOUNDS: Side = Side { one: "inbound", detour: "inboundDetour", list: "inbounds" };
const OUTBOUNDS: Side = Side { one: "outbound", detour: "outboundDetour", list: "outbounds" };

impl Envelope {
    /// Opens a file.
    pub fn open(cx: &mut Reader<'_>, root: Node) -> Self {
        let mut out = Self { span: root.span, ..Self::default() };
        let Value::Map(entries) = root.value else { return out };
        let mut port = None;
        let (mut inbounds, mut outbounds) = (vec![], vec![]);
        for entry in entries {
            match Slot::of(&entry.key) {
                Some(_) if entry.node.is_null() => {}
                Some(Slot::Port) => port = Some(entry),
                Some(Slot::Inbound) => inbounds.push(entry),
                Some(Slot::Outbound) => outbounds.push(entry),
                None if entry.node.is_null() && !entry.key.starts_with(['_', '$']) => {}
                None => out.sections.push(entry),
            }
        }
        // The old keys come first, whatever the order of the text: `outbound` is the default outbound.
        out.inbounds = gather(cx, inbounds, &INBOUNDS);
        out.outbounds = gather(cx, outbounds, &OUTBOUNDS);
        if let Some(port) = port {
            out.give_port(cx, port);
        }
        out
    }

    /// The root's `port` belongs to the first inbound that was written, if it has none.
    fn give_port(&mut self, cx: &mut Reader<'_>, port: Entry) {
        cx.key(&port.key.clone(), |cx| match self.inbounds.first_mut().map(|item| &mut item.node.value) {
            Some(Value::Map(entries)) if !entries.iter().any(|e| e.key.eq_ignore_ascii_case("port")) => {
                let message = "`port` at the root is an old spelling: it is the first inbound's port";
                cx.report(Severity::Warning, Kind::Legacy, port.key_span, message);
                cx.mark(port.node.span, Class::Rewritten, "port of the first inbound");
                entries.push(port);
            }
            _ => {
                let message = "`port` at the root has no effect: there is no inbound without a port of its own";
                cx.report(Severity::Warning, Kind::Ignored, port.key_span, message);
                cx.mark(port.node.span, Class::Dropped, "no inbound without a port");
            }
        });
    }

    /// Puts a later file over this one. `names` are the files', by the numbers in spans.
    pub fn put(&mut self, cx: &mut Reader<'_>, later: Self, names: &[String]) {
        let file = |span: Span| file(names, span);
        let tail = file(later.span).to_lowercase().contains("tail");
        for section in later.sections {
            self.put_section(cx, section, names);
        }
        for item in later.inbounds {
            match self.inbounds.iter_mut().find(|old| tag(&old.node) == tag(&item.node)) {
                Some(old) => {
                    told(cx, "inbound", old, &item, names);
                    *old = item;
                }
                None => self.inbounds.push(item),
            }
        }
        let mut front = vec![];
        for item in later.outbounds {
            match self.outbounds.iter_mut().find(|old| tag(&old.node) == tag(&item.node)) {
                Some(old) => {
                    told(cx, "outbound", old, &item, names);
                    *old = item;
                }
                None if tail => self.outbounds.push(item),
                None => front.push(item),
            }
        }
        if let (Some(first), Some(old)) = (front.first(), self.outbounds.first()) {
            let message = format!(
                "outbounds of {} stand before those of {}: {} is the default outbound now",
                file(first.node.span),
                file(old.node.span),
                name(&first.node)
            );
            at(cx, first, |cx| {
                cx.report(Severity::Note, Kind::Conflict, first.node.span, message);
            });
        }
        self.outbounds.splice(0..0, front);
    }

    fn put_section(&mut self, cx: &mut Reader<'_>, section: Entry, names: &[String]) {
        let known = SECTIONS.iter().any(|name| name.eq_ignore_ascii_case(&section.key));
        let old = self.sections.iter_mut().find(|old| old.key.eq_ignore_ascii_case(&section.key)).filter(|_| known);
        let Some(old) = old else {
            self.sections.push(section);
            return;
        };
        if section.key.eq_ignore_ascii_case(MERGED)
            && let (Value::Map(into), Value::Map(_)) = (&mut old.node.value, &section.node.value)
        {
            let Value::Map(from) = section.node.value else { return };
            into.retain(|e| !from.iter().any(|new| new.key == e.key));
            into.extend(from);
            return;
        }
        let message = format!(
            "`{}` of {} replaces the whole section of {}",
            section.key,
            file(names, section.key_span),
            file(names, old.key_span)
        );
        cx.key(&section.key, |cx| {
            cx.report(Severity::Note, Kind::Conflict, section.key_span, message);
            cx.mark(old.node.span, Class::Dropped, format!("replaced by {}", file(names, section.key_span)));
        });
        *old = section;
    }
}

/// What a key of the root is to the envelope.
enum Slot {
    Inbound,
    Outbound,
    Port,
}

impl Slot {
    fn of(key: &str) -> Option<Self> {
        let is = |side: &Side| [side.one, side.detour, side.list].iter().any(|name| name.eq_ignore_ascii_case(key));
        if is(&INBOUNDS) {
            Some(Self::Inbound)
        } else if is(&OUTBOUNDS) {
            Some(Self::Outbound)
        } else {
            key.eq_ignore_ascii_case("port").then_some(Self::Port)
        }
    }
}

/// The items of one side: the single one, the detours, the list.
fn gather(cx: &mut Reader<'_>, mut entries: Vec<Entry>, side: &Side) -> Vec<Item> {
    let order = [side.one, side.detour, side.list];
    entries.sort_by_key(|e| order.iter().position(|name| name.eq_ignore_ascii_case(&e.key)));
    let mut items = vec![];
    for entry in entries {
        let single = entry.key.eq_ignore_ascii_case(side.one);
        let key = Seg::Key(entry.key.clone());
        cx.within(key.clone(), |cx| {
            if !entry.key.eq_ignore_ascii_case(side.list) {
                let message = format!("`{}` is an old spelling: read as part of `{}`", entry.key, side.list);
                cx.report(Severity::Warning, Kind::Legacy, entry.key_span, message);
            }
            match entry.node.value {
                Value::List(list) if !single => {
                    let some = list.into_iter().enumerate().filter(|(_, node)| !node.is_null());
                    items.extend(some.map(|(n, node)| Item { path: vec![key.clone(), Seg::Index(n)], node }));
                }
                Value::Map(_) if single => items.push(Item { path: vec![key], node: entry.node }),
                _ => not_a_list(cx, &entry.node, single),
            }
        });
    }
    items
}

fn not_a_list(cx: &mut Reader<'_>, node: &Node, single: bool) {
    cx.wrong_type::<()>(node, if single { "an object" } else { "an array" });
    if node.map().is_some()
        && let Some(problem) = cx.problems.last_mut()
    {
        problem.help = Some("put it in square brackets: [ { … } ]".into());
    }
}

/// Runs `f` at the place of an item.
pub fn at<T>(cx: &mut Reader<'_>, item: &Item, f: impl FnOnce(&mut Reader<'_>) -> T) -> T {
    at_path(cx, &item.path, f)
}

fn at_path<T>(cx: &mut Reader<'_>, path: &[Seg], f: impl FnOnce(&mut Reader<'_>) -> T) -> T {
    match path.split_first() {
        Some((first, rest)) => cx.within(first.clone(), |cx| at_path(cx, rest, f)),
        None => f(cx),
    }
}

fn file(names: &[String], span: Span) -> &str {
    names.get(usize::from(span.file)).map_or("", String::as_str)
}

fn tag(node: &Node) -> &str {
    let entries = node.map().unwrap_or_default();
    entries.iter().rev().find(|e| e.key.eq_ignore_ascii_case("tag")).and_then(|e| e.node.text()).unwrap_or_default()
}

fn name(node: &Node) -> String {
    match tag(node) {
        "" => "one without tag".into(),
        tag => format!("`{tag}`"),
    }
}

fn told(cx: &mut Reader<'_>, what: &str, old: &Item, new: &Item, names: &[String]) {
    let (a, b) = (file(names, new.node.span), file(names, old.node.span));
    let message = match tag(&new.node) {
        "" => format!("the {what} without tag of {a} replaces the one of {b}"),
        tag => format!("{what} `{tag}` of {a} replaces the one of {b}"),
    };
    at(cx, new, |cx| {
        cx.report(Severity::Note, Kind::Conflict, new.node.span, message);
    });
    at(cx, old, |cx| cx.mark(old.node.span, Class::Dropped, format!("replaced by {a}")));
}

#[cfg(test)]
mod tests;
