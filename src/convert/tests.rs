//! Conversions as the command line asks for them.

use std::path::Path;

use super::args::{ConvertArgs, ReportForm};
use super::conversion::To;
use super::run::run;
use crate::frontend::Source;

const GOOD: &str = r#"{"inbounds": [{"protocol": "socks", "port": 1080, "listen": "127.0.0.1"}],
  "outbounds": [{"tag": "a", "protocol": "freedom"}],
  "routing": {"rules": [{"domain": ["a.example"], "outboundTag": "a"}]}}"#;
const LOSSY: &str = r#"{"outbounds": [{"protocol": "freedom", "sttings": {}}], "remarks": "x"}"#;

fn args(body: &str) -> ConvertArgs<'static> {
    let source = Source { name: "c.json".into(), bytes: body.as_bytes().to_vec(), format: None };
    ConvertArgs {
        sources: vec![source],
        output: None,
        check: false,
        strict: false,
        report: ReportForm::Summary,
        to: To::Toml,
        batch: None,
        force: false,
        colour: false,
        env: &|_| None,
    }
}

fn told(args: ConvertArgs<'_>) -> (u8, String, String) {
    let (mut out, mut err) = (vec![], vec![]);
    let status = run(args, &mut out, &mut err);
    (status, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
}

fn file(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn the_result_goes_to_out_and_words_go_to_err() {
    let (status, out, err) = told(args(GOOD));
    assert_eq!(status, 0, "{err}");
    assert!(out.starts_with("[log]\n") && out.contains("[[route.rule]]"), "{out}");
    assert!(err.starts_with("c.json: 7 keys: "), "{err}");
    let (status, out, err) = told(ConvertArgs { to: To::Json, ..args(GOOD) });
    assert!(status == 0 && out.starts_with("{\n  \"routing\": {\n"), "{out}{err}");
}

#[test]
fn bad_input_is_told_by_place() {
    let (status, out, err) = told(args("{\"inbounds\": [{\"protocol\": 5}]}"));
    assert_eq!((status, out.as_str()), (23, ""));
    assert!(err.contains("c.json:1:28") && err.contains("1 invalid"), "{err}");
}

#[test]
fn losses_are_told_and_strict_refuses_them() {
    let (status, out, err) = told(args(LOSSY));
    assert!(status == 0 && out.contains("# - outbounds[0].sttings (unknown)"), "{out}");
    assert!(err.contains("unknown outbounds[0].sttings (c.json:1:51)") && err.contains("unknown remarks"), "{err}");
    assert!(!out.contains("remarks"), "{out}");
    let (status, out, err) = told(ConvertArgs { strict: true, ..args(LOSSY) });
    assert!(status == 1 && out.is_empty() && err.contains("1 key is lost"), "{err}");
    let quiet = "{\"remarks\": \"x\", \"outbounds\": [{\"protocol\": \"freedom\", \"_note\": {\"a\": 1}}]}";
    assert_eq!(told(ConvertArgs { strict: true, ..args(quiet) }).0, 0);
}

#[test]
fn the_report_for_programs_is_one_json_object() {
    let (status, _, err) = told(ConvertArgs { report: ReportForm::Json, ..args(LOSSY) });
    let report: serde_json::Value = serde_json::from_str(&err).unwrap();
    assert_eq!((status, &report["converted"], &report["counts"]["unknown"]), (0, &true.into(), &2.into()));
    assert_eq!(report["keys"][1]["class"], "unknown");
    let sum: u64 = ["kept", "rewritten", "default", "approximated", "dropped", "unknown", "invalid"]
        .iter()
        .map(|class| report["counts"][class].as_u64().unwrap())
        .sum();
    assert_eq!(report["counts"]["keys"], sum);
    let (_, _, table) = told(ConvertArgs { report: ReportForm::Text, ..args(LOSSY) });
    assert!(table.contains("outbounds[0].protocol"), "{table}");
}

#[test]
fn files_are_checked_and_not_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c.toml");
    let to = |check, force, body| ConvertArgs { output: Some(path.clone()), check, force, ..args(body) };
    assert_eq!(told(to(true, false, GOOD)).0, 1);
    assert!(!path.exists());
    assert_eq!(told(to(false, false, GOOD)).0, 0);
    assert_eq!(told(to(true, false, GOOD)).0, 0);
    assert_eq!(told(to(true, false, LOSSY)).0, 1);
    let (status, _, err) = told(to(false, false, LOSSY));
    assert!(status == 1 && err.contains("--force"), "{err}");
    assert!(file(&path).contains("a.example"));
    assert_eq!(told(to(false, true, LOSSY)).0, 0);
    assert!(!file(&path).contains("a.example"));
}

#[test]
fn a_folder_is_converted_file_by_file() {
    let dir = tempfile::tempdir().unwrap();
    let from = dir.path().join("in");
    let target = dir.path().join("out");
    std::fs::create_dir(&from).unwrap();
    for (name, body) in [("a.json", GOOD), ("b.jsonc", LOSSY), ("c.json", "{"), ("d.txt", "no")] {
        std::fs::write(from.join(name), body).unwrap();
    }
    let batch = ConvertArgs { sources: vec![], batch: Some(from), output: Some(target.clone()), ..args("") };
    let (status, out, err) = told(batch);
    assert!(status == 1 && out.contains("2 of 3 converted"), "{out}{err}");
    assert!(err.contains("c.json:1:1"), "{err}");
    assert!(file(&target.join("a.toml")).contains("a.example") && target.join("b.toml").exists());
    assert_eq!(std::fs::read_dir(target).unwrap().count(), 2);
}

#[test]
fn several_files_are_merged_first() {
    let second = r#"{"outbounds": [{"tag": "b", "protocol": "blackhole"}], "log": {"loglevel": "none"}}"#;
    let mut both = args(GOOD);
    both.sources.push(Source { name: "d.json".into(), bytes: second.as_bytes().to_vec(), format: None });
    let (status, out, err) = told(both);
    assert_eq!(status, 0, "{err}");
    assert!(out.find("\"b\"") < out.find("tag = \"a\"") && out.contains("level = \"none\""), "{out}");
    assert!(err.starts_with("d.json") || err.contains("c.json + d.json: "), "{err}");
}

#[test]
fn a_default_of_toml_becomes_the_first_outbound_or_a_last_rule() {
    let toml = |default: &str| {
        let body = format!(
            "[[outbound]]\ntag = \"a\"\nprotocol = \"freedom\"\n[[outbound]]\ntag = \"b\"\nprotocol = \"socks\"\nserver = \"x.example\"\nport = 1\n\
             [[balancer]]\ntag = \"c\"\noutbounds = [\"b\"]\n[route]\ndefault = \"{default}\"\n"
        );
        let source = Source { name: "c.toml".into(), bytes: body.into_bytes(), format: None };
        told(ConvertArgs { sources: vec![source], to: To::Json, ..args("") })
    };
    let (status, out, err) = toml("b");
    assert!(status == 0 && out.find("\"tag\": \"b\"") < out.find("\"tag\": \"a\""), "{out}{err}");
    let (status, out, err) = toml("c");
    assert!(status == 0 && out.contains("\"balancerTag\": \"c\""), "{out}{err}");
}
