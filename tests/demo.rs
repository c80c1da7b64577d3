//! The demo as a user meets it: it ends by itself, says what it saw, and its exit code tells right from wrong.

#![allow(clippy::unwrap_used)]

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::Value;

fn demo(flags: &[&str]) -> Output {
    let begin = Instant::now();
    let output = Command::new(env!("CARGO_BIN_EXE_etemenanki")).arg("demo").args(flags).output().unwrap();
    assert!(begin.elapsed() < Duration::from_secs(30), "it took {:?}", begin.elapsed());
    output
}

#[test]
fn the_right_member_serves_in_every_scene() {
    let output = demo(&["--json"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (summary, rounds) = lines.split_last().unwrap();
    assert!(output.status.success(), "{summary:#}");
    assert_eq!(summary["right"], true);
    assert!(rounds.len() >= 8, "{} rounds", rounds.len());
    for round in rounds {
        let members = round["members"].as_array().unwrap();
        assert_eq!(members.len(), 3);
        for member in members {
            let (rate, weight) = (member["rate"].as_f64().unwrap(), member["weight"].as_f64().unwrap());
            assert!((member["score"].as_f64().unwrap() - rate * weight).abs() < 1.0, "{member:#}");
        }
    }
    let expected: Vec<_> = summary["scenes"].as_array().unwrap().iter().map(|scene| &scene["expected"]).collect();
    assert_eq!(expected, ["north", "east", "west", "east", "north"]);
}

#[test]
fn a_wrong_pick_is_found_out() {
    let output = demo(&["--sabotage"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!output.status.success(), "{text}");
    assert!(text.contains("WRONG"), "{text}");
}
