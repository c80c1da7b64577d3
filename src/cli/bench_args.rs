//! Flags of the verbs that try strategies out: `simulate` and `replay`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueHint};

const SIMULATE_EXAMPLES: &str = "\
Strategies of ours: adaptive, adaptive-60s, optimal, optimal-bare, failover, least_ping, least_load, hrw, round_robin,
random. Models of other engines: optimal-pr168-600s, optimal-pr168-30s, leastping-10s, leastping-60s, shadowsocks-rust,
mihomo-tol50, mihomo-tol0, sing-box, leastload, leastload-tol30, failover-tcp30, roundrobin-bare, random-bare.

Examples:
  etemenanki simulate                                 all strategies, ten traces, three seeds
  etemenanki simulate --seeds 1,2 --worlds T3,T5      two traces with other luck
  etemenanki simulate --worlds families --json        the eight families of larger fleets, as JSON
  etemenanki simulate --strategies adaptive,sing-box --worlds T5 --seeds 11 --svg picks.svg

Exit status: 0 simulated, 1 a file could not be written, 2 no such strategy or world.";

const REPLAY_EXAMPLES: &str = "\
Examples:
  etemenanki replay journal.jsonl                     what the same settings decide again
  etemenanki replay journal.jsonl --strategy adaptive what adaptive would have decided
  etemenanki replay - --strategy failover < journal.jsonl

Exit status: 0 replayed, 1 the journal cannot be read or holds nothing, 2 no such strategy.";

/// Flags of `simulate`.
#[derive(Debug, Args)]
#[command(after_help = SIMULATE_EXAMPLES)]
pub struct Simulate {
    /// Numbers that make the luck of the worlds
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "11,12,13")]
    pub seeds: Vec<u32>,
    /// `traces` (T1 to T10), `families` (S1 to S8), or names of both
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "traces")]
    pub worlds: Vec<String>,
    /// Only these, by name
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub strategies: Vec<String>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Draw who served in the first world into this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub svg: Option<PathBuf>,
    /// Also run the models of other engines with our retry behind their choice
    #[arg(long)]
    pub retry_anchors: bool,
}

/// Flags of `replay`.
#[derive(Debug, Args)]
#[command(after_help = REPLAY_EXAMPLES)]
pub struct Replay {
    /// The journal; `-` is standard input
    #[arg(value_name = "JOURNAL", value_hint = ValueHint::FilePath)]
    pub journal: OsString,
    /// The strategy that decides; absent: as the journal's balancers were set up
    #[arg(long, value_name = "NAME")]
    pub strategy: Option<String>,
}
