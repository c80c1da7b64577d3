//! The flows that are asked about.

use std::io::{self, Read};
use std::path::Path;

use crate::addr::{BadTarget, Tag, Target};
use crate::cli::route_args::Route;
use crate::flow::{Attributes, Flow};

/// Longest file of targets.
const LONGEST: u64 = 64 << 20;

/// Why the targets cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// The file cannot be read.
    #[error("{name}: {source}")]
    Read {
        /// Which.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// A line is no target.
    #[error("{name}:{line}: `{text}` is no target: {why}")]
    Line {
        /// Which file.
        name: String,
        /// Which line.
        line: usize,
        /// What stands there.
        text: String,
        /// What is wrong.
        why: BadTarget,
    },
}

/// Every target, those of the flags first.
pub fn targets(args: &Route) -> Result<Vec<Target>, BatchError> {
    let mut targets = args.target.clone();
    let Some(file) = &args.batch else { return Ok(targets) };
    let name = file.display().to_string();
    let text = read(file).map_err(|source| BatchError::Read { name: name.clone(), source })?;
    for (n, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let bad =
            |why| BatchError::Line { name: name.clone(), line: n + 1, text: line.chars().take(80).collect(), why };
        targets.push(line.parse().map_err(bad)?);
    }
    Ok(targets)
}

fn read(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    let from: Box<dyn Read> =
        if file == Path::new("-") { Box::new(io::stdin().lock()) } else { Box::new(std::fs::File::open(file)?) };
    let read = from.take(LONGEST + 1).read_to_string(&mut text)?;
    if read as u64 > LONGEST { Err(io::Error::new(io::ErrorKind::FileTooLarge, "too large")) } else { Ok(text) }
}

/// The flow to a target.
pub fn flow(args: &Route, inbound: &Tag, target: Target) -> Flow {
    let mut flow = Flow::new(inbound.clone(), args.network, args.source, args.local, target);
    flow.user = args.user.as_deref().map(Into::into);
    flow.protocol = args.protocol;
    flow.vless_route = args.vless_route;
    if !args.attr.is_empty() {
        let mut attributes = Attributes::default();
        args.attr.iter().for_each(|(name, value)| attributes.push(name, value));
        flow.attributes = Some(Box::new(attributes));
    }
    flow
}
