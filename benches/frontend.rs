//! What reading a large configuration costs: `cargo bench --bench frontend`.
//!
//! Prints the processor time of each step for generated files of about 5 MB: bytes to tree, and bytes to draft. The TOML holds the
//! same outbounds in our own form.

use std::fmt::Write as _;
use std::time::{Duration, UNIX_EPOCH};

use etemenanki::frontend::{Format, Options, Source, Text, decode, load, parse_json, parse_toml};

/// The program's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Size of a generated file.
const SIZE: usize = 5_000_000;

/// Each step is run so often and the best is printed: the rest is the machine's noise.
const RUNS: usize = 5;

fn main() {
    let (json, toml) = (json(), toml());
    println!("{:<28} {:>8} {:>8} {:>8}", "step", "MB", "ms", "MB/s");
    row("json: bytes to tree", json.len(), || {
        let tree = parse_json(&text(&json), false);
        assert!(tree.root.is_some());
    });
    row("json: bytes to draft", json.len(), || loaded(&json, Format::Json));
    row("toml: bytes to tree", toml.len(), || {
        let tree = parse_toml(&text(&toml));
        assert!(tree.root.is_some());
    });
    row("toml: bytes to draft", toml.len(), || loaded(&toml, Format::Toml));
}

fn text(body: &str) -> Text {
    decode(0, "bench", body.as_bytes(), false).0
}

fn loaded(body: &str, format: Format) {
    let source = Source { name: "bench".into(), bytes: body.into(), format: Some(format) };
    let done = load(vec![source], &Options { strict: false, env: &|_| None });
    assert!(done.draft.is_some(), "{:?}", done.problems.first());
}

fn row(name: &str, bytes: usize, step: impl Fn()) {
    let best = (0..RUNS).map(|_| timed(&step)).min().unwrap_or_default();
    let megabytes = bytes as f64 / 1e6;
    let seconds = best.as_secs_f64();
    println!("{name:<28} {megabytes:>8.1} {:>8.1} {:>8.0}", seconds * 1e3, megabytes / seconds);
}

fn timed(step: impl Fn()) -> Duration {
    let begun = clock();
    step();
    clock().saturating_sub(begun)
}

/// Processor time of this thread, so that a busy machine does not count; where the system does not tell, the time of day.
fn clock() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = told.and_then(|text| text.split_whitespace().next()?.parse().ok());
    nanos.map_or_else(|| UNIX_EPOCH.elapsed().unwrap_or_default(), Duration::from_nanos)
}

/// Outbounds as panels write them, a comment with each, and rules.
fn json() -> String {
    let mut out = String::from("{\n  \"log\": { \"loglevel\": \"warning\" },\n  \"outbounds\": [\n");
    let mut n = 0;
    while out.len() < SIZE * 3 / 4 {
        let comma = if n == 0 { "" } else { ",\n" };
        let _ = write!(
            out,
            "{comma}    {{ // server {n}\n      \"tag\": \"proxy-{n}\",\n      \"protocol\": \"socks\",\n      \
             \"settings\": {{ \"servers\": [ {{ \"address\": \"s{n}.example.com\", \"port\": {}, \"users\": [ {{ \
             \"user\": \"u{n}\", \"pass\": \"p\\u00e9{n}\" }} ] }} ] }},\n      \"mux\": {{ \"enabled\": false }}\n    }}",
            1 + n % 65_000
        );
        n += 1;
    }
    out.push_str("\n  ],\n  \"routing\": { \"rules\": [\n    { \"outboundTag\": \"proxy-0\", \"domain\": [");
    let mut d = 0;
    while out.len() < SIZE {
        let _ = write!(out, "{}\"domain:d{d}.example.org\"", if d == 0 { "" } else { ", " });
        d += 1;
    }
    out.push_str("] }\n  ] }\n}\n");
    out
}

fn toml() -> String {
    let mut out = String::new();
    let mut n = 0;
    while out.len() < SIZE {
        let _ = write!(
            out,
            "# server {n}\n[[outbound]]\ntag = \"proxy-{n}\"\nprotocol = \"socks\"\nserver = \"s{n}.example.com\"\n\
             port = {}\n\n[outbound.settings]\nuser = \"u{n}\"\npass = \"pé{n}\"\n\n",
            1 + n % 65_000
        );
        n += 1;
    }
    out
}
