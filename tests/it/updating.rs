//! Geodata files that are fetched anew: by the verb and at the times of a schedule, by way of the config's own outbounds.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

use etemenanki::geo::{GeoSite, SiteKind, write_sites};
use serde_json::{Value, json};

use crate::support::{Authority, Certificate, Engine, Nginx, PATIENCE, Peer, curl, free_port, microsocks, until};

/// A file with one list, `blocked`, of one name.
fn blocking(name: &str) -> Vec<u8> {
    write_sites(&[GeoSite { code: "BLOCKED".into(), names: vec![(SiteKind::Full, name.to_owned(), vec![])] }])
}

/// A server of files over TLS, whose authority an engine may be told to trust, and a proxy to reach it by.
struct Scene {
    authority: Authority,
    _certificate: Certificate,
    nginx: Nginx,
    port: u16,
    proxy: Peer,
}

impl Scene {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let authority = Authority::new();
        let certificate = authority.issue("lists.example");
        let port = free_port();
        let (cert, key) = (certificate.cert(), certificate.key());
        let directives = format!(
            "listen 127.0.0.1:{port} ssl; ssl_certificate {}; ssl_certificate_key {}; \
             location /moved/ {{ return 302 https://127.0.0.1:{port}/geosite.dat; }} \
             location /plain/ {{ return 302 http://$host/geosite.dat; }}",
            cert.display(),
            key.display()
        );
        let nginx = Nginx::start(files, &directives);
        Self { authority, _certificate: certificate, nginx, port, proxy: microsocks(None) }
    }

    fn url(&self, path: &str) -> String {
        format!("https://127.0.0.1:{}/{path}", self.port)
    }

    /// All goes into a hole, except by the outbound of which the section says that files come by it.
    fn config(&self, geodata: &Value) -> Value {
        json!({
            "outbounds": [
                { "tag": "hole", "protocol": "blackhole" },
                { "tag": "proxy", "protocol": "socks", "settings": {
                    "servers": [{ "address": "127.0.0.1", "port": self.proxy.addr.port() }] } },
            ],
            "routing": { "rules": [{ "domain": ["geosite:blocked"], "outboundTag": "hole" }] },
            "geodata": geodata,
        })
    }

    /// Runs the verb in a folder that is the asset directory: status, output, messages.
    fn update(&self, folder: &Path, args: &[&str]) -> (Option<i32>, String, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_etemenanki"))
            .args(["geodata", "update"])
            .args(args)
            .current_dir(folder)
            .env("XRAY_LOCATION_ASSET", folder)
            .env("SSL_CERT_FILE", self.authority.cert())
            .env("NO_COLOR", "1")
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    }
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(dir).unwrap().map(|one| one.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn files_come_by_the_outbound_that_is_named_and_are_put_in_place() {
    let (first, own) = (blocking("a.example"), blocking("b.example"));
    let scene = Scene::new(&[("geosite.dat", &first), ("own.dat", &own)]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let assets = json!([
        { "url": scene.url("moved/geosite.dat"), "file": "geosite.dat" },
        { "url": scene.url("own.dat"), "file": "own.dat" },
    ]);
    let config = scene.config(&json!({ "outbound": "proxy", "assets": assets }));
    std::fs::write(path.join("c.json"), config.to_string()).unwrap();

    // Neither file is there yet, though a rule names a list of one.
    let (status, out, err) = scene.update(path, &["c.json"]);
    assert_eq!(status, Some(0), "{out}{err}");
    assert!(err.contains("geosite.dat lacks lists that the config names"), "{err}");
    assert!(err.contains(&format!("own.dat: 1 lists, {} bytes from 127.0.0.1:{}", own.len(), scene.port)), "{err}");
    assert_eq!(out.matches(": updated").count(), 2, "{out}");
    assert_eq!(names(path), ["c.json", "geosite.dat", "own.dat"]);
    assert_eq!(std::fs::read(path.join("geosite.dat")).unwrap(), first);

    let (status, out, err) = scene.update(path, &["c.json", "--json"]);
    let told: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((status, told.len()), (Some(0), 2), "{err}");
    assert!(told.iter().all(|one| one["result"] == "unchanged"), "{out}");

    // As the rules say, all goes into the hole.
    let config = scene.config(&json!({ "assets": assets }));
    std::fs::write(path.join("c.json"), config.to_string()).unwrap();
    std::fs::write(path.join("geosite.dat"), blocking("old.example")).unwrap();
    let (status, out, err) = scene.update(path, &["c.json"]);
    assert_eq!((status, out.as_str()), (Some(1), ""), "{err}");
    assert!(err.contains(&format!("geosite.dat from 127.0.0.1:{}: ", scene.port)), "{err}");
    assert_eq!(std::fs::read(path.join("geosite.dat")).unwrap(), blocking("old.example"));
    let (status, _, err) = scene.update(path, &["c.json", "--outbound", "proxy"]);
    assert_eq!(status, Some(0), "{err}");
    let (status, _, err) = scene.update(path, &["c.json", "--outbound", "nobody"]);
    assert_eq!(status, Some(1));
    assert!(err.contains("there is no outbound or balancer nobody"), "{err}");
    assert_eq!(names(path), ["c.json", "geosite.dat", "own.dat"]);
}

#[test]
fn what_is_no_file_of_lists_or_lacks_one_that_is_named_leaves_all_as_it_is() {
    let good = blocking("a.example");
    let other = write_sites(&[GeoSite { code: "OTHER".into(), names: vec![(SiteKind::Full, "a.b".into(), vec![])] }]);
    let half = &good[..good.len() - 3];
    let files: [(&str, &[u8]); 4] =
        [("geosite.dat", &good), ("page", b"<html>"), ("half.dat", half), ("other.dat", &other)];
    let scene = Scene::new(&files);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::write(path.join("c.json"), scene.config(&json!({ "outbound": "proxy" })).to_string()).unwrap();
    let before = blocking("old.example");
    std::fs::write(path.join("geosite.dat"), &before).unwrap();
    let own = format!("own.dat={}", scene.url("geosite.dat"));
    for (from, said) in [
        ("page", "this is no file of lists"),
        ("half.dat", "this is no file of lists"),
        ("absent", "status 404"),
        ("plain/", "is not asked without https"),
        ("other.dat", "there is no list blocked in it"),
    ] {
        let file = format!("geosite.dat={}", scene.url(from));
        let (status, out, err) = scene.update(path, &["c.json", "--file", &own, "--file", &file]);
        assert_eq!((status, out.as_str()), (Some(1), ""), "{from}: {err}");
        assert!(err.contains(said), "{from}: {err}");
        assert_eq!(names(path), ["c.json", "geosite.dat"], "{from}");
        assert_eq!(std::fs::read(path.join("geosite.dat")).unwrap(), before, "{from}");
    }
    // Without a config nothing is tried, and files come directly.
    let file = format!("geosite.dat={}", scene.url("other.dat"));
    let (status, _, err) = scene.update(path, &["--file", &file]);
    assert_eq!(status, Some(0), "{err}");
    assert_eq!(std::fs::read(path.join("geosite.dat")).unwrap(), other);
    for bad in ["own.dat", "own.dat=http://127.0.0.1/", "../own.dat=https://a.example/"] {
        assert_eq!(scene.update(path, &["--file", bad]).0, Some(2), "{bad}");
    }
}

#[test]
fn a_running_engine_fetches_files_at_the_times_of_its_schedule() {
    let scene = Scene::new(&[("geosite.dat", &blocking("localhost")), ("page", b"page")]);
    let door = free_port();
    let assets = json!([{ "url": scene.url("geosite.dat"), "file": "geosite.dat" }]);
    let mut config = scene.config(&json!({ "cron": "@every 2s", "outbound": "proxy", "assets": assets }));
    config["log"] = json!({ "loglevel": "info" });
    config["inbounds"] = json!([{ "protocol": "socks", "listen": "127.0.0.1", "port": door }]);
    let rules = config["routing"]["rules"].as_array_mut().unwrap();
    rules.push(json!({ "network": "tcp", "outboundTag": "proxy" }));
    let text = String::from_utf8(blocking("other.example")).unwrap();
    let files = [("config.json", &*config.to_string()), ("geosite.dat", &text)];
    let engine = Engine::trusting_with(&scene.authority.cert(), "config.json", &files, &[door]);
    let proxy = format!("socks5h://127.0.0.1:{door}");
    let url = scene.nginx.url("page").replace("127.0.0.1", "localhost");
    let fetched = || curl(&["--proxy", &proxy, "--max-time", "5", &url]).text() == "page";
    assert!(fetched(), "{}", engine.output());
    engine.process.wait_to_say("config reload: geodata lists changed");
    assert!(!fetched(), "{}", engine.output());
    // From now on they are the same, and nothing is said of that but in passing.
    let again = || (engine.output().matches("geosite.dat: unchanged").count() > 0).then_some(());
    assert!(until(PATIENCE, again).is_some(), "{}", engine.output());
    assert!(!fetched(), "{}", engine.output());
    assert_eq!(engine.output().matches("config reload: geodata lists changed").count(), 1, "{}", engine.output());
    let left = names(engine.process.folder.path());
    assert!(left.iter().all(|name| !name.starts_with('.')), "{left:?}");
}
