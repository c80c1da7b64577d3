//! `dns`, with V2Ray's spellings.

use crate::model::dns::Dns;
use crate::model::fake::{FakePools, ServerFakes};
use crate::model::faking;
use crate::shape::{Class, Field, Key, Kind, Node, Reader, Record, Table, Value};

use super::legacy;

/// Reads the section, and V2Ray's pools of fake addresses inside it.
pub fn read(cx: &mut Reader<'_>, node: &Node) -> Option<(Dns, FakePools)> {
    let (node, rewritten) = legacy::dns_strategies(cx, node);
    let mut table = Table::open(cx, &node)?;
    let dns = Dns::read_from(cx, &mut table);
    let pools = table.take(cx, Key::json(&["fakedns"]));
    let pools = pools.and_then(|entry| cx.key(&entry.key, |cx| ServerFakes::read(cx, &entry.node)));
    let pools = match pools.unwrap_or_default() {
        ServerFakes::Off => FakePools::default(),
        ServerFakes::Shared => faking::usual(dns.query_strategy),
        ServerFakes::Own(pools) => pools,
    };
    table.ignore(cx, &["domainMatcher"], "every matcher here gives the same answers, and one set serves them all");
    table.finish(cx);
    for (span, into) in rewritten {
        cx.mark(span, Class::Rewritten, into);
    }
    no_nulls(cx, &node);
    Some((dns, pools))
}

/// `null` among the servers brings Xray down; it is an error here, because whoever wrote it meant a server.
fn no_nulls(cx: &mut Reader<'_>, node: &Node) {
    let servers = node.map().unwrap_or_default().iter().rev().find(|e| e.key.eq_ignore_ascii_case("servers"));
    let Some(Value::List(servers)) = servers.map(|e| &e.node.value) else { return };
    for null in servers.iter().filter(|server| server.is_null()) {
        cx.key("servers", |cx| {
            cx.error(null, Kind::Value, "a DNS server must be an address or an object, found null");
        });
    }
}
