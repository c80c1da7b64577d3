//! One inbound.

use serde_json::Value as Json;

use super::schema::by_protocol;
use super::written::{self, named};
use crate::addr::{PortSet, Tag};
use crate::model::fields::ListOf;
use crate::model::fit;
use crate::model::inbound::{Inbound, InboundKind, Listen};
use crate::model::kinds::{Ends, find_word, or_empty};
use crate::model::sniffing::{Sniffer, Sniffing};
use crate::model::stream::Stream;
use crate::shape::{Class, Defs, Dialect, Key, Kind, Node, PlainMap, Raw, Reader, Record, Severity, Table};

crate::record! {
    /// A door by which flows come in.
    struct InboundKeys {
        /// Its name.
        tag: Tag => "tag";
        /// What it speaks.
        protocol: Raw => "protocol", required;
        /// Where it listens: an address, a path, or `@name`; none means every address.
        listen: Listen => "listen";
        /// Ports, each a listener of its own: a number, or a text such as `"1080,2000-2010"`.
        port: Option<PortSet> => "port";
        /// Settings of the protocol.
        settings: Raw => "settings";
        /// How its bytes travel.
        stream: Stream => "streamSettings";
        /// What is read from first bytes.
        sniffing: Sniffing => "sniffing";
    }
    ignored { "allocate" => "every port of the range is listened on" }
    taken { "domainOverride" => "V2Ray's older spelling of sniffing.destOverride, which turned sniffing on." }
}

/// Reads an item of `inbounds`, or a `[[inbound]]`.
pub fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Inbound> {
    let mut table = Table::open(cx, node)?;
    let before = cx.problems.len();
    let keys = InboundKeys::read_from(cx, &mut table);
    let sniffing = sniffing(cx, &mut table, keys.sniffing);
    let settings = or_empty(&keys.settings, node);
    let kind = cx
        .key("protocol", |cx| {
            if keys.protocol.0.is_null() { None } else { find_word(cx, &keys.protocol.0, InboundKind::WORDS) }
        })
        .and_then(|at| cx.key("settings", |cx| InboundKind::read_nth(cx, at, &settings, &mut Ends::default())));
    misplaced(cx, &mut table, kind.as_ref());
    let failed = cx.problems[before..].iter().any(|p| p.severity == Severity::Error);
    table.finish(cx);
    let kind = kind?;
    if !failed && needs_port(&kind, &keys.listen) && keys.port.as_ref().is_none_or(PortSet::is_empty) {
        cx.error(node, Kind::Missing, "missing field `port`: nothing can be listened on");
        return None;
    }
    if let InboundKind::Shadowsocks(ss) = &kind {
        let whose = named("inbound", &keys.tag);
        cx.key("settings", |cx| ss.check_keys(cx, &settings, &whose));
    }
    let inbound = Inbound {
        at: cx.spot(node),
        tag: keys.tag,
        listen: keys.listen,
        ports: keys.port,
        kind,
        stream: keys.stream,
        sniffing,
    };
    cx.problems.extend(fit::inbound(&inbound));
    Some(inbound)
}

/// Writes an inbound with the keys of the dialect.
#[must_use]
pub fn write(inbound: &Inbound, dialect: Dialect) -> PlainMap {
    let mut map = PlainMap { from: inbound.at.span(), ..PlainMap::default() };
    let keys = InboundKeys {
        tag: inbound.tag.clone(),
        listen: inbound.listen.clone(),
        port: inbound.ports.clone(),
        stream: inbound.stream.clone(),
        sniffing: inbound.sniffing.clone(),
        ..InboundKeys::default()
    };
    keys.write_to(dialect, &mut map);
    let word = inbound.kind.word(dialect);
    let settings = inbound.kind.write_settings(dialect, &mut PlainMap::default());
    written::fill(&mut map, word, settings);
    map
}

/// The JSON schema of an inbound.
#[must_use]
pub fn schema(dialect: Dialect, defs: &mut Defs) -> Json {
    let keys = InboundKeys::keys(dialect, defs);
    let kinds = InboundKind::shapes(dialect, defs);
    by_protocol(dialect, &InboundKeys::doc(), &keys, kinds)
}

/// V2Ray 3 wrote `domainOverride` on the inbound.
fn sniffing(cx: &mut Reader<'_>, table: &mut Table<'_>, mut sniffing: Sniffing) -> Sniffing {
    let given = table.has(cx.dialect, Key::json(&["sniffing"]));
    if let Some(old) = table.take(cx, Key::json(&["domainOverride"])) {
        cx.key(&old.key, |cx| {
            cx.warn(&old.node, Kind::Legacy, "`domainOverride` is now `sniffing.destOverride`");
            let list = <ListOf<Sniffer> as crate::shape::Field>::read(cx, &old.node);
            if let Some(list) = list.filter(|_| !given) {
                sniffing = Sniffing { enabled: !list.is_empty(), dest_override: list, ..Sniffing::default() };
                cx.mark(old.node.span, Class::Rewritten, "sniffing.destOverride");
            }
        });
    }
    sniffing
}

fn needs_port(kind: &InboundKind, listen: &Listen) -> bool {
    !listen.is_unix() && !matches!(kind, InboundKind::Tun(_))
}

/// Accounts beside `settings` instead of inside are read by nobody, and leave the door open.
fn misplaced(cx: &mut Reader<'_>, table: &mut Table<'_>, kind: Option<&InboundKind>) {
    let open = match kind {
        Some(InboundKind::Socks(socks)) => socks.logins().is_none(),
        Some(InboundKind::Http(http)) => http.accounts.is_empty(),
        _ => false,
    };
    let keys: Vec<_> =
        table.rest().filter(|e| ["auth", "accounts", "users"].iter().any(|k| e.key.eq_ignore_ascii_case(k))).collect();
    if open && !keys.is_empty() {
        let names = keys.iter().map(|e| format!("`{}`", e.key)).collect::<Vec<_>>().join(" and ");
        let are = if keys.len() == 1 { "is" } else { "are" };
        let message = format!("{names} beside `settings` {are} read by nobody: this inbound asks for no login");
        cx.report(Severity::Warning, Kind::Unknown, keys[0].key_span, message).help =
            Some("move it into `settings`".into());
        for key in ["auth", "accounts", "users"] {
            table.tell(key);
        }
    }
}
