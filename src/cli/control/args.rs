//! Their flags and help.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};

use crate::shape::parse_time;

const BALANCERS_EXAMPLES: &str = "\
Examples:
  etemenanki balancers                       what every balancer knows of its members
  etemenanki balancers proxy -v              every term of the scores, and the last decisions
  etemenanki balancers --watch               the same, drawn again every second until Ctrl-C
  etemenanki balancers --json | jq '.balancers[].serving'

Exit status: 0 shown, 1 there is no such balancer or the socket cannot be used, 2 usage, 3 no engine runs, 4 several run.";

const PIN_EXAMPLES: &str = "\
A pin outlives a reload, and a restart where a state file is set. While the member is dead the strategy decides, unless \
the pin is strict.

Examples:
  etemenanki pin proxy tokyo                 new flows go to tokyo until told otherwise
  etemenanki pin proxy tokyo --for 10m       for ten minutes
  etemenanki pin proxy tokyo --strict        even while it is dead
  etemenanki unpin proxy

Exit status: 0 followed, 1 refused or the socket cannot be used, 2 usage, 3 no engine runs, 4 several run.";

const UNPIN_EXAMPLES: &str = "\
Example:
  etemenanki unpin proxy

Exit status: 0 followed, 1 refused or the socket cannot be used, 2 usage, 3 no engine runs, 4 several run.";

const FENCE_EXAMPLES: &str = "\
Examples:
  etemenanki fence proxy tokyo               no new flows; those that run end by themselves
  etemenanki unfence proxy tokyo

Exit status: 0 followed, 1 refused or the socket cannot be used, 2 usage, 3 no engine runs, 4 several run.";

const TEST_EXAMPLES: &str = "\
Examples:
  etemenanki test proxy                      test all members and wait for the results
  etemenanki test proxy tokyo                one of them, beside the rounds

Exit status: 0 every member that was tested works, 1 one does not, or the order was refused, 2 usage, 3 no engine runs, \
4 several run.";

/// Which engine is meant.
#[derive(Debug, Args)]
pub struct Reach {
    /// Control socket of the engine; without it the only engine of this user that runs
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub socket: Option<PathBuf>,
}

/// Flags of `balancers`.
#[derive(Debug, Args)]
#[command(after_help = BALANCERS_EXAMPLES)]
pub struct Balancers {
    /// Show this one alone
    #[arg(value_name = "BALANCER")]
    pub balancer: Option<String>,
    /// Show every term of the scores, statistics, ages and the last decisions
    #[arg(short, long)]
    pub verbose: bool,
    /// Show it again every second until Ctrl-C
    #[arg(short, long)]
    pub watch: bool,
    /// Print JSON; with --watch one object a line
    #[arg(long)]
    pub json: bool,
    /// Which engine.
    #[command(flatten)]
    pub reach: Reach,
}

/// Flags of `pin`.
#[derive(Debug, Args)]
#[command(after_help = PIN_EXAMPLES)]
pub struct Pin {
    /// The balancer
    pub balancer: String,
    /// The member that new flows go to
    pub member: String,
    /// For how long, such as 90s, 10m or 1h30m; without it until told otherwise
    #[arg(long = "for", value_name = "TIME", value_parser = time)]
    pub lasts: Option<Duration>,
    /// Even while the member is dead
    #[arg(long)]
    pub strict: bool,
    /// Which engine.
    #[command(flatten)]
    pub reach: Reach,
}

/// Flags of `unpin`.
#[derive(Debug, Args)]
#[command(after_help = UNPIN_EXAMPLES)]
pub struct Unpin {
    /// The balancer
    pub balancer: String,
    /// Which engine.
    #[command(flatten)]
    pub reach: Reach,
}

/// Flags of `fence` and `unfence`.
#[derive(Debug, Args)]
#[command(after_help = FENCE_EXAMPLES)]
pub struct Fence {
    /// The balancer
    pub balancer: String,
    /// Its member
    pub member: String,
    /// Which engine.
    #[command(flatten)]
    pub reach: Reach,
}

/// Flags of `test`.
#[derive(Debug, Args)]
#[command(after_help = TEST_EXAMPLES)]
pub struct Test {
    /// The balancer
    pub balancer: String,
    /// Its member; without it all of them
    pub member: Option<String>,
    /// Which engine.
    #[command(flatten)]
    pub reach: Reach,
}

fn time(text: &str) -> Result<Duration, String> {
    let time = parse_time(text).or_else(|| text.parse().ok().map(Duration::from_secs));
    time.filter(|time| !time.is_zero()).ok_or_else(|| "write a time such as 90s, 10m or 1h30m".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_or_are_seconds() {
        assert_eq!(time("10m"), Ok(Duration::from_secs(600)));
        assert_eq!(time("90"), Ok(Duration::from_secs(90)));
        for bad in ["", "0", "0s", "-5m", "soon", "10 m"] {
            assert!(time(bad).is_err(), "{bad}");
        }
    }
}
