//! Servers of an outbound, and how the three spellings of them become one list.

use serde_json::{Value as Json, json};

use super::fields::Port;
use super::kinds::{Ends, Part};
use crate::addr::{Host, Target};
use crate::shape::{
    Class, Defs, Dialect, Field, Key, KeyDoc, Kind, Node, Plain, PlainMap, Reader, Record, Severity, Spot, Table,
    nullable, object,
};

/// One server, with what is needed to be let in.
#[derive(Debug, Clone, PartialEq)]
pub struct Server<A> {
    /// Where it was written.
    pub at: Spot,
    /// Its address.
    pub address: Host,
    /// Its port.
    pub port: u16,
    /// How to be let in.
    pub account: A,
}

impl<A> Server<A> {
    /// Address and port.
    #[must_use]
    pub fn target(&self) -> Target {
        Target::new(self.address.clone(), self.port)
    }
}

/// The settings of an outbound that speaks to servers of its own. Several of them take turns (round robin).
#[derive(Debug, Clone, PartialEq)]
pub struct Served<A, C = Nothing> {
    /// The servers, at least one; several users of one server stand as several servers.
    pub servers: Vec<Server<A>>,
    /// What holds for all of them.
    pub common: C,
}

crate::record! {
    /// No settings.
    pub struct Nothing {
    }
}

/// How an outbound's users stand in Xray's list of servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Users {
    /// The user's keys stand beside address and port.
    Inline,
    /// In a list `users`, which may be absent.
    AtMostSome,
    /// In a list `users`, which must hold somebody.
    AtLeastOne,
}

/// What a server wants to know of its user.
pub trait Account: Record + Field + PartialEq + Clone {
    /// The list of servers in JSON.
    const LIST: &'static str;
    /// How its users stand there.
    const USERS: Users;

    /// Whether JSON must write this account beside the address, because the list has no room for all of it.
    fn flat_only(&self) -> bool {
        false
    }
}

const ADDRESS: Key = Key { toml: "server", json: &["address"] };
const PORT: Key = Key { toml: "port", json: &["port"] };

impl<A: Account, C: Record> Part for Served<A, C> {
    fn read_part(cx: &mut Reader<'_>, node: &Node, ends: &mut Ends) -> Option<Self> {
        let mut table = Table::open(cx, node)?;
        let servers =
            if cx.json() { json_servers::<A>(cx, &mut table) } else { toml_servers::<A>(cx, &mut table, ends) };
        let common = C::read_from(cx, &mut table);
        table.finish(cx);
        if servers.len() > 1 {
            let note = format!("{} servers in one outbound: new connections take turns", servers.len());
            cx.report(Severity::Note, Kind::Legacy, node.span, note);
        }
        (!servers.is_empty()).then_some(Self { servers, common })
    }

    fn write_part(&self, dialect: Dialect, outer: &mut PlainMap) -> PlainMap {
        let mut settings = PlainMap::default();
        match (dialect, self.servers.as_slice()) {
            (Dialect::Toml, [one]) => {
                write_end(one, dialect, outer);
                one.account.write_to(dialect, &mut settings);
            }
            (Dialect::Toml, many) => {
                let list = many.iter().map(|server| {
                    let mut map = PlainMap { from: server.at.span(), ..PlainMap::default() };
                    write_end(server, dialect, &mut map);
                    server.account.write_to(dialect, &mut map);
                    Plain::Map(map)
                });
                outer.put("servers", list.collect::<Vec<_>>());
            }
            (Dialect::Json, [one]) if one.account.flat_only() => {
                write_end(one, dialect, &mut settings);
                one.account.write_to(dialect, &mut settings);
            }
            (Dialect::Json, many) => settings.put(A::LIST, json_list(many)),
        }
        self.common.write_to(dialect, &mut settings);
        settings
    }

    fn shape_part(dialect: Dialect, defs: &mut Defs) -> Json {
        let mut keys = A::keys(dialect, defs);
        keys.extend(C::keys(dialect, defs));
        let doc = format!("{} {}", A::doc(), C::doc());
        if dialect == Dialect::Toml {
            for key in &mut keys {
                // With a list of servers the account's keys stand there.
                key.required = false;
            }
            return object(dialect, &doc, &keys);
        }
        let mut member = end_keys(dialect, defs);
        match A::USERS {
            Users::Inline => member.extend(A::keys(dialect, defs)),
            _ => {
                let shape = json!({ "type": "array", "items": nullable(A::schema(dialect, defs)) });
                member.push(key_doc(Key::json(&["users"]), "Who logs in.", shape));
            }
        }
        let member = object(dialect, "A server.", &member);
        keys.extend(end_keys(dialect, defs));
        let list = json!({ "type": "array", "items": nullable(member) });
        keys.push(key_doc(list_key::<A>(), "Servers; several take turns.", list));
        object(dialect, &doc, &keys)
    }
}

/// The keys of `[[outbound.servers]]` and their schema, for the outbound's own schema.
pub fn server_schema<A: Account>(dialect: Dialect, defs: &mut Defs) -> Json {
    let mut keys = end_keys(dialect, defs);
    keys.extend(A::keys(dialect, defs));
    object(dialect, "A server; several take turns.", &keys)
}

fn key_doc(key: Key, doc: &str, shape: Json) -> KeyDoc {
    KeyDoc { key, doc: doc.to_owned(), shape, default: None, required: false, ignored: None }
}

fn end_keys(dialect: Dialect, defs: &mut Defs) -> Vec<KeyDoc> {
    vec![
        key_doc(ADDRESS, "Address of the server.", Host::shape(dialect, defs)),
        key_doc(PORT, "Port of the server.", Port::shape(dialect, defs)),
    ]
}

/// `vnext` and `servers` are both known everywhere: clients write the one they do not use as `null` or leave it over.
fn list_key<A: Account>() -> Key {
    if A::LIST == "vnext" { Key::json(&["vnext"]) } else { Key::json(&["servers"]) }
}

fn write_end<A>(server: &Server<A>, dialect: Dialect, out: &mut PlainMap) {
    out.put(ADDRESS.names(dialect)[0], server.address.write(dialect));
    out.put("port", Port(server.port).write(dialect));
}

/// Servers as Xray lists them; neighbours with one address and port are one server with several users.
fn json_list<A: Account>(servers: &[Server<A>]) -> Vec<Plain> {
    let mut out = Vec::new();
    let mut rest = servers;
    while let Some(first) = rest.first() {
        let same = if A::USERS == Users::Inline {
            1
        } else {
            rest.iter().take_while(|s| s.address == first.address && s.port == first.port).count()
        };
        let (here, later) = rest.split_at(same);
        rest = later;
        let mut map = PlainMap::default();
        write_end(first, Dialect::Json, &mut map);
        if A::USERS == Users::Inline {
            first.account.write_to(Dialect::Json, &mut map);
        } else {
            let nobody = A::default();
            let users = here.iter().filter(|s| here.len() > 1 || A::USERS == Users::AtLeastOne || s.account != nobody);
            let users: Vec<Plain> = users.map(|s| s.account.write(Dialect::Json)).collect();
            if !users.is_empty() {
                map.put("users", users);
            }
        }
        out.push(map.into());
    }
    out
}

/// Address and port of an open table; their absence is reported.
fn read_end(cx: &mut Reader<'_>, table: &mut Table<'_>) -> Option<(Host, u16)> {
    let before = cx.problems.len();
    let host = table.opt::<Host>(cx, ADDRESS);
    if host.is_none() && cx.problems.len() == before {
        let name = ADDRESS.names(cx.dialect)[0];
        cx.error(table.node(), Kind::Missing, format!("missing field `{name}`"));
    }
    let port = table.need::<Port>(cx, PORT);
    if port == Some(Port(0)) {
        cx.error(table.node(), Kind::Value, "invalid port: a server's port is 1 to 65535");
        return None;
    }
    Some((host?, port?.0))
}

fn json_servers<A: Account>(cx: &mut Reader<'_>, table: &mut Table<'_>) -> Vec<Server<A>> {
    let list = table.take(cx, list_key::<A>());
    if table.has(cx.dialect, ADDRESS) {
        if let Some(list) = list {
            let why = "`address` beside it wins";
            cx.report(Severity::Warning, Kind::Ignored, list.key_span, format!("`{}` is not used: {why}", list.key));
            cx.mark(list.node.span, Class::Dropped, why);
        }
        let at = cx.spot(table.node());
        let end = read_end(cx, table);
        let account = A::read_from(cx, table);
        return end.map(|(address, port)| Server { at, address, port, account }).into_iter().collect();
    }
    let name = A::LIST;
    let Some(list) = list else {
        cx.error(table.node(), Kind::Missing, format!("missing field `{name}`")).help =
            Some("an outbound needs a server: `address` and `port`, in the settings or in a list".into());
        return vec![];
    };
    cx.key(&list.key, |cx| {
        let Some(items) = list.node.list() else {
            cx.wrong_type::<()>(&list.node, "an array");
            return vec![];
        };
        if items.iter().all(Node::is_null) {
            cx.error(&list.node, Kind::Missing, format!("`{name}` holds no server"));
        }
        cx.each(items, |cx, item| if item.is_null() { vec![] } else { json_server(cx, item) })
            .into_iter()
            .flatten()
            .collect()
    })
}

/// One member of the list, once for each of its users.
fn json_server<A: Account>(cx: &mut Reader<'_>, item: &Node) -> Vec<Server<A>> {
    let Some(mut table) = Table::open(cx, item) else {
        return vec![];
    };
    let at = cx.spot(item);
    let end = read_end(cx, &mut table);
    let accounts = match A::USERS {
        Users::Inline => vec![A::read_from(cx, &mut table)],
        wanted => {
            let users = table.opt::<Vec<A>>(cx, Key::json(&["users"]));
            let users = users.unwrap_or_default();
            if users.is_empty() && wanted == Users::AtLeastOne {
                cx.error(item, Kind::Missing, "missing field `users`: the server needs somebody who logs in");
            }
            if users.is_empty() && wanted == Users::AtMostSome { vec![A::default()] } else { users }
        }
    };
    table.finish(cx);
    let Some((address, port)) = end else {
        return vec![];
    };
    let server = |account| Server { at: at.clone(), address: address.clone(), port, account };
    accounts.into_iter().map(server).collect()
}

fn toml_servers<A: Account>(cx: &mut Reader<'_>, table: &mut Table<'_>, ends: &mut Ends) -> Vec<Server<A>> {
    let (server, port) = (ends.server.take(), ends.port.take());
    let Some(list) = ends.servers.take() else {
        let at = cx.spot(table.node());
        let account = A::read_from(cx, table);
        if server.is_none() {
            cx.error(table.node(), Kind::Missing, "missing field `server`");
        }
        match port {
            None => {
                cx.error(table.node(), Kind::Missing, "missing field `port`");
            }
            Some(Port(0)) => {
                cx.error(table.node(), Kind::Value, "invalid port: a server's port is 1 to 65535");
            }
            _ => {}
        }
        let end = server.zip(port.filter(|p| p.0 != 0));
        return end.map(|(address, port)| Server { at, address, port: port.0, account }).into_iter().collect();
    };
    if server.is_some() || port.is_some() {
        cx.error(&list.0, Kind::Conflict, "`servers` and `server` with `port` exclude each other");
    }
    let Some(items) = list.0.list() else {
        cx.wrong_type::<()>(&list.0, "a sequence");
        return vec![];
    };
    if items.is_empty() {
        cx.error(&list.0, Kind::Missing, "`servers` holds no server");
    }
    let read = |cx: &mut Reader<'_>, item: &Node| {
        let mut table = Table::open(cx, item)?;
        let at = cx.spot(item);
        let end = read_end(cx, &mut table);
        let account = A::read_from(cx, &mut table);
        table.finish(cx);
        end.map(|(address, port)| Server { at, address, port, account })
    };
    cx.beside("servers", |cx| cx.each(items, read)).into_iter().flatten().collect()
}
