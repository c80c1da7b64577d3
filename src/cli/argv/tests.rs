#![allow(clippy::unwrap_used)]

use clap::Parser;

use super::super::args::{Command, Program, Run};
use super::*;

fn words(line: &str) -> Vec<OsString> {
    line.split(' ').map(OsString::from).collect()
}

fn parsed(line: &str) -> Command {
    Program::try_parse_from(normalise(words(line))).unwrap_or_else(|error| panic!("{line}: {error}")).command
}

fn run(line: &str) -> Run {
    match parsed(line) {
        Command::Run(run) => run,
        other => panic!("{line}: {other:?}"),
    }
}

/// Configs, folder, format of a `run`.
fn sources(line: &str) -> (Vec<String>, Option<String>, Option<String>) {
    let run = run(line);
    let text = |path: &OsString| path.to_str().unwrap().to_owned();
    (run.config.iter().map(text).collect(), run.confdir.map(|dir| dir.to_str().unwrap().to_owned()), run.format)
}

fn files(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn every_command_line_in_the_field() {
    /// Command line, configs, folder, format.
    type Case = (&'static str, &'static [&'static str], Option<&'static str>, Option<&'static str>);
    let cases: &[Case] = &[
        ("xray run -c config.json", &["config.json"], None, None),
        ("xray run -config /usr/local/etc/xray/config.json", &["/usr/local/etc/xray/config.json"], None, None),
        ("xray -c /opt/bin/config.json", &["/opt/bin/config.json"], None, None),
        ("xray -config /etc/xray/config.json", &["/etc/xray/config.json"], None, None),
        ("xray run -confdir DIR", &[], Some("DIR"), None),
        ("xray -confdir DIR", &[], Some("DIR"), None),
        ("xray run --config=FILE --confdir=DIR", &["FILE"], Some("DIR"), None),
        ("xray run -config stdin:", &["stdin:"], None, None),
        ("xray run -c stdin:", &["stdin:"], None, None),
        (
            "rw-core -config @NAME:/internal/get-config?token=T -format json",
            &["@NAME:/internal/get-config?token=T"],
            None,
            Some("json"),
        ),
        ("xray run -confdir DIR -test", &[], Some("DIR"), None),
        ("etemenanki", &[], None, None),
        ("etemenanki -c=a.json --c b.json -config=c.json", &["a.json", "b.json", "c.json"], None, None),
        ("etemenanki --test -c config.toml", &["config.toml"], None, None),
        ("etemenanki run -c -odd-name", &["-odd-name"], None, None),
    ];
    for (line, configs, confdir, format) in cases {
        let want = (files(configs), confdir.map(str::to_owned), format.map(str::to_owned));
        assert_eq!(sources(line), want, "{line}");
    }
}

#[test]
fn switches_in_every_spelling() {
    for line in ["x -test", "x --test", "x run -test", "x -test=true", "x --test=1", "x -test -config x.json"] {
        assert!(run(line).test, "{line}");
    }
    for line in ["x -c a", "x -test=false", "x run --test=0"] {
        assert!(!run(line).test, "{line}");
    }
    assert!(run("x -dump -c a").dump);
    assert!(run("x run --strict -c a").strict);
}

#[test]
fn tools_in_both_spellings() {
    for line in ["xray version", "xray -version"] {
        assert!(matches!(parsed(line), Command::Version), "{line}");
    }
    for line in ["x uuid -i text", "x uuid --i=text", "x uuid -i=text"] {
        assert!(matches!(parsed(line), Command::Uuid { input: Some(text) } if text == "text"), "{line}");
    }
}

#[test]
fn help_and_version_of_our_own_stay_with_clap() {
    for line in ["x -h", "x -help", "x --help", "x run -h", "x run -help", "x help run", "x -V", "x --version"] {
        let error = Program::try_parse_from(normalise(words(line))).unwrap_err();
        assert_eq!(error.exit_code(), 0, "{line}: {error}");
    }
}

#[test]
fn verbs_of_our_own_keep_their_words() {
    let line = "x convert a.json -o out.toml --check";
    assert_eq!(normalise(words(line)), words(line));
    assert_eq!(normalise(words("x run -- -config")), words("x run -- -config"));
    assert!(Program::try_parse_from(normalise(words("x run -nonsense"))).is_err());
}

#[test]
fn clap_finds_no_fault_with_the_declaration() {
    use clap::CommandFactory;
    Program::command().debug_assert();
}
