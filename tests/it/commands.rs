//! What scripts and panels rely on at the command line: words, streams and exit statuses.

use crate::support::{run_once, run_once_in};

/// Exit status, standard output, standard error.
fn told(args: &[&str]) -> (Option<i32>, String, String) {
    let output = run_once(args);
    let text = |bytes| String::from_utf8(bytes).expect("the program speaks UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_version_as_integrators_and_as_people_read_it() {
    let (status, out, err) = told(&["version"]);
    assert_eq!((status, err.as_str()), (Some(0), ""));
    assert!(out.starts_with("Xray 26.7.28 (etemenanki "), "{out}");
    assert_eq!(told(&["-version"]).1, out);
    let (status, out, _) = told(&["--version"]);
    assert_eq!((status, out.trim_end()), (Some(0), concat!("etemenanki ", env!("CARGO_PKG_VERSION"))));
}

#[test]
fn uuids_are_the_ones_xray_maps_texts_to() {
    assert_eq!(told(&["uuid", "-i", "example"]).1, "feb54431-301b-52bb-a6dd-e1e93e81bb9e\n");
    let random = [told(&["uuid"]).1, told(&["uuid"]).1];
    assert_ne!(random[0], random[1]);
    let (status, out, err) = told(&["uuid", "-i", "a text of more than thirty bytes"]);
    assert_eq!((status, out.as_str(), err.as_str()), (Some(1), "", "Input must be within 30 bytes.\n"));
}

#[test]
fn nonsense_is_a_usage_error_and_help_is_none() {
    let (status, out, err) = told(&["nonsense"]);
    assert_eq!((status, out.as_str()), (Some(2), ""));
    assert!(err.contains("nonsense"), "{err}");
    let (status, out, err) = told(&["run", "-help"]);
    assert_eq!((status, err.as_str()), (Some(0), ""));
    assert!(out.contains("--confdir"), "{out}");
}

#[test]
fn completions_and_the_manual_are_printed() {
    for args in [&["completions", "bash"][..], &["completions", "zsh"], &["completions", "fish"], &["man"]] {
        let (status, out, err) = told(args);
        assert_eq!((status, err.as_str()), (Some(0), ""), "{args:?}");
        assert!(out.contains("convert"), "{args:?}");
    }
}

#[test]
fn convert_puts_the_result_on_one_stream_and_words_on_the_other() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let config = r#"{"remarks": "x", "outbounds": [{"tag": "direct", "protocol": "freedom"}]}"#;
    std::fs::write(folder.path().join("c.json"), config).expect("the folder is ours");
    let output = run_once_in(folder.path(), &["convert", "c.json"], b"");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert!(out.contains("[[outbound]]") && !out.contains("remarks"), "{out}");
    assert!(err.contains("remarks"), "{err}");

    let again = run_once_in(folder.path(), &["convert", "c.json", "-o", "c.toml"], b"");
    assert_eq!((again.status.code(), again.stdout.len()), (Some(0), 0));
    let test = run_once_in(folder.path(), &["--test", "-c", "c.toml"], b"");
    assert_eq!(test.status.code(), Some(0), "{}", String::from_utf8_lossy(&test.stdout));
    let bad = run_once_in(folder.path(), &["convert", "gone.json"], b"");
    assert_eq!((bad.status.code(), bad.stdout.len()), (Some(23), 0));
}

#[test]
fn dump_prints_the_merged_configuration_alone() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, port) in [("a.json", 1), ("b.json", 2)] {
        let text = format!(r#"{{"inbounds": [{{"tag": "i{port}", "port": {port}, "protocol": "socks"}}]}}"#);
        std::fs::write(folder.path().join(name), text).expect("the folder is ours");
    }
    let output = run_once_in(folder.path(), &["-dump", "-c", "a.json", "-c=b.json"], b"");
    let dumped: serde_json::Value = serde_json::from_slice(&output.stdout).expect("nothing but JSON");
    let tags: Vec<_> = dumped["inbounds"].as_array().expect("a list").iter().map(|i| i["tag"].clone()).collect();
    assert_eq!(tags, ["i1", "i2"]);
}
