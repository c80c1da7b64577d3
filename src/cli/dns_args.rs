//! Flags and help of `dns`.

use std::ffi::OsString;

use clap::{Args, ValueEnum, ValueHint};

use crate::addr::DomainName;

const EXAMPLES: &str = "\
The config's hosts and servers are asked as a running engine would ask them, through the config's own outbounds; no inbound \
is opened and no running engine is asked, so nothing is kept from before. Every server is told of: when it is asked and why, \
what it said to each question and after which time, and why it is not asked otherwise.

Examples:
  etemenanki dns config.json www.example.com
  etemenanki dns config.json www.example.com --type AAAA
  etemenanki dns config.toml shop.example intranet.corp --json | jq '.addresses[]'
  etemenanki dns config.json www.example.com --server 192.0.2.53
  etemenanki dns config.json www.example.com --fake

Exit status: 0 every name has addresses, 1 no server could say what a name has, 2 usage (also a name that is none, and a \
server that the config does not have), 5 a name does not exist or has no address of that type, 23 bad configuration. Of \
several names the worst counts, in the order 0, 5, 1.";

/// Flags of `dns`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Dns {
    /// Configuration
    #[arg(value_name = "CONFIG", value_hint = ValueHint::FilePath)]
    pub file: OsString,
    /// Names to look up
    #[arg(value_name = "NAME", required = true, value_parser = name)]
    pub names: Vec<DomainName>,
    /// Which addresses are asked for
    #[arg(short = 't', long = "type", value_name = "TYPE", default_value = "both", ignore_case = true)]
    pub kind: Kind,
    /// Ask this server alone: its address as the config writes it, or its place there, from 1
    #[arg(long, value_name = "SERVER")]
    pub server: Option<String>,
    /// Take fake addresses too, as clients of a `dns` outbound do
    #[arg(long)]
    pub fake: bool,
    /// Print JSON, one object a line
    #[arg(long)]
    pub json: bool,
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// IPv4 addresses.
    #[value(name = "A")]
    A,
    /// IPv6 addresses.
    #[value(name = "AAAA")]
    Aaaa,
    /// Both.
    Both,
}

fn name(text: &str) -> Result<DomainName, String> {
    DomainName::loose(text).map_err(|error| error.to_string())
}
