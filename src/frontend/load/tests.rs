#![allow(clippy::unwrap_used)]

use super::*;
use crate::frontend::report::{Colour, headline, render};
use crate::model::check::link;
use crate::model::dns::HostAnswer;
use crate::model::fake::FakePool;
use crate::model::log::{Level, Sink};

/// Loads files given as name and text.
fn load_all(files: &[(&str, &str)], strict: bool) -> Loaded {
    let env = |name: &str| (name == "CASE_PORT").then(|| "30140".to_owned());
    let source =
        |(name, body): &(&str, &str)| Source { name: (*name).into(), bytes: body.as_bytes().to_vec(), format: None };
    load(files.iter().map(source).collect(), &Options { strict, env: &env })
}

fn json(body: &str) -> Loaded {
    load_all(&[("c.json", body)], false)
}

fn draft(body: &str) -> Draft {
    let loaded = json(body);
    let report = render(&loaded.sources, &loaded.problems, Colour::Plain);
    loaded.draft.unwrap_or_else(|| panic!("{report}"))
}

fn told(loaded: &Loaded) -> Vec<String> {
    loaded.problems.iter().map(|p| format!("{}: {}", p.path, p.message)).collect()
}

/// A file with one SOCKS inbound and one direct outbound, and more sections.
fn with(sections: &str) -> String {
    format!(
        r#"{{"inbounds": [{{"port": 1, "protocol": "socks"}}], "outbounds": [{{"protocol": "freedom"}}]{sections}}}"#
    )
}

#[test]
fn case_001_a_commented_file_loads_with_marks_in_strings_whole() {
    let body = "// it's\n{ \"log\": {}, # \"x\"\n \"inbounds\": [ {\"port\": 1, \"protocol\": \"socks\" } /* , {} */ ] }\n// end";
    let loaded = json(body);
    assert!(loaded.draft.is_some() && loaded.problems.is_empty(), "{:?}", told(&loaded));
    assert_eq!(loaded.sources.files[0].comments.len(), 4);
}

#[test]
fn case_003_marks_of_encodings() {
    let loaded = json("\u{feff}{}");
    assert!(loaded.draft.is_some());
    let bytes = "{\"log\": {}}".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
    let env = |_: &str| None;
    let source = Source { name: "u.json".into(), bytes: [b"\xff\xfe".to_vec(), bytes].concat(), format: None };
    let loaded = load(vec![source], &Options { strict: false, env: &env });
    let report = render(&loaded.sources, &loaded.problems, Colour::Plain);
    assert!(
        loaded.failed() && report.starts_with("u.json:1:1: error: the file is UTF-16, it must be UTF-8"),
        "{report}"
    );
}

#[test]
fn case_004_unknown_and_misplaced_keys_are_named_once_and_notes_are_not() {
    let body = r#"{"remarks": "x", "_comment": "y",
        "inbounds": [{"port": 1, "protocol": "socks", "sniffng": {"enabled": true}}],
        "outbounds": [{"protocol": "freedom", "settings": {}, "domainStrategy": "UseIP"}]}"#;
    let loaded = json(body);
    assert!(loaded.draft.is_some());
    let report = render(&loaded.sources, &loaded.problems, Colour::Plain);
    assert!(report.contains("inbounds[0].sniffng") && report.contains("did you mean `sniffing`?"), "{report}");
    assert!(report.contains("outbounds[0].domainStrategy"), "{report}");
    assert!(!report.contains("_comment: ") && !report.contains("remarks: "), "{report}");
    let strict = load_all(&[("c.json", body)], true);
    assert!(strict.failed() && strict.draft.is_none());
    assert_eq!(strict.problems.len(), loaded.problems.len());
}

#[test]
fn what_has_no_tag_is_named_once() {
    let body = r#"{"outbounds": [
        {"protocol": "freedom", "streamSettings": {"sockopt": {"addressPortStrategy": "srvPortOnly"}}},
        {"tag": "a", "protocol": "freedom", "streamSettings": {"sockopt": {"addressPortStrategy": "srvPortOnly"}}}]}"#;
    let loaded = json(body);
    let mut problems = vec![];
    crate::model::built::report(loaded.draft.as_ref().unwrap(), &mut problems);
    let report = render(&loaded.sources, &problems, Colour::Plain);
    for want in
        ["warning: outbounds[0]: addressPortStrategy is", "warning: outbounds[1]: outbound a: addressPortStrategy is"]
    {
        assert!(report.contains(want), "{report}");
    }
}

#[test]
fn case_007_ports_in_every_form_and_from_the_environment() {
    let inbound = |port: &str| format!(r#"{{"inbounds": [{{"protocol": "socks", "port": {port}}}]}}"#);
    for (port, first) in [("5", 5), ("\"5\"", 5), ("\"5-7\"", 5), ("\"5, 7\"", 5), ("\"env:CASE_PORT\"", 30140)] {
        let draft = draft(&inbound(port));
        assert!(draft.inbounds[0].ports.as_ref().unwrap().contains(first), "{port}");
    }
    let loaded = json(&inbound("\"env:NOT_SET\""));
    assert!(loaded.failed() && told(&loaded)[0].contains("`NOT_SET`"), "{:?}", told(&loaded));
}

#[test]
fn case_009_null_is_the_same_as_nothing() {
    let body = r#"{"log": {"access": null, "loglevel": "warning"}, "stats": null, "policy": null, "api": null, "dns": null,
        "inbounds": [{"port": 1, "protocol": "socks", "sniffing": null, "settings": {"ip": null, "accounts": null},
                      "streamSettings": null}],
        "outbounds": [{"protocol": "freedom", "settings": null, "streamSettings": {"network": "tcp", "tlsSettings": null},
                       "mux": null}],
        "routing": {"rules": [{"port": null, "outboundTag": "x", "ip": ["192.0.2.0/24"], "domain": null}], "balancers": null}}"#;
    let loaded = json(body);
    assert!(loaded.draft.is_some(), "{:?}", told(&loaded));
    let draft = loaded.draft.unwrap();
    assert!(!draft.services.stats && draft.dns.is_none());
    assert_eq!(draft.log.access, Sink::Stdout);
}

#[test]
fn case_010_a_v2ray_3_file_means_what_it_meant() {
    let body = r#"{"inbound": {"port": 1, "protocol": "socks"}, "inboundDetour": [{"port": 2, "protocol": "http", "tag": "w"}],
        "outbound": {"protocol": "freedom", "tag": "first"}, "outboundDetour": [{"protocol": "blackhole", "tag": "b"}],
        "routing": {"strategy": "rules", "settings": {"domainStrategy": "IPIfNonMatch",
            "rules": [{"type": "field", "ip": ["192.0.2.0/24"], "outboundTag": "b"}]}}}"#;
    let draft = draft(body);
    let tags: Vec<_> = draft.outbounds.iter().map(|o| o.tag.as_str()).collect();
    assert_eq!((draft.inbounds.len(), tags), (2, vec!["first", "b"]));
    assert_eq!(draft.routing.rules.len(), 1);
}

#[test]
fn case_016_replacements_are_told() {
    let base = ("01-base.json", r#"{"inbounds": [{"tag": "in", "port": 1, "protocol": "socks"}]}"#);
    let user = ("02-user.json", r#"{"inbounds": [{"tag": "in", "port": 2, "protocol": "http"}]}"#);
    let loaded = load_all(&[base, user], false);
    assert!(told(&loaded)[0].contains("inbound `in` of 02-user.json replaces the one of 01-base.json"));
    let draft = loaded.draft.unwrap();
    assert_eq!(draft.inbounds.len(), 1);
    assert!(draft.inbounds[0].ports.as_ref().unwrap().contains(2));
}

#[test]
fn case_053_hosts_in_all_forms() {
    let body = with(
        r##", "dns": {"hosts": {"exact.example.com": "127.0.0.1", "domain:tree.example.com": "::1",
            "a.example": "b.example", "l.example": ["10.0.0.1", "10.0.0.2"], "n.example": "#3", "e.example": []}}"##,
    );
    let hosts = draft(&body).dns.unwrap().hosts.0;
    let answer = |name: &str| hosts.iter().find(|(rule, _)| rule.to_string().ends_with(name)).map(|(_, a)| a.clone());
    assert_eq!(answer("exact.example.com"), Some(HostAnswer::Ips(vec!["127.0.0.1".parse().unwrap()])));
    assert_eq!(answer("a.example"), Some(HostAnswer::Alias("b.example".into())));
    assert_eq!(answer("n.example"), Some(HostAnswer::Code(3)));
    assert_eq!(answer("e.example"), Some(HostAnswer::Ips(vec![])));
    assert!(matches!(answer("l.example"), Some(HostAnswer::Ips(ips)) if ips.len() == 2));
}

#[test]
fn trap_1_letter_case_and_repeated_sections() {
    let draft = draft(
        r#"{"Log": {"LOGLEVEL": "debug"}, "INBOUNDS": [{"PORT": 1, "Protocol": "SOCKS"}], "log": {"dnsLog": true}}"#,
    );
    assert_eq!((draft.log.level, draft.log.dns_log, draft.inbounds.len()), (Level::Debug, true, 1));
}

#[test]
fn trap_2_networks_are_not_trimmed_and_ports_are() {
    let rule =
        |condition: &str| json(&with(&format!(r#", "routing": {{"rules": [{{{condition}, "outboundTag": "o"}}]}}"#)));
    let ports = rule(r#""port": " 80 , 443""#).draft.unwrap().routing.rules.remove(0).when.port.clone().unwrap();
    assert_eq!(ports.ranges(), [(80, 80), (443, 443)]);
    // Xray takes ` udp` for a network that it does not know, and refuses it.
    let networks = rule(r#""network": "tcp, udp""#);
    let read = networks.draft.as_ref().and_then(|draft| draft.routing.rules.first()?.when.network);
    assert!(networks.failed() || read.is_some_and(|read| !read.udp), "{:?}", told(&networks));
}

#[test]
fn trap_3_a_bare_name_is_a_keyword_in_rules_and_a_whole_name_in_hosts() {
    use crate::model::matcher::DomainRule;
    let draft = draft(&with(
        r#", "routing": {"rules": [{"domain": ["bare.example"], "outboundTag": "o"}]},
            "dns": {"hosts": {"bare.example": "192.0.2.1"}, "servers": [{"address": "192.0.2.2", "domains": ["bare.example"]}]}"#,
    ));
    let dns = draft.dns.unwrap();
    let keyword = DomainRule::Keyword("bare.example".into());
    assert_eq!(draft.routing.rules[0].when.domain.0, std::slice::from_ref(&keyword));
    assert_eq!(dns.servers[0].spec.domains.0, [keyword]);
    assert!(dns.hosts.0.iter().any(|(rule, _)| *rule == DomainRule::Full("bare.example".into())));
}

#[test]
fn trap_14_port_0_and_the_empty_text_are_conditions_that_never_hold() {
    for written in ["0", "\"\""] {
        let rule = format!(r#", "routing": {{"rules": [{{"port": {written}, "outboundTag": "o"}}]}}"#);
        let port = draft(&with(&rule)).routing.rules.remove(0).when.port.clone();
        // Nothing is headed for port 0.
        assert!(port.is_some_and(|port| !(1..=u16::MAX).any(|some| port.contains(some))), "{written}");
    }
}

#[test]
fn trap_11_durations_need_units() {
    let loaded = json(&with(r#", "observatory": {"subjectSelector": ["a"], "probeInterval": 60}"#));
    assert!(loaded.failed() && told(&loaded)[0].contains("invalid duration: 60"), "{:?}", told(&loaded));
}

#[test]
fn trap_12_lists_must_be_lists() {
    for section in [
        r#", "api": {"tag": "api", "services": "StatsService"}"#,
        r#", "observatory": {"subjectSelector": "a"}"#,
        r#", "dns": {"servers": "1.1.1.1"}"#,
    ] {
        assert!(json(&with(section)).failed(), "{section}");
    }
}

#[test]
fn trap_13_log_defaults() {
    let none = draft("{}").log;
    assert_eq!((none.level, none.access), (Level::Warning, Sink::Off));
    let empty = draft(r#"{"log": {}}"#).log;
    assert_eq!((empty.level, empty.access), (Level::Warning, Sink::Stdout));
    let odd = json(r#"{"log": {"loglevel": "loud", "access": "none"}}"#);
    assert_eq!(odd.problems[0].severity, Severity::Warning);
    assert_eq!(odd.draft.unwrap().log.access, Sink::Off);
    assert!(json(r#"{"log": {"maskAddress": "/12"}}"#).failed());
}

#[test]
fn trap_16_addresses_of_dns_servers() {
    let servers = |list: &str| json(&with(&format!(r#", "dns": {{"servers": [{list}]}}"#)));
    assert!(
        servers(r#""1.1.1.1", "localhost", "https+local://1.1.1.1/dns-query", "2606:4700::1111""#).problems.is_empty()
    );
    assert!(servers(r#""1.1.1.1:53""#).failed());
    assert!(servers("null").failed());
    // Of ours; Xray takes them for names.
    assert!(servers(r#""tls://1.1.1.1", "tls+local://dns.example", "udp://1.1.1.1:53""#).problems.is_empty());
    let odd = servers(r#"{"address": "sdns://AQcAAAAA"}"#);
    assert!(odd.failed() && odd.problems[0].path == "dns.servers[0].address", "{:?}", told(&odd));
}

#[test]
fn removed_and_foreign_sections_are_read_with_a_warning() {
    let body = r#"{"outbounds": [{"protocol": "freedom", "tag": "a"}, {"protocol": "socks", "tag": "b",
            "settings": {"servers": [{"address": "h", "port": 1}]}, "streamSettings": {"network": "ws"}}],
        "transport": {"wsSettings": {"path": "/x"}, "kcpSettings": {"mtu": 1350}},
        "reverse": {"portals": [{"tag": "p", "domain": "d"}]},
        "multiObservatory": {"observers": [{"type": "burst", "tag": "o", "settings": {"subjectSelector": ["a"], "pingConfig": {}}}]},
        "dns": {"cacheStrategy": "disabled", "fallbackStrategy": "disabledIfAnyMatch",
            "servers": [{"address": "1.1.1.1", "cacheStrategy": "disabled", "fallbackStrategy": "disabled"}],
            "fakedns": {"ipPool": "198.18.0.0/15", "poolSize": 65535}}}"#;
    let draft = draft(body);
    let dns = draft.dns.clone().unwrap();
    assert!(dns.disable_cache && dns.disable_fallback_if_match && !dns.disable_fallback);
    assert_eq!((dns.servers[0].spec.disable_cache, dns.servers[0].spec.skip_fallback), (Some(true), true));
    assert_eq!(draft.fake_dns.0.len(), 1);
    assert_eq!(draft.services.burst_observatories[0].tag.as_str(), "o");
    assert_eq!(draft.services.reverse.as_ref().unwrap().portals.len(), 1);
}

#[test]
fn bounds_of_services_are_checked() {
    for (section, word) in [
        (r#", "api": {}"#, "API tag can't be empty."),
        (r#", "metrics": {}"#, "Metrics must have a tag or listen address."),
        (r#", "version": {"min": "99.1"}"#, "must be run on version 99.1 or higher"),
        (r#", "version": {"max": "1.8.24"}"#, "must be run on version 1.8.24 or lower"),
        (r#", "burstObservatory": {"subjectSelector": ["a"]}"#, "requires a valid pingConfig"),
        (r#", "geodata": {"cron": "often"}"#, "invalid cron"),
        (r#", "geodata": {"assets": [{"url": "http://x/y", "file": "y"}]}"#, "not an https:// address"),
        (r#", "policy": {"levels": {"-1": {}}}"#, "expected a user level"),
        (r#", "fakeDns": {"ipPool": "10.0.0.0/30", "poolSize": 100}"#, "LRU size is bigger than subnet size"),
        (r#", "fakeDns": {"ipPool": "10.0.0.0/30", "poolSize": 4}"#, "LRU size is bigger than subnet size"),
        (r#", "fakeDns": [{"ipPool": "10.0.0.0/30"}]"#, "a pool needs both `ipPool` and `poolSize`"),
        (r#", "fakeDns": {"poolSize": 3}"#, "a pool needs both `ipPool` and `poolSize`"),
        (r#", "fakeDns": "10.0.0.1/32""#, "a network of more than one address"),
        (r#", "dns": {"fakedns": {"ipPool": "fc00::/120", "poolSize": 256}}"#, "LRU size is bigger than subnet size"),
        (
            r#", "dns": {"servers": [{"address": "1.1.1.1", "fakedns": [{"poolSize": 1}]}]}"#,
            "a pool needs both `ipPool` and `poolSize`",
        ),
    ] {
        let loaded = json(&with(section));
        assert!(loaded.failed() && told(&loaded).iter().any(|t| t.contains(word)), "{section}: {:?}", told(&loaded));
    }
    let policy = draft(&with(r#", "policy": {"levels": {"00": {"connIdle": 7}, "1": null}}"#)).policy;
    assert_eq!(policy.level(0).conn_idle.as_secs(), 7);
}

#[test]
fn pools_of_fake_addresses_have_several_forms() {
    let pools = |section: &str| {
        let draft = draft(&with(section));
        let config = link(&draft, Dialect::Json).config.unwrap();
        let one = |pool: &FakePool| format!("{} {}", pool.ip_pool.unwrap(), pool.pool_size);
        config.fake_dns.0.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    for (section, want) in [
        (r#", "fakeDns": {"ipPool": "10.0.0.0/30", "poolSize": 3}"#, "10.0.0.0/30 3"),
        (r#", "fakeDns": [{"ipPool": "10.1.2.3/8", "poolSize": 7}, "fc00::/18"]"#, "10.0.0.0/8 7, fc00::/18 65535"),
        (r#", "dns": {"fakedns": ["10.0.0.0/24"]}"#, "10.0.0.0/24 255"),
        (r#", "dns": {"fakedns": true, "queryStrategy": "UseIPv6"}"#, "fc00::/18 65535"),
        (r#", "dns": {"servers": ["fakedns"]}"#, "198.18.0.0/15 32768, fc00::/18 32768"),
        (r#", "dns": {"servers": ["FakeDNS"], "queryStrategy": "use-ip4"}"#, "198.18.0.0/15 65535"),
        (r#", "dns": {"servers": ["fakedns"]}, "fakeDns": "10.0.0.0/30""#, "10.0.0.0/30 3"),
        (r#", "dns": {"servers": [{"address": "1.1.1.1", "fakedns": true}]}"#, "198.18.0.0/15 32768, fc00::/18 32768"),
        (r#", "dns": {"servers": [{"address": "1.1.1.1", "fakedns": "10.0.0.0/30"}]}"#, ""),
        (r#", "dns": {"servers": ["1.1.1.1"]}"#, ""),
    ] {
        assert_eq!(pools(section), want, "{section}");
    }
}

#[test]
fn fake_addresses_that_nobody_understands_are_told_of() {
    let warned = |sniffing: &str| {
        let text = format!(
            r#"{{"dns": {{"servers": ["1.1.1.1", "fakedns"]}}, "outbounds": [{{"protocol": "freedom"}}],
                "inbounds": [{{"port": 1, "protocol": "socks", "sniffing": {sniffing}}}]}}"#
        );
        let mut loaded = json(&text);
        loaded.link();
        told(&loaded).iter().any(|told| told.contains("no inbound sniffs with `fakedns`"))
    };
    assert!(warned(r#"{"enabled": true, "destOverride": ["http"]}"#));
    assert!(warned(r#"{"enabled": false, "destOverride": ["fakedns"]}"#));
    assert!(!warned(r#"{"enabled": true, "destOverride": ["fakedns+others"]}"#));
}

#[test]
fn our_toml_is_read_as_ours_and_xrays_keys_as_xrays() {
    let ours = load_all(&[("c.toml", "[[inbound]]\nprotocol = \"socks\"\nport = 1\n")], false);
    assert!(ours.draft.is_some() && ours.dialect == Dialect::Toml, "{:?}", told(&ours));
    let xrays = load_all(&[("c.toml", "[[inbounds]]\nprotocol = \"socks\"\nport = 1\n")], false);
    assert!(xrays.draft.is_some() && xrays.dialect == Dialect::Json);
    assert!(told(&xrays)[0].contains("has the keys of Xray's schema"));
    let unknown = load_all(&[("c.toml", "[[inbound]]\nprotocol = \"socks\"\nport = 1\nlisten_on = 3\n")], false);
    assert!(unknown.failed());
}

#[cfg(feature = "yaml")]
#[test]
fn yaml_is_read_as_xray_reads_it() {
    let loaded =
        load_all(&[("c.yaml", "inbounds:\n  - protocol: socks\n    port: 1080\n    settings: {udp: yes}\n")], false);
    assert!(loaded.draft.is_some(), "{:?}", told(&loaded));
}

#[test]
fn what_cannot_be_loaded_says_so() {
    let none = load(vec![], &Options { strict: false, env: &|_| None });
    assert!(none.failed());
    assert!(load_all(&[("c.pb", "x")], false).failed());
    let ours = ("a.toml", "[[inbound]]\nprotocol = \"socks\"\nport = 1\n");
    assert!(load_all(&[ours, ("b.toml", ours.1)], false).failed());
    assert!(load_all(&[ours, ("b.json", "{}")], false).failed());
    let large = Source { name: "disk.img".into(), bytes: vec![b' '; super::super::text::LIMIT + 1], format: None };
    let loaded = load(vec![large], &Options { strict: false, env: &|_| None });
    assert!(told(&loaded)[0].contains("too large"), "{:?}", told(&loaded));
}

#[test]
fn strict_json_is_xrays_switch() {
    let env = |name: &str| (name == "XRAY_JSON_STRICT").then(|| "true".to_owned());
    let source = |body: &str| Source { name: "c.json".into(), bytes: body.into(), format: None };
    assert!(load(vec![source("{} // x")], &Options { strict: false, env: &env }).failed());
    assert!(!load(vec![source("{}")], &Options { strict: false, env: &env }).failed());
}

#[test]
fn every_file_is_read_before_anything_is_refused() {
    let loaded = load_all(&[("a.json", "{\"a\" 1}"), ("b.json", "[]")], false);
    let files: Vec<_> = loaded.problems.iter().map(|p| p.span.unwrap().file).collect();
    assert_eq!(files, [0, 1]);
}

#[test]
fn what_linking_finds_is_told_beside_what_reading_found() {
    let rules = |tag: &str| {
        format!(r#", "log": {{"loglevel": 5}}, "routing": {{"rules": [{{"port": 1, "outboundTag": "{tag}"}}]}}"#)
    };
    let loaded = json(&with(&rules("dirct")));
    assert_eq!(
        told(&loaded),
        [
            "log.loglevel: invalid type: integer `5`, expected a string",
            "routing.rules[0].outboundTag: there is no outbound dirct: flows that meet it will be closed",
        ]
    );
    // An outbound that could not be read may be the one that is meant.
    let broken = r#"{"outbounds": [{"tag": "dirct", "protocol": 5}], "routing": {"rules": [{"port": 1, "outboundTag": "dirct"}]}}"#;
    assert_eq!(told(&json(broken)).len(), 1, "{:?}", told(&json(broken)));
}

#[test]
fn secrets_stay_out_of_reports() {
    let body = r#"{"inbounds": [{"port": 1, "protocol": "socks", "settings": {"auth": "password",
        "accounts": [{"user": "alice77", "pass": 12345678, "x": 1}]}}],
        "outbounds": [{"protocol": "socks", "settings": {"servers": [{"address": "h", "port": "x",
        "users": [{"user": "bob4711", "pass": "hunter2"}]}]}}]}"#;
    let mut loaded = json(body);
    loaded.link();
    let report = render(&loaded.sources, &loaded.problems, Colour::Plain);
    for secret in ["alice77", "12345678", "bob4711", "hunter2"] {
        assert!(!report.contains(secret), "{report}");
    }
}

/// Something of every section.
const MUCH: &str = r##"{ // c
    "log": {"access": "none", "loglevel": "info", "maskAddress": "half"}, "env": {"A": "b"}, "stats": {},
    "api": {"tag": "api", "services": ["StatsService"]}, "metrics": {"tag": "m"}, "version": {"min": "1.8"},
    "policy": {"levels": {"0": {"connIdle": 5}}, "system": {"statsInboundUplink": true}},
    "dns": {"hosts": {"a": ["1.1.1.1"], "domain:b": "#3"}, "servers": ["1.1.1.1", {"address": "tcp://h", "domains": "a,b"}],
            "queryStrategy": "UseIPv4"}, "fakeDns": [{"ipPool": "198.18.0.0/15", "poolSize": 9}],
    "inbounds": [{"tag": "i", "port": "1-3", "protocol": "mixed", "settings": {"auth": "password",
            "accounts": [{"user": "u", "pass": "p"}]}, "sniffing": {"enabled": true, "destOverride": ["tls"]}}],
    "outbound": {"protocol": "direct", "tag": "d"}, "outbounds": [{"tag": "s", "protocol": "socks", "settings":
            {"servers": [{"address": "h", "port": 1, "users": []}]}, "streamSettings": {"network": "tcp"},
            "mux": {"enabled": true, "concurrency": -1}}],
    "observatory": {"subjectSelector": ["s"], "probeInterval": "1m30s"},
    "burstObservatory": {"subjectSelector": ["s"], "pingConfig": {"interval": "1m", "sampling": 3}},
    "routing": {"domainStrategy": "IPIfNonMatch", "rules": [{"domain": ["regexp:a+", "full:b"], "ip": "!10.0.0.0/8",
            "port": "1,2-3", "network": "tcp,udp", "attrs": {":method": "GET"}, "balancerTag": "b"}],
        "balancers": [{"tag": "b", "selector": ["s"], "strategy": "optimal", "optimalSettings": {"timeout": 5,
            "weights": [{"tag": "s", "weight": 2}]}}]}
}"##;

#[test]
fn something_of_every_section_is_read() {
    draft(MUCH);
}

#[test]
fn an_empty_log_level_is_none_and_a_file_called_none_is_told() {
    let loaded = json(&with(r#", "log": {"loglevel": "", "access": "None"}"#));
    assert_eq!(told(&loaded), ["log.access: `None` is the name of a file here; `none` writes nothing"]);
    let log = loaded.draft.unwrap().log;
    assert_eq!((log.level, log.access), (Level::Warning, Sink::File("None".into())));
}

#[test]
fn a_bare_word_of_yaml_that_became_a_boolean_is_explained() {
    let loaded = load_all(&[("c.yaml", "outbounds:\n- protocol: freedom\n  tag: y\n")], false);
    let report = render(&loaded.sources, &loaded.problems, Colour::Plain);
    assert!(report.contains("a bare `y` is a boolean in YAML; for a text write \"y\""), "{report}");
}

#[test]
fn webhooks_and_misspelt_passwords_stay_out_of_reports() {
    let mut loaded = json(&with(
        r#", "routing": {"rules": [{"port": 1, "outboundTag": "x",
            "webhook": {"url": "@s:/p?token=hunter2", "headers": {"Authorization": "Bearer hunter3"}}}]},
            "policy": {"pasword": "hunter4"}"#,
    ));
    loaded.link();
    let report = render(&loaded.sources, &loaded.problems, Colour::Plain);
    assert!(report.contains("webhook") && report.contains("pasword") && !report.contains("hunter"), "{report}");
}

#[test]
fn another_language_under_the_name_of_json_is_named_once() {
    for (body, what) in [
        ("# x\ninbounds: []\noutbounds: []\n", "this is YAML, not JSON"),
        ("[[inbound]]\nport = 1\n", "this is TOML, not JSON"),
        ("log.level = \"debug\"\n", "this is TOML, not JSON"),
        ("<html><a href=x></html>", "this is a web page, not a configuration"),
    ] {
        assert_eq!(told(&json(body)), [format!(": {what}")], "{body}");
    }
    assert!(told(&json("[]"))[0].contains("a configuration is an object"));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(600))]

    #[test]
    fn any_damage_is_read_or_refused_and_can_be_shown(
        cuts in proptest::collection::vec((0..MUCH.len(), 0..24usize, 0..14usize), 1..4),
        toml in proptest::bool::ANY,
    ) {
        let words = ["", "{", "}", "[", "]", ",", ":", "null", "-1", "\"é\"", "\"\"", "99999999999999999999", "1.5", "\n"];
        let mut body = MUCH.as_bytes().to_vec();
        for (at, len, word) in cuts {
            let at = at.min(body.len());
            let end = (at + len).min(body.len());
            body.splice(at..end, words[word].bytes());
        }
        let env = |_: &str| None;
        let format = toml.then_some(Format::Toml);
        let source = Source { name: "c.json".into(), bytes: body, format };
        let mut loaded = load(vec![source], &Options { strict: false, env: &env });
        proptest::prop_assert!(loaded.draft.is_some() || loaded.failed());
        loaded.link();
        for problem in &loaded.problems {
            let _ = headline(&loaded.sources, problem);
        }
        let _ = render(&loaded.sources, &loaded.problems, Colour::Ansi);
    }
}
