//! Golden files: `testdata/xray/NAME.json` must become `NAME.toml` and give the findings of `NAME.problems`;
//! `testdata/toml/NAME.toml` must give those of `NAME.problems`.
//!
//! `UPDATE_GOLDEN=1 cargo test --test golden` writes them anew; look at the difference before committing it.

#![allow(clippy::unwrap_used, missing_docs)]

use std::fs;
use std::path::{Path, PathBuf};

use etemenanki::convert::{Options, To, convert, remarkable};
use etemenanki::frontend::{self, Colour, Loaded, Source, render};
use etemenanki::model::check::link;
use etemenanki::shape::{Kind, Severity};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name)
}

/// Files of a folder by ending, in the order of their names.
fn files(name: &str, endings: &[&str]) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder(name)).unwrap().map(|entry| entry.unwrap().path());
    let wanted = |path: &PathBuf| path.extension().is_some_and(|e| endings.contains(&e.to_str().unwrap()));
    let mut files: Vec<PathBuf> = entries.filter(wanted).collect();
    files.sort();
    files
}

fn source(path: &Path) -> Source {
    let name = path.file_name().unwrap().to_str().unwrap().to_owned();
    Source { name, bytes: fs::read(path).unwrap(), format: None }
}

fn env(name: &str) -> Option<String> {
    (name == "GOLDEN_PORT").then(|| "1080".to_owned())
}

fn load(path: &Path) -> Loaded {
    let mut loaded = frontend::load(vec![source(path)], &frontend::Options { strict: false, env: &env });
    if let Some(draft) = &loaded.draft {
        loaded.problems.extend(link(draft, loaded.dialect).problems);
        frontend::sort(&mut loaded.problems);
    }
    loaded
}

/// Compares with the file, or writes it. Returns what differs.
fn golden(path: &Path, text: &str) -> Option<String> {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        if text.is_empty() {
            let _ = fs::remove_file(path);
        } else {
            fs::write(path, text).unwrap();
        }
        return None;
    }
    let want = fs::read_to_string(path).unwrap_or_default();
    (want != text).then(|| format!("{}\n--- wanted\n{want}\n--- got\n{text}", path.display()))
}

fn finish(count: usize, least: usize, wrong: &[String]) {
    assert!(count >= least, "only {count} files: were they moved?");
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn xray_files_convert_as_they_did() {
    let files = files("xray", &["json", "jsonc", "yaml"]);
    let mut wrong = vec![];
    for path in &files {
        let options = Options { to: To::Toml, env: &env };
        let converted = convert(vec![source(path)], &options);
        let mut told = render(&converted.sources, &converted.problems, Colour::Plain);
        let keys = remarkable(&converted);
        if !keys.is_empty() {
            told = format!("{}\n\n{keys}", told.trim_end()).trim_start().to_owned();
        }
        let broken = path.file_stem().unwrap().to_str().unwrap().starts_with("bad-");
        match &converted.text {
            Ok(text) => {
                assert!(!broken, "{} converts", path.display());
                wrong.extend(golden(&path.with_extension("toml"), text));
                let again = convert(vec![source(path)], &options);
                assert_eq!(again.text.as_ref(), Ok(text), "{}: twice, and not the same", path.display());
            }
            Err(failure) => assert!(broken, "{}: {failure}\n{told}", path.display()),
        }
        wrong.extend(golden(&path.with_extension("problems"), &told));
    }
    finish(files.len(), 38, &wrong);
}

/// What was converted is a TOML file like any other: it loads, and converting it changes nothing but the notes on top.
#[test]
fn converted_files_are_stable() {
    for path in files("xray", &["toml"]) {
        let once = convert(vec![source(&path)], &Options { to: To::Toml, env: &env });
        assert_eq!(once.text.as_deref(), Ok(fs::read_to_string(&path).unwrap().as_str()), "{}", path.display());
        assert!(!once.problems.iter().any(|p| p.severity == Severity::Error), "{}", path.display());
    }
}

/// The way back: TOML to Xray's JSON to TOML.
#[test]
fn converted_files_go_back() {
    for path in files("xray", &["toml"]) {
        let back = convert(vec![source(&path)], &Options { to: To::Json, env: &env });
        let json = back.text.unwrap_or_else(|failure| panic!("{}: {failure}", path.display()));
        let bytes = json.clone().into_bytes();
        let json_source = Source { name: "back.json".into(), bytes, format: None };
        let forth = convert(vec![json_source], &Options { to: To::Toml, env: &env });
        let lost: Vec<_> = forth.keys.iter().filter(|key| key.lost()).collect();
        assert!(forth.text.is_ok() && lost.is_empty(), "{}: {lost:?}\n{json}", path.display());
    }
}

#[test]
fn toml_files_are_judged_as_they_were() {
    let files = files("toml", &["toml"]);
    let mut wrong = vec![];
    for path in &files {
        let mut loaded = load(path);
        loaded.problems.retain(|p| !matches!(p.kind, Kind::NotBuilt | Kind::Skipped));
        let told = render(&loaded.sources, &loaded.problems, Colour::Plain);
        let broken = path.file_stem().unwrap().to_str().unwrap().starts_with("bad-");
        assert_eq!(loaded.failed(), broken, "{}: {told}", path.display());
        if !broken {
            let json = convert(vec![source(path)], &Options { to: To::Json, env: &env });
            assert!(json.text.is_ok(), "{}: {:?}", path.display(), json.text);
        }
        wrong.extend(golden(&path.with_extension("problems"), &told));
    }
    finish(files.len(), 16, &wrong);
}
