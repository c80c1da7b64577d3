//! Geodata files as people use them: made from text, looked into, named by rules, and explained.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use etemenanki::frontend::{Options, Source, load};
use etemenanki::geo::{Assets, GeoIp, GeoSite, Scan, SiteKind, Wanted, write_networks, write_sites};
use etemenanki::model::lists::mentions;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Engine, Nginx, PATIENCE, curl, free_port, until};

#[path = "../../benches/geodata/pair.rs"]
mod pair;

/// The pair that lies in the repository.
fn geo() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/geo")
}

/// Runs the program with our pair as its assets: exit status, standard output, standard error.
fn told(args: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_etemenanki"))
        .args(args)
        .env("XRAY_LOCATION_ASSET", geo())
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_pair_in_the_repository_is_what_its_texts_become() {
    let folder = tempfile::tempdir().unwrap();
    for (texts, name) in [("names", "geosite.dat"), ("networks", "geoip.dat")] {
        let mut files: Vec<PathBuf> =
            std::fs::read_dir(geo().join(texts)).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        let made = folder.path().join(name);
        let mut args = vec!["geodata", "build", "-o", made.to_str().unwrap()];
        args.extend(files.iter().map(|file| file.to_str().unwrap()));
        let (status, _, err) = told(&args);
        assert_eq!(status, Some(0), "{err}");
        let (made, kept) = (std::fs::read(&made).unwrap(), std::fs::read(geo().join(name)).unwrap());
        assert!(made == kept, "testdata/geo/{name} is not what its texts become; make it with `geodata build`");
    }
}

/// Of 300 000 names and 400 000 networks only those of the ten lists that are named are decoded, and only they are held.
#[test]
fn a_full_size_pair_costs_what_is_named_of_it() {
    let folder = tempfile::tempdir().unwrap();
    pair::write(folder.path()).unwrap();
    let sizes = |file: &str| {
        let mut scan = Scan::new(std::fs::File::open(folder.path().join(file)).unwrap()).unwrap();
        let mut sizes = BTreeMap::new();
        while let Some(code) = scan.next_entry().unwrap() {
            sizes.insert(code.name, code.size);
        }
        sizes
    };
    let (sites, countries) = (sizes("geosite.dat"), sizes("geoip.dat"));
    assert_eq!((sites.len(), countries.len()), (pair::LISTS, pair::COUNTRIES));
    let site = |code: &&str| sites[&code.split('@').next().unwrap().to_uppercase()];
    let country = |code: &&str| countries[&code.trim_start_matches('!').to_uppercase()];
    let named: u64 = pair::SITES.iter().map(site).sum::<u64>() + pair::IPS.iter().map(country).sum::<u64>();
    let all: u64 = sites.values().chain(countries.values()).sum();

    let port = free_port();
    let config = pair::config(port);
    let source = Source { name: "config.json".into(), bytes: config.clone().into(), format: None };
    let loaded = load(vec![source], &Options { strict: true, env: &|_| None });
    let draft = loaded.draft.unwrap();
    let assets = Assets::new([folder.path().to_path_buf()]);
    let found = assets.load(&Wanted::of(&mentions(&draft)), None);
    assert!(found.faults.is_empty(), "{:?}", found.faults);
    assert_eq!(found.decoded, named, "of {all} bytes");
    assert!(found.decoded < all / 3);

    // What a whole engine holds of it: its own memory, without the pages of a program that was not optimized.
    let engine = Engine::with_assets(folder.path(), &config, &[port]);
    let status = std::fs::read_to_string(format!("/proc/{}/status", engine.process.pid())).unwrap();
    let anonymous = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    let kib: u64 = anonymous.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kib < 32 << 10, "{kib} KiB");
}

#[test]
fn files_are_looked_into() {
    let (status, out, err) = told(&["geodata", "list"]);
    assert_eq!(status, Some(0), "{err}");
    assert!(out.contains("geosite.dat: 4 lists, 9 entries") && out.contains("geoip.dat: 3 lists, 9 entries"), "{out}");
    let (_, out, _) = told(&["geodata", "list", "geosite.dat", "--json"]);
    let lists: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let shops = lists.iter().find(|list| list["list"] == "shops").unwrap();
    assert_eq!((&shops["entries"], &shops["holds"]), (&json!(5), &json!("names")));
    assert_eq!(shops["attributes"], json!({ "cn": 2, "ads": 1 }));

    let (_, out, _) = told(&["geodata", "show", "geosite:shops@CN"]);
    assert_eq!(out, "full:www.market.example @cn\ndomain:pay.market.example @cn @ads\n");
    let (_, out, _) = told(&["geodata", "show", "ext:geoip.dat:cn"]);
    assert_eq!(out, "198.51.100.0/24\n2001:db8:86::/48\n");
    let (status, out, err) = told(&["geodata", "show", "geosite:shop"]);
    assert_eq!((status, out.as_str()), (Some(1), ""));
    assert!(err.contains("there is no list shop in it; did you mean shops?"), "{err}");

    let (status, out, _) = told(&["geodata", "test", "Tracker.Shop.example"]);
    let lines: Vec<Vec<&str>> = out.lines().map(|line| line.split_whitespace().collect()).collect();
    let wanted = [["geosite:ads", "full:tracker.shop.example"], ["geosite:shops", "domain:shop.example"]];
    assert_eq!((status, lines), (Some(0), wanted.map(|one| one.to_vec()).to_vec()));
    assert_eq!(told(&["geodata", "test", "2001:db8:86::7"]).1.split_whitespace().last(), Some("2001:db8:86::/48"));
    assert_eq!(told(&["geodata", "test", "nowhere.example"]).0, Some(1));
}

#[test]
fn a_file_that_is_none_is_named_with_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let whole = std::fs::read(geo().join("geosite.dat")).unwrap();
    let half = folder.path().join("half.dat");
    std::fs::write(&half, &whole[..whole.len() - 3]).unwrap();
    for verb in [&["geodata", "list"][..], &["geodata", "test", "a.example", "--file"]] {
        let args: Vec<&str> = verb.iter().copied().chain(half.to_str()).collect();
        let (status, _, err) = told(&args);
        assert_eq!(status, Some(1), "{err}");
        assert!(err.contains("half.dat: "), "{err}");
    }
}

/// Rules by lists, the strategy that looks at addresses, and names that the config itself resolves.
fn config(folder: &Path) -> PathBuf {
    let config = json!({
        "dns": { "hosts": { "domain:abroad.example": "203.0.113.9", "full:home.example": "198.51.100.7" } },
        "inbounds": [{ "tag": "in", "protocol": "socks", "listen": "127.0.0.1", "port": 0 }],
        "outbounds": [
            { "tag": "first", "protocol": "blackhole" },
            { "tag": "block", "protocol": "blackhole" },
            { "tag": "cn", "protocol": "blackhole" },
            { "tag": "shops", "protocol": "freedom" },
            { "tag": "four", "protocol": "blackhole" }
        ],
        "routing": {
            "domainStrategy": "IPIfNonMatch",
            "balancers": [{ "tag": "pool", "selector": ["shops"] }],
            "rules": [
                { "ruleTag": "ads", "domain": ["geosite:shops@ads", "geosite:ads"], "outboundTag": "block" },
                { "ruleTag": "china", "domain": ["geosite:cn"], "outboundTag": "cn" },
                { "ruleTag": "shops", "domain": ["geosite:shops"], "port": "443", "balancerTag": "pool" },
                { "ruleTag": "china-ip", "ip": ["geoip:cn"], "outboundTag": "cn" },
                { "ruleTag": "not-four", "ip": ["geoip:!four", "geoip:!private"], "port": "7000", "outboundTag": "four" },
                { "ruleTag": "lost", "inboundTag": ["other"], "outboundTag": "nobody" }
            ]
        }
    });
    let path = folder.join("c.json");
    std::fs::write(&path, config.to_string()).unwrap();
    path
}

fn route(config: &Path, more: &[&str]) -> (Option<i32>, Vec<Value>) {
    let mut args = vec!["route", config.to_str().unwrap(), "--json", "--offline"];
    args.extend(more);
    let (status, out, err) = told(&args);
    let lines = out.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line} {err}")));
    (status, lines.collect())
}

#[test]
fn rules_by_lists_lead_where_the_lists_say() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path());
    let cases = [
        ("pay.market.example:443", "ads", "block"),
        ("x.ads.example:80", "ads", "block"),
        ("www.market.example:443", "shops", "shops"),
        ("sale7.anywhere.example:443", "shops", "shops"),
        ("WWW.Example.CN:80", "china", "cn"),
        ("home.example:80", "china-ip", "cn"),
        ("198.51.100.200:1", "china-ip", "cn"),
        ("[2001:db8:86::1]:1", "china-ip", "cn"),
        ("192.0.2.1:7000", "not-four", "four"),
    ];
    let targets: String = cases.iter().map(|case| format!("{} # {}\n\n", case.0, case.1)).collect();
    let batch = folder.path().join("targets.txt");
    std::fs::write(&batch, format!("# targets\n{targets}abroad.example:7000\n10.0.0.1:7000\n[2001:db8::1]:80\n"))
        .unwrap();
    let (status, told) = route(&config, &["--batch", batch.to_str().unwrap()]);
    assert_eq!((status, told.len()), (Some(0), cases.len() + 3));
    for ((target, rule, outbound), told) in cases.iter().zip(&told) {
        assert_eq!((&told["rule"], &told["outbound"]), (&json!(rule), &json!(outbound)), "{target}: {told}");
    }
    // Neither in a negated list, nor of a family that it does not know.
    for told in &told[cases.len()..] {
        assert_eq!((&told["rule"], &told["outbound"]), (&json!(null), &json!("first")), "{told}");
    }
    assert_eq!(told[5]["resolved"], json!({ "addresses": ["198.51.100.7"] }));
    assert_eq!(told[0]["resolved"], json!(null), "a rule by name takes it: nothing is resolved");
}

#[test]
fn an_explanation_names_what_held_and_what_each_earlier_rule_lacked() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path());
    let path = config.to_str().unwrap();
    let (status, out, err) = told(&["route", path, "--offline", "--target", "www.market.example:443"]);
    assert_eq!((status, err.as_str()), (Some(0), ""));
    let lines: Vec<&str> = out.lines().map(str::trim).collect();
    assert_eq!(
        lines,
        [
            "tcp www.market.example:443 from 127.0.0.1:0 by in",
            "ads    does not: domain: no entry holds www.market.example",
            "china  does not: domain: no entry holds www.market.example",
            "shops  takes it: port 443, domain: geosite:shops \u{2192} full:www.market.example",
            "-> balancer pool (random): member shops (the strategy's choice, nothing is measured)",
            "=> outbound shops",
        ]
    );
    let (_, out, _) = told(&["route", path, "--offline", "-t", "home.example:80"]);
    assert!(out.contains("shops     does not: port: 80 is not 443"), "{out}");
    assert!(out.contains("home.example is resolved: 198.51.100.7; the rules are asked once more"), "{out}");
    assert!(out.contains("china-ip  takes it: ip 198.51.100.7: geoip:cn \u{2192} 198.51.100.0/24"), "{out}");

    let (status, told) = route(&config, &["-t", "a.b:1", "--inbound", "other"]);
    assert_eq!((status, &told[0]["outbound"]), (Some(1), &json!(null)));
    assert!(told[0]["closed"].as_str().unwrap().contains("nobody"), "{}", told[0]);
}

#[test]
fn what_cannot_be_asked_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path());
    let path = config.to_str().unwrap();
    assert_eq!(told(&["route", path]).0, Some(2), "no target");
    assert_eq!(told(&["route", path, "-t", "nowhere"]).0, Some(2), "no port");
    let batch = folder.path().join("b");
    std::fs::write(&batch, "a.b:1\nnowhere\n").unwrap();
    let (status, out, err) = told(&["route", path, "--batch", batch.to_str().unwrap()]);
    assert_eq!((status, out.as_str()), (Some(2), ""));
    assert!(err.contains(":2: `nowhere` is no target: expected host:port"), "{err}");
}

#[test]
fn a_list_that_is_missing_is_told_at_its_word_with_the_nearest() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.json");
    let text = "{\n  \"outbounds\": [{ \"protocol\": \"freedom\", \"tag\": \"o\" }],\n  \"routing\": { \"rules\": [\n    \
                { \"domain\": [\"geosite:cn\", \"geosite:shosp\"], \"outboundTag\": \"o\" },\n    \
                { \"ip\": [\"ext:none.dat:x\"], \"outboundTag\": \"o\" }\n  ] }\n}";
    std::fs::write(&path, text).unwrap();
    for args in
        [&["route", path.to_str().unwrap(), "-t", "a.b:1"][..], &["run", "--test", "-c", path.to_str().unwrap()]]
    {
        let (status, out, err) = told(args);
        let all = out + &err;
        assert_eq!(status, Some(23), "{all}");
        assert!(all.contains("c.json:4:32"), "{all}");
        assert!(all.contains("there is no list shosp in it") && all.contains("did you mean shops?"), "{all}");
        assert!(all.contains("c.json:5:14") && all.contains("none.dat: there is no such geodata file in "), "{all}");
    }
}

/// The files of an engine that takes them anew when it is told to.
struct Files(PathBuf);

impl Files {
    fn names(name: &str) -> Vec<u8> {
        let names = vec![(SiteKind::Full, name.to_owned(), vec![])];
        write_sites(&[GeoSite { code: "BLOCKED".into(), names }])
    }

    fn networks(net: &str) -> Vec<u8> {
        write_networks(&[GeoIp { code: "DENIED".into(), nets: vec![net.parse().unwrap()] }])
    }

    fn write(&self, file: &str, bytes: &[u8]) {
        std::fs::write(self.0.join(file), bytes).unwrap();
    }
}

#[test]
fn a_list_that_changes_is_heard_of_at_a_hangup_though_the_config_is_the_same() {
    let (origin, door) = (Nginx::start(&[("page", b"page")], ""), free_port());
    let url = origin.url("page").replace("127.0.0.1", "localhost");
    let config = json!({
        "log": { "loglevel": "info" },
        "inbounds": [{ "tag": "in", "protocol": "socks", "listen": "127.0.0.1", "port": door }],
        "outbounds": [
            { "tag": "direct", "protocol": "freedom", "settings": {
                "domainStrategy": "ForceIPv4",
                "finalRules": [{ "action": "block", "ip": ["geoip:denied"] }, { "action": "allow" }],
            } },
            { "tag": "block", "protocol": "blackhole" },
        ],
        "routing": { "rules": [{ "domain": ["geosite:blocked"], "outboundTag": "block" }] },
    });
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (names, nets) = (text(Files::names("other.example")), text(Files::networks("10.0.0.0/8")));
    let files = [("config.json", &*config.to_string()), ("geosite.dat", &names), ("geoip.dat", &nets)];
    let engine = Engine::started_by(&["run", "-c", "config.json"], &files, b"", &[door]);
    let files = Files(engine.process.folder.path().to_path_buf());
    let proxy = format!("socks5h://127.0.0.1:{door}");
    let fetched = || curl(&["--proxy", &proxy, "--max-time", "5", &url]).text() == "page";
    assert!(fetched(), "{}", engine.output());
    for (told, file, bytes, passes) in [
        (1, "geoip.dat", Files::networks("127.0.0.0/8"), false),
        (2, "geoip.dat", Files::networks("10.0.0.0/8"), true),
        (3, "geosite.dat", Files::names("localhost"), false),
    ] {
        files.write(file, &bytes);
        engine.process.signal(Signal::HUP);
        let heard = || (engine.output().matches("config reload: geodata lists changed").count() == told).then_some(());
        assert!(until(PATIENCE, heard).is_some(), "{}", engine.output());
        assert_eq!(fetched(), passes, "{file}: {}", engine.output());
    }
    // A file that is none leaves everything as it is.
    files.write("geosite.dat", b"<html>");
    engine.process.signal(Signal::HUP);
    engine.process.wait_to_say("keeping current config");
    assert!(!fetched(), "{}", engine.output());
}
