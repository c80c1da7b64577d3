//! HTTP services: reverse proxies that send each request to the server its key hashes to.

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::fields::Port;
use super::hashkey::HashKey;
use super::inbound::Listen;
use super::name::Name;
use crate::addr::{Host, Tag, Target};
use crate::record;
use crate::shape::{Defs, Dialect, Field, GoTime, Key, Kind, Node, Plain, Reader, Spot, Table};

record! {
    /// A reverse proxy for HTTP: requests with the same key go to the same server while it is there (rendezvous hashing).
    pub struct HttpService {
        /// Its name. Another service may have it as a server.
        tag: Tag => "tag", required;
        /// Address to listen on; every one if empty.
        listen: Listen => "listen";
        /// Port to listen on. Absent: it is there for other services only.
        port: Option<Port> => "port";
        /// What requests are hashed by: `source_ip`, `user`, `inbound_tag`, `dest_host`, `dest_site`, `dest_ip`,
        /// `dest_port`, or one nginx-style variable such as `$http_x_user_id`; several form a list.
        hash_key: HashKey => "hashKey";
        /// How servers are checked; absent: only what requests meet counts.
        health: Option<HttpHealth> => "health";
        /// Who serves.
        server: Vec<HttpServer> => "servers";
        /// Where it stands.
        place: Spot, hidden;
    }
    hook HttpService::settle;
}

record! {
    /// One server of a service.
    pub struct HttpServer {
        /// Its address, `http://HOST:PORT` or `https://HOST:PORT`. This text is also what keys are hashed with.
        url: Option<ServerUrl> => "url";
        /// In place of an address: the tag of another service.
        service: Option<Name> => "service";
        /// Its share of the keys; 0 and less: it is not a server at all.
        weight: i64 = 1 => "weight";
        /// Whether it takes no new requests; those that run go on.
        fenced: bool => "fenced";
        /// Where it stands.
        place: Spot, hidden;
    }
    hook HttpServer::settle;
}

record! {
    /// Checks of the servers: a GET at a fixed pace, answered with a status of 200 to 399.
    pub struct HttpHealth {
        /// What is asked for, below the server's address.
        path: String = "/".into() => "path";
        /// From the end of a check to the next.
        interval: GoTime = GoTime(Duration::from_secs(10)) => "interval";
        /// Bound of one check.
        timeout: GoTime = GoTime(Duration::from_secs(5)) => "timeout";
    }
    hook HttpHealth::settle;
}

impl HttpService {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        self.place = cx.spot(table.node());
        if self.tag.is_empty() {
            // A key that is not there was told already.
            if table.has(cx.dialect, TAG) {
                cx.error(table.node(), Kind::Missing, "a service needs a tag");
            }
        } else if self.server.is_empty() {
            cx.error(table.node(), Kind::Missing, format!("service {}: it needs at least one server", self.tag));
        }
        if self.listen.is_unix() {
            cx.error(table.node(), Kind::Value, "a service listens on TCP, not on a Unix socket");
        }
    }
}

const TAG: Key = Key { toml: "tag", json: &["tag"] };
const URL: Key = Key { toml: "url", json: &["url"] };
const SERVICE: Key = Key { toml: "service", json: &["service"] };

impl HttpServer {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        self.place = cx.spot(table.node());
        let (url, service) = (table.has(cx.dialect, URL), table.has(cx.dialect, SERVICE));
        let what = match (url, service) {
            (true, true) => "a server is a `url` or a `service`, not both",
            (false, false) => "missing field `url`",
            _ => return,
        };
        cx.error(table.node(), if url { Kind::Conflict } else { Kind::Missing }, what);
    }
}

impl HttpHealth {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        if !is_path(&self.path) {
            let what = format!("the path {:?} must begin with `/` and have no blanks", self.path);
            cx.error(table.node(), Kind::Value, what);
        }
        for (name, time) in [("interval", self.interval), ("timeout", self.timeout)] {
            if time.is_zero() {
                cx.error(table.node(), Kind::Value, format!("`{name}` must be above 0"));
            }
        }
    }
}

/// The address of a server, and the text by which it is known.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ServerUrl {
    text: String,
    /// Whether it is reached by TLS.
    pub tls: bool,
    /// Where it is.
    pub target: Target,
    /// What stands before every path, without `/` at its end; mostly empty.
    pub base: String,
}

impl ServerUrl {
    /// Reads an address.
    ///
    /// # Errors
    /// A sentence on what is wrong; it does not repeat what may be a password.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let lower = text.get(..8).unwrap_or(text).to_ascii_lowercase();
        let (tls, rest) = if lower.starts_with("https://") {
            (true, &text[8..])
        } else if lower.starts_with("http://") {
            (false, &text[7..])
        } else {
            return Err("a server's address begins with http:// or https://");
        };
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err("a server's address has no login in it: clients send their own");
        }
        if path.contains(['?', '#']) {
            return Err("a server's address has no query");
        }
        if !path.is_empty() && !is_path(path) {
            return Err("the path of a server's address has characters that must be escaped");
        }
        // Colons within brackets belong to the address.
        let colon = authority.rfind(':').filter(|at| !authority[*at..].contains(']'));
        let (host, port) = match colon {
            Some(at) => {
                let port = authority[at + 1..].parse::<u16>().ok().filter(|port| *port != 0);
                (&authority[..at], port.ok_or("the port of a server's address is a number from 1 to 65535")?)
            }
            None => (authority, if tls { 443 } else { 80 }),
        };
        let host = Host::parse(host).map_err(|_| "a server's address needs a host name or an IP address")?;
        let base = path.trim_end_matches('/').to_owned();
        Ok(Self { text: text.to_owned(), tls, target: Target::new(host, port), base })
    }

    /// As it was written: the name that keys are hashed with.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Host and port as a `Host` header says them.
    #[must_use]
    pub fn authority(&self) -> String {
        let usual = if self.tls { 443 } else { 80 };
        let text = self.target.to_string();
        let bare = text.strip_suffix(&format!(":{usual}")).filter(|_| self.target.port == usual);
        bare.unwrap_or(&text).to_owned()
    }
}

/// Whether a text can stand in the first line of a request.
fn is_path(text: &str) -> bool {
    text.starts_with('/') && text.bytes().all(|b| b.is_ascii_graphic() && b != b'#')
}

impl Field for ServerUrl {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        let text = String::read(cx, node)?;
        Self::parse(&text).map_err(|why| cx.error(node, Kind::Value, why).help = Some(EXAMPLE.into())).ok()
    }

    fn write(&self, _: Dialect) -> Plain {
        self.text.as_str().into()
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        json!({ "type": "string" })
    }
}

const EXAMPLE: &str = "write it like \"http://10.0.0.1:8080\"";

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<(bool, String, String, String)> {
        let url = ServerUrl::parse(text).ok()?;
        Some((url.tls, url.target.to_string(), url.base.clone(), url.authority()))
    }

    #[test]
    fn addresses_read() {
        let plain = |at: &str, base: &str, host: &str| Some((false, at.into(), base.into(), host.into()));
        assert_eq!(parsed("http://backend1:8080"), plain("backend1:8080", "", "backend1:8080"));
        assert_eq!(parsed("HTTP://10.0.0.1/"), plain("10.0.0.1:80", "", "10.0.0.1"));
        assert_eq!(parsed("http://[::1]:81/a/b/"), plain("[::1]:81", "/a/b", "[::1]:81"));
        let secure = (true, "b.example:443".into(), String::new(), "b.example".into());
        assert_eq!(parsed("https://b.example"), Some(secure));
    }

    #[test]
    fn what_is_no_address_is_refused_without_its_text() {
        for bad in [
            "",
            "b:80",
            "ftp://b",
            "http://",
            "http://b:0",
            "http://b:x",
            "http://u:secret@b",
            "http://b/?q",
            "http://b/a b",
        ] {
            let why = ServerUrl::parse(bad).err();
            assert!(why.is_some_and(|why| !why.contains("secret")), "{bad}");
        }
    }
}
