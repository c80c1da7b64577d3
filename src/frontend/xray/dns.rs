//! `dns`, with V2Ray's spellings.

use crate::model::dns::{Dns, DnsServer};
use crate::model::fake::{FakePools, ServerFakes};
use crate::model::faking;
use crate::shape::{Class, Field, Key, Kind, Node, Reader, Record, Severity, Table, Value};

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
    for server in &dns.servers {
        address(cx, server);
    }
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

/// Schemes that a server's address can have.
const SCHEMES: &[&str] = &["tcp", "tcp+local", "https", "https+local", "h2c", "h2c+local", "quic+local"];

/// Checks the form of an address, which Xray finds out about at the first query, if at all.
fn address(cx: &mut Reader<'_>, server: &DnsServer) {
    let text = server.spec.address.trim();
    let (severity, message, help) = match text.split_once("://") {
        Some((scheme, rest)) if SCHEMES.iter().any(|s| s.eq_ignore_ascii_case(scheme)) => {
            if !rest.trim_start_matches('/').is_empty() {
                return;
            }
            (Severity::Error, format!("the DNS server {text:?} names no host"), "write SCHEME://HOST".to_owned())
        }
        Some((scheme, rest)) => {
            let host = rest.split(['/', ':']).next().unwrap_or_default();
            let help = match scheme.to_ascii_lowercase().as_str() {
                "udp" => format!("write \"{host}\" alone, and \"port\" beside it if it is not 53"),
                "tls" => {
                    format!("DNS over TLS does not exist here; write \"https://{host}/dns-query\" or \"tcp://{host}\"")
                }
                _ => format!("expected one of {}", SCHEMES.join(", ")),
            };
            let message =
                format!("the DNS server {text:?} has an unknown scheme: it is taken as a name and never answers");
            (Severity::Warning, message, help)
        }
        None => match text.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') && port.parse::<u16>().is_ok() => {
                let help = format!("write {{ \"address\": \"{host}\", \"port\": {port} }}");
                (Severity::Error, format!("the DNS server {text:?} cannot hold a port"), help)
            }
            _ => return,
        },
    };
    let problem = crate::shape::Problem::at(&server.at, severity, Kind::Value, message);
    cx.problems.push(problem.help(help));
}
