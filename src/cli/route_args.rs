//! Its flags and help.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::addr::{Network, Target};

const EXAMPLES: &str = "\
Each rule is told of in the order of the config: the one that takes the flow with what held each condition (for a geodata \
list the list and its entry), and every one before it with the first condition that it lacks. A name is resolved, by the \
config's own means, only if the rules want to know its addresses. Where an engine with a control socket runs, it is asked \
which member of a balancer serves; otherwise the strategy's choice without measurements is shown, and said to be that.

Examples:
  etemenanki route config.json --target www.example.com:443
  etemenanki route config.json --target 192.0.2.7:53 --network udp --inbound socks-in
  etemenanki route config.toml --target shop.example:80 --protocol http1 --attr :method=GET
  etemenanki route config.json --batch targets.txt --json | jq 'select(.outbound == \"direct\")'

Exit status: 0 every flow leaves by an outbound, 1 one of them is closed or a file cannot be read, 2 usage (also a target \
that is none), 3 nobody answers at --socket, 23 bad configuration.";

/// Flags of `route`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Route {
    /// Configurations, merged in their order
    #[arg(value_name = "CONFIG", required = true, value_hint = ValueHint::FilePath)]
    pub files: Vec<OsString>,
    /// Where the flow is headed; may be given several times
    #[arg(short, long, value_name = "HOST:PORT", required_unless_present = "batch")]
    pub target: Vec<Target>,
    /// File of targets, one a line; `-` is standard input, `#` begins a comment
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub batch: Option<PathBuf>,
    /// Where the client sits
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:0")]
    pub source: SocketAddr,
    /// Where the client reached us
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:0")]
    pub local: SocketAddr,
    /// Tag of the inbound; without it that of the first
    #[arg(long, value_name = "TAG")]
    pub inbound: Option<String>,
    /// Email of the user
    #[arg(long, value_name = "EMAIL")]
    pub user: Option<String>,
    /// What the flow carries
    #[arg(long, value_name = "NETWORK", default_value = "tcp", value_parser = network)]
    pub network: Network,
    /// What sniffing or the inbound found the payload to be
    #[arg(long, value_name = "PROTOCOL", value_parser = protocol)]
    pub protocol: Option<&'static str>,
    /// Attribute of an HTTP request; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = attribute)]
    pub attr: Vec<(String, String)>,
    /// The number that a VLESS client writes into its id
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub vless_route: u16,
    /// Print JSON, one object a line
    #[arg(long)]
    pub json: bool,
    /// Ask no running engine
    #[arg(long, conflicts_with = "socket")]
    pub offline: bool,
    /// Control socket of the engine to ask; without it the only engine of this user that runs
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub socket: Option<PathBuf>,
}

/// Protocols that flows can have; a rule asks for the beginning of one.
const PROTOCOLS: &[&str] = &["http1", "http/1.1", "tls", "quic", "bittorrent", "fakedns"];

fn protocol(text: &str) -> Result<&'static str, String> {
    let known = PROTOCOLS.iter().find(|known| **known == text || (text == "http" && **known == "http1"));
    known.copied().ok_or_else(|| format!("expected one of {}", PROTOCOLS.join(", ")))
}

fn network(text: &str) -> Result<Network, String> {
    let all = [Network::Tcp, Network::Udp, Network::Unix];
    all.into_iter().find(|one| one.as_str() == text).ok_or_else(|| "expected tcp, udp or unix".into())
}

fn attribute(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}
