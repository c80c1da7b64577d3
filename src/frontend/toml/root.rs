//! The whole file: one table a section, the sections of the first users first.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use crate::model::balancer::Balancer;
use crate::model::control::Control;
use crate::model::dns::Dns;
use crate::model::draft::Draft;
use crate::model::fake::FakePools;
use crate::model::geodata::Geodata;
use crate::model::httpservice::HttpService;
use crate::model::inbound::Inbound;
use crate::model::log::Log;
use crate::model::outbound::Outbound;
use crate::model::policy::Policy;
use crate::model::reload::Reload;
use crate::model::services::{Api, BurstObservatory, Metrics, Observatory, ReverseTunnels, Services, Version};
use crate::record;
use crate::shape::{Defs, Dialect, Field, Node, Plain, PlainMap, Reader, Record};

use super::balancer::{self, TomlBalancer};
use super::routing::{self, TomlRoute};
use super::{inbound, outbound};

record! {
    /// A configuration of etemenanki.
    pub struct TomlRoot {
        /// Logs.
        log: Log;
        /// Doors by which flows come in.
        inbound: Vec<Door>;
        /// Ways out. The first is the default, unless `[route]` names another.
        outbound: Vec<Exit>;
        /// Groups of outbounds, one member of which is chosen for each flow.
        balancer: Vec<Group>;
        /// Which flow goes where.
        route: TomlRoute;
        /// Name resolution; absent: by the operating system.
        dns: Option<Dns>;
        /// Pools of addresses that stand for names.
        fake_dns: FakePools;
        /// Times by user level, and counters.
        policy: Policy;
        /// The gRPC management interface.
        api: Option<Api>;
        /// The HTTP listener of metrics.
        metrics: Option<Metrics>;
        /// Present: traffic is counted.
        stats: Option<Stats>;
        /// Measures outbounds for the strategies that ask.
        observatory: Vec<Observatory>;
        /// Measures outbounds at random moments of a window.
        burst_observatory: Vec<BurstObservatory>;
        /// The control socket, and files of what is known.
        control: Control;
        /// Taking over changes while running.
        reload: Reload;
        /// Versions of Xray that the file is for; kept for the way back.
        version: Option<Version>;
        /// Download of geodata files.
        geodata: Option<Geodata>;
        /// Reverse tunnels as V2Ray had them.
        reverse: Option<ReverseTunnels>;
        /// Variables put into the environment before geodata files are opened.
        env: BTreeMap<String, String>;
        /// Reverse proxies for HTTP: each request goes to the server that its key hashes to.
        service: Vec<HttpService>;
    }
}

record! {
    /// Counting of traffic; the table has no keys.
    pub struct Stats {}
}

/// Reads a file; everything wrong with it was reported. There is a draft even then, for whoever wants to look further.
pub fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Draft> {
    let root = TomlRoot::read(cx, node)?;
    let balancers: Vec<Balancer> = root.balancer.into_iter().map(|group| group.0).collect();
    let routing = cx.key("route", |cx| root.route.into_routing(cx, &balancers));
    Some(Draft {
        log: root.log,
        inbounds: root.inbound.into_iter().map(|door| door.0).collect(),
        outbounds: root.outbound.into_iter().map(|exit| exit.0).collect(),
        balancers,
        routing,
        dns: root.dns,
        fake_dns: root.fake_dns,
        policy: root.policy,
        services: Services {
            api: root.api,
            metrics: root.metrics,
            stats: root.stats.is_some(),
            version: root.version,
            control: root.control,
            reload: root.reload,
            geodata: root.geodata,
            observatories: root.observatory,
            burst_observatories: root.burst_observatory,
            reverse: root.reverse,
            env: root.env,
        },
        http_services: root.service,
    })
}

/// Writes a draft; what equals the default is left out.
#[must_use]
pub fn write(draft: &Draft) -> PlainMap {
    let services = &draft.services;
    let root = TomlRoot {
        log: draft.log.clone(),
        inbound: draft.inbounds.iter().cloned().map(Door).collect(),
        outbound: draft.outbounds.iter().cloned().map(Exit).collect(),
        balancer: draft.balancers.iter().cloned().map(Group).collect(),
        // Written below: rules are made from the model one by one.
        route: TomlRoute::default(),
        dns: draft.dns.clone(),
        fake_dns: draft.fake_dns.clone(),
        policy: draft.policy.clone(),
        api: services.api.clone(),
        metrics: services.metrics.clone(),
        stats: services.stats.then(Stats::default),
        observatory: services.observatories.clone(),
        burst_observatory: services.burst_observatories.clone(),
        control: services.control.clone(),
        reload: services.reload.clone(),
        version: services.version.clone(),
        geodata: services.geodata.clone(),
        reverse: services.reverse.clone(),
        env: services.env.clone(),
        service: draft.http_services.clone(),
    };
    let mut out = PlainMap::default();
    root.write_to(Dialect::Toml, &mut out);
    let route = routing::write(&draft.routing);
    if !route.is_empty() {
        let before = ["log", "inbound", "outbound", "balancer"];
        let at = out.entries.iter().filter(|(key, _)| before.contains(&key.as_str())).count();
        out.entries.insert(at, ("route".to_owned(), route.into()));
    }
    out
}

/// The JSON schema of a file.
#[must_use]
pub fn schema(defs: &mut Defs) -> Json {
    TomlRoot::schema(Dialect::Toml, defs)
}

/// A value that is read and written by functions of its own, as a field of the root.
macro_rules! items {
    ($($(#[doc = $doc:literal])* $name:ident($model:ty), $label:literal, $read:expr, $write:path, $schema:expr;)*) => {$(
        $(#[doc = $doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name(pub $model);

        impl Field for $name {
            fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
                $read(cx, node).map(Self)
            }

            fn write(&self, _: Dialect) -> Plain {
                $write(&self.0).into()
            }

            fn shape(_: Dialect, defs: &mut Defs) -> Json {
                if !defs.map.contains_key($label) {
                    let schema = $schema(defs);
                    defs.map.insert($label.to_owned(), schema);
                }
                json!({ "$ref": concat!("#/$defs/", $label) })
            }
        }
    )*};
}

items! {
    /// One `[[inbound]]`.
    Door(Inbound), "Inbound", inbound::read, inbound::write, inbound::schema;
    /// One `[[outbound]]`.
    Exit(Outbound), "Outbound", outbound::read, outbound::write, outbound::schema;
    /// One `[[balancer]]`.
    Group(Balancer), "Balancer", read_balancer, balancer::write, balancer_schema;
}

fn read_balancer(cx: &mut Reader<'_>, node: &Node) -> Option<Balancer> {
    TomlBalancer::read(cx, node)?.into_balancer(cx)
}

fn balancer_schema(defs: &mut Defs) -> Json {
    let keys = TomlBalancer::keys(Dialect::Toml, defs);
    crate::shape::object(Dialect::Toml, &TomlBalancer::doc(), &keys)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::frontend::text::Text;
    use crate::frontend::toml::emit;
    use crate::frontend::tomltree;
    use crate::model::check::link;
    use crate::model::log::Level;
    use crate::shape::Severity;

    fn load(body: &str) -> (Option<Draft>, Vec<String>) {
        let parsed = tomltree::parse(&Text::new(0, "c.toml", body));
        let none = |_: &str| None;
        let mut cx = Reader::new(Dialect::Toml, &none);
        let draft = read(&mut cx, &parsed.root.unwrap());
        let linked = draft.as_ref().map(|draft| link(draft, Dialect::Toml).problems).unwrap_or_default();
        let errors = cx.problems.iter().chain(&linked).filter(|p| p.severity == Severity::Error);
        (draft, errors.map(|p| p.message.clone()).collect())
    }

    const SMALL: &str = r#"[[inbound]]
tag = "socks-in"
protocol = "socks"
listen = "127.0.0.1"
port = 1080

[[outbound]]
tag = "direct"
protocol = "freedom"

[[outbound]]
tag = "primary"
protocol = "socks"
server = "proxy1.example.com"
port = 443

[[balancer]]
tag = "proxy"
outbounds = ["primary"]
strategy = "round_robin"
probe_interval = 10

[route]
default = "proxy"

[[route.rule]]
outbound = "direct"
cidr = ["10.0.0.0/8"]
"#;

    #[test]
    fn a_file_is_written_as_people_write_it() {
        let (draft, errors) = load(SMALL);
        assert_eq!(errors, [""; 0]);
        let draft = draft.unwrap();
        assert_eq!((draft.log.level, draft.balancers.len()), (Level::Info, 1));
        assert_eq!(emit(&write(&draft), &[]), SMALL);
    }

    #[test]
    fn every_section_comes_back() {
        let more = r#"
[log]
level = "none"

[dns]
servers = ["localhost", { address = "8.8.8.8", domains = ["example.com"] }]
[dns.hosts]
"a.example" = "127.0.0.1"

[[fake_dns]]
ip_pool = "198.18.0.0/15"
pool_size = 100

[policy.levels.1]
conn_idle = 600

[api]
tag = "api"

[metrics]
listen = "127.0.0.1:1"

[stats]

[[observatory]]
subjects = ["p"]

[[burst_observatory]]
subjects = ["p"]
ping = { sampling = 3 }

[control]
socket = "off"

[reload]
watch = false

[version]
min = "1.8"

[geodata]
cron = "@daily"

[reverse]
portals = [{ tag = "r", domain = "d" }]

[env]
A = "b"

[[service]]
tag = "web"
port = 8000
hash_key = "$http_x_user_id"

[service.health]
path = "/healthz"

[[service.server]]
url = "http://backend1:8080"
weight = 2

[[service.server]]
service = "inner"
fenced = true

[[service]]
tag = "inner"
hash_key = ["source_ip", "$cookie_id"]

[[service.server]]
url = "https://backend2/base"
"#;
        let (draft, errors) = load(&format!("{SMALL}{more}"));
        assert_eq!(errors, [""; 0]);
        let text = emit(&write(&draft.clone().unwrap()), &[]);
        let (again, errors) = load(&text);
        assert_eq!((errors, &again), (vec![], &draft), "{text}");
        for key in TomlRoot::keys(Dialect::Toml, &mut Defs::default()) {
            let name = key.key.names(Dialect::Toml)[0];
            assert!(text.contains(&format!("[{name}")), "{name}: {text}");
        }
        assert!(draft.unwrap().services.stats);
    }

    #[test]
    fn the_first_users_messages_are_kept_word_for_word() {
        let balancer =
            |lines: &str| format!("[[outbound]]\ntag = \"a\"\nprotocol = \"freedom\"\n[[balancer]]\n{lines}\n");
        let cases = [
            ("tag = \"a\"\noutbounds = [\"a\"]\nprobe = \"none\"", "balancer tag a collides with an outbound tag"),
            ("tag = \"b\"\noutbounds = []", "a balancer needs at least one outbound"),
            ("tag = \"b\"\noutbounds = [\"x\"]", "balancer b references unknown outbound tag: x"),
            (
                "tag = \"b\"\noutbounds = [\"a\"]",
                "balancer b: outbound a has no upstream a TCP health probe can reach, so it cannot be balanced",
            ),
            (
                "tag = \"b\"\noutbounds = [\"a\"]\nprobe_interval = \"30s\"",
                "invalid type: string \"30s\", expected u64",
            ),
            ("tag = \"b\"\noutbounds = [\"a\"]\nprobe_timeout = -1", "invalid value: integer `-1`, expected u64"),
            ("tag = \"b\"", "missing field `outbounds`"),
            ("outbounds = [\"a\"]", "missing field `tag`"),
        ];
        for (lines, want) in cases {
            let (_, errors) = load(&balancer(lines));
            assert!(errors.iter().any(|e| e == want), "{lines}: {errors:?}");
        }
        let (_, errors) = load(&balancer("tag = \"b\"\noutbounds = [\"a\"]\nprobe_intervall = 3"));
        let want = "unknown field `probe_intervall`, expected one of `tag`, `outbounds`, `strategy`, `probe_interval`, `probe_timeout`";
        assert!(errors.iter().any(|e| e.starts_with(want)), "{errors:?}");
        let (_, errors) = load(&balancer("tag = \"b\"\noutbounds = [\"a\"]\nstrategy = \"Failover\""));
        let want = "unknown balancer strategy \"Failover\" (expected \"failover\" or \"round_robin\"";
        assert!(errors.iter().any(|e| e.starts_with(want)), "{errors:?}");
        let (_, errors) = load("[route]\ndefault = \"x\"\n");
        assert!(errors.iter().any(|e| e == "route references unknown outbound tag: x"), "{errors:?}");
    }
}
