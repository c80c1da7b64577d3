//! The command line as clap knows it: verbs, flags, help.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};

use super::bench_args::{Replay, Simulate};
use super::control;
use super::dns_args::Dns;
use super::geodata_args::{self, Geodata};
use super::key_args;
use super::route_args::Route;

const EXAMPLES: &str = "\
Examples:
  etemenanki demo                           see the balancer at work; needs no server and no file
  etemenanki -c config.json                 run an Xray config as it is
  etemenanki --test -c config.toml          check a config, start nothing
  etemenanki convert config.json -o my.toml write the same config as TOML
  etemenanki balancers                      see who serves in a running engine, and why
  etemenanki route config.json --target www.example.com:443
                                            see which rule takes a target, and why
  etemenanki dns config.json www.example.com
                                            see which server answers, and why

Exit status:
  0    all went well
  1    a tool (convert, schema, uuid, x25519, tls, demo, pin, …) failed
  2    the command line makes no sense
  3    no engine runs that could be asked
  4    several engines run; name one with --socket
  5    a name (of the verb dns) does not exist or has no address
  23   the configuration is bad (a service manager should not try again)
  255  the configuration is good but cannot start now, as when a port is taken";

// A paragraph is one line: clap wraps it to the width of the terminal.
const RUN_EXAMPLES: &str = concat!(
    "A FILE is a path, `stdin:`, an http(s) URL, `@name[:/path]` (HTTP over an abstract Unix socket, `@@` for a padded ",
    "name) or `/socket[:/path]`. Several are merged in their order, then the files of DIR in the order of their names. ",
    "Without any, config.json, .jsonc, .toml, .yaml or .yml of the working folder is taken, else standard input.\n",
    "Go's spellings work too: -config FILE, -c=FILE, -test, -confdir=DIR, and `run` may be left out.\n\n",
    "\
Examples:
  etemenanki run -c config.json
  etemenanki run -c base.json -c outbounds.json
  etemenanki run -confdir /usr/local/etc/xray
  etemenanki run --test --strict -c config.json
  etemenanki run -c stdin: < config.json

HUP reads everything once more and takes it over; what is the same in both goes on with its flows, and a configuration \
that cannot run changes nothing.

Exit status: 0 stopped by TERM or INT (or the test passed), 23 bad configuration, 255 cannot start.",
);

const CONVERT_EXAMPLES: &str = "\
Examples:
  etemenanki convert config.json                    print it as TOML
  etemenanki convert config.json -o config.toml     write it; mode 0600 if it holds secrets
  etemenanki convert base.json users.json           merged first, as Xray merges
  etemenanki convert config.json --check            say what would become of each key, write nothing
  etemenanki convert config.json -o my.toml --check fail if my.toml is not what would be written
  etemenanki convert config.toml --to json          the way back
  etemenanki convert --batch configs -o out         every config of a folder

Exit status: 0 converted, 1 something was lost under --strict, differs under --check or could not be written, 23 bad configuration.";

const SCHEMA_EXAMPLES: &str = "\
Examples:
  etemenanki schema xray > xray.schema.json        JSON schema of Xray's config, for editors
  etemenanki schema toml > etemenanki.schema.json  of our own TOML
  etemenanki schema check config.json              hold a file against its schema

Exit status: 0 valid, 1 cannot be read, 23 not valid.";

/// A proxy engine that runs Xray's JSON configs and its own TOML, and serves every flow through the best member
#[derive(Debug, Parser)]
#[command(name = "etemenanki", version, after_help = EXAMPLES, max_term_width = 120, disable_help_subcommand = false)]
pub struct Program {
    /// What to do; without a verb, `run`.
    #[command(subcommand)]
    pub command: Command,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a configuration until TERM or INT
    Run(Run),
    /// Write an Xray config as TOML, or the other way round
    Convert(Convert),
    /// Print the JSON schemas, or hold a file against them
    #[command(after_help = SCHEMA_EXAMPLES)]
    Schema {
        /// Which.
        #[command(subcommand)]
        what: Schema,
    },
    /// Explain which way a flow would take, and why; no traffic is sent
    Route(Route),
    /// Look names up as the engine would, and explain which server is asked, what it says, and why
    Dns(Dns),
    /// Look into geodata files (geosite.dat, geoip.dat), or make one from text
    #[command(after_help = geodata_args::EXAMPLES)]
    Geodata {
        /// Which.
        #[command(subcommand)]
        what: Geodata,
    },
    /// Show what the balancers of a running engine know of their members, who serves, and why
    Balancers(control::Balancers),
    /// Send the new flows of a balancer to one member
    Pin(control::Pin),
    /// Let the strategy of a balancer decide again
    Unpin(control::Unpin),
    /// Give a member no new flows; those that run go on
    Fence(control::Fence),
    /// Give a fenced member flows again
    Unfence(control::Fence),
    /// Test the members of a balancer now and show the results
    Test(control::Test),
    /// Print the version in Xray's form, which panels read
    Version,
    /// Print a random UUID, or the one that a text stands for
    Uuid {
        /// Text of 1 to 30 bytes that maps to a UUID of its own, as Xray maps it
        #[arg(short = 'i', long = "i", value_name = "TEXT")]
        input: Option<String>,
    },
    /// Make a key pair of X25519, for REALITY or VLESS encryption
    #[command(after_help = key_args::X25519)]
    X25519(key_args::Pair),
    /// Make a key pair of ML-KEM-768, for VLESS encryption
    #[command(after_help = key_args::MLKEM768)]
    Mlkem768(key_args::Seed),
    /// Make a key pair of ML-DSA-65, for REALITY
    #[command(after_help = key_args::MLDSA65)]
    Mldsa65(key_args::Seed),
    /// Make the texts for both sides of VLESS encryption
    #[command(after_help = key_args::VLESSENC)]
    Vlessenc,
    /// Make a key pair of X25519 as WireGuard writes it
    #[command(after_help = key_args::WG)]
    Wg(key_args::Key),
    /// Make certificates, print their hashes, make keys for encrypted client hellos
    #[command(after_help = key_args::TLS)]
    Tls {
        /// Which.
        #[command(subcommand)]
        what: key_args::Tls,
    },
    /// Start upstreams, traffic and the engine in one process and show how the best member serves
    Demo(Demo),
    /// Run balancing strategies through simulated networks and compare them
    Simulate(Simulate),
    /// Feed a journal to a strategy and show what it would have decided
    Replay(Replay),
    /// Print completions for a shell
    #[command(after_help = "Example:\n  etemenanki completions bash > /etc/bash_completion.d/etemenanki")]
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    #[command(after_help = "Example:\n  etemenanki man | man -l -")]
    Man,
}

/// Flags of `run`.
#[derive(Debug, Args, Clone, Default)]
#[command(after_help = RUN_EXAMPLES)]
pub struct Run {
    /// Configuration to run; may be given several times
    #[arg(short, long, alias = "c", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Vec<OsString>,
    /// Folder whose .json, .jsonc, .toml, .yaml and .yml files are added
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub confdir: Option<OsString>,
    /// Format of all of them: json, jsonc, yaml, yml or toml; anything else means by name and content
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Check the configuration, start nothing
    #[arg(long)]
    pub test: bool,
    /// Print the merged configuration as JSON, start nothing
    #[arg(long)]
    pub dump: bool,
    /// Unknown keys are errors, not warnings
    #[arg(long)]
    pub strict: bool,
    /// Take over changes of the files while running; usual for TOML
    #[arg(long, overrides_with = "no_watch")]
    pub watch: bool,
    /// Do not; usual for JSON. HUP reloads either way
    #[arg(long, overrides_with = "watch")]
    pub no_watch: bool,
}

/// Flags of `convert`.
#[derive(Debug, Args)]
#[command(after_help = CONVERT_EXAMPLES)]
pub struct Convert {
    /// Configurations, merged in their order
    #[arg(value_name = "FILE", required_unless_present = "batch", value_hint = ValueHint::FilePath)]
    pub files: Vec<OsString>,
    /// Where to write; standard output if absent. With --batch a folder
    #[arg(short, long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub output: Option<PathBuf>,
    /// Write nothing; say what would become of each key, and fail if PATH is not what would be written
    #[arg(long)]
    pub check: bool,
    /// Fail if anything is approximated, dropped or unknown
    #[arg(long)]
    pub strict: bool,
    /// Say on standard error what became of every key, not only of those that did not simply come over
    #[arg(long, value_name = "FORM")]
    pub report: Option<Report>,
    /// What to write
    #[arg(long, value_name = "FORMAT", default_value = "toml")]
    pub to: Output,
    /// Convert every configuration of this folder
    #[arg(long, value_name = "DIR", requires = "output", conflicts_with = "files", value_hint = ValueHint::DirPath)]
    pub batch: Option<PathBuf>,
    /// Overwrite what is there
    #[arg(long)]
    pub force: bool,
}

/// Forms of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Report {
    /// A table for people.
    Text,
    /// One JSON object.
    Json,
}

/// What `convert` can write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// Our own format.
    Toml,
    /// Xray's format.
    Json,
}

/// What `schema` can do.
#[derive(Debug, Subcommand)]
pub enum Schema {
    /// Print the schema of Xray's JSON
    Xray,
    /// Print the schema of our TOML
    Toml,
    /// Hold a configuration against its schema
    Check {
        /// The configuration.
        #[arg(value_hint = ValueHint::FilePath)]
        file: OsString,
    },
}

/// Flags of `demo`.
#[derive(Debug, Args)]
#[command(after_help = "It ends by itself in under 30 seconds and fails if a wrong member served.")]
pub struct Demo {
    /// Print the rounds as JSON
    #[arg(long)]
    pub json: bool,
    /// Inject a wrong pick, which must be found out
    #[arg(long, hide = true)]
    pub sabotage: bool,
}
