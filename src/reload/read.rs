//! Texts to a config, or the one line that says why not.

use std::path::Path;

use super::hosts::{SYSTEM_HOSTS, add_hosts};
use super::lists::load_lists;
use crate::frontend::{Loaded, Options, Source, headline, load};
use crate::geo::{Assets, Found};
use crate::model::config::Config;
use crate::shape::{Kind, Problem, Severity};

/// Why the current config stays. The words before the colon are those that people look for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refused {
    /// It cannot be read or understood.
    #[error("reload: parse failed, keeping current config: {0}")]
    Parse(String),
    /// It is understood, and cannot run.
    #[error("reload: build failed, keeping current config: {0}")]
    Build(String),
}

/// What texts become.
pub(super) struct Read {
    pub(super) config: Config,
    /// The geodata lists that it names.
    pub(super) found: Found,
    /// What else was found in the texts, a line each.
    pub(super) warnings: Vec<String>,
}

/// A config with its lists, and what else was found in its texts.
pub(super) fn read(sources: Vec<Source>, strict: bool, assets: &Assets, before: &Found) -> Result<Read, Refused> {
    let env = |name: &str| std::env::var(name).ok();
    let mut loaded = load(sources, &Options { strict, env: &env });
    if loaded.failed() {
        return Err(Refused::Parse(reason(&loaded)));
    }
    let mut config = loaded.link();
    add_hosts(&mut loaded, config.as_mut(), Path::new(SYSTEM_HOSTS));
    let found = load_lists(&mut loaded, assets, Some(before));
    // As at the start: traffic would go another way than the configuration says.
    for problem in loaded.problems.iter_mut().filter(|problem| problem.kind == Kind::NotBuilt) {
        problem.severity = Severity::Error;
    }
    match config.filter(|_| !loaded.failed()) {
        None => Err(Refused::Build(reason(&loaded))),
        Some(config) => {
            let warnings = loaded.problems.iter().filter(|problem| problem.severity == Severity::Warning);
            let lines = warnings.map(|problem| headline(&loaded.sources, problem)).collect();
            Ok(Read { config, found, warnings: lines })
        }
    }
}

/// The first error with its place, and how many more there are.
fn reason(loaded: &Loaded) -> String {
    let Some((problem, more)) = loaded.first_error() else { return "it cannot be used".to_owned() };
    let Problem { span, path, message, .. } = problem;
    let place = span.and_then(|span| loaded.sources.place(span));
    let place = place.map(|(name, at)| format!("{name}:{}:{}: ", at.line, at.column)).unwrap_or_default();
    let path = if path.is_empty() { String::new() } else { format!("{path}: ") };
    let more = if more == 0 { String::new() } else { format!(" (and {more} more)") };
    let message = message.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    format!("{place}{path}{message}{more}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn refused(name: &str, text: &str) -> String {
        let source = Source { name: name.to_owned(), bytes: text.into(), format: None };
        read(vec![source], false, &Assets::default(), &Found::default()).map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn a_refusal_says_which_step_failed_and_where() {
        let parse = "reload: parse failed, keeping current config: ";
        let half = refused("c.json", "{\"inbounds\": [");
        assert!(half.starts_with(&format!("{parse}c.json:1:14: ")), "{half}");
        assert!(refused("c.json", "").starts_with(parse));
        let missing = refused("c.toml", "[[balancer]]\ntag = \"b\"\n");
        assert!(missing.starts_with(&format!("{parse}c.toml:1:")), "{missing}");
        let build = "reload: build failed, keeping current config: ";
        let unknown = "[[outbound]]\ntag = \"a\"\nprotocol = \"freedom\"\n[route]\ndefault = \"b\"\n";
        let unknown = refused("c.toml", unknown);
        assert!(unknown.starts_with(&format!("{build}c.toml:5:")), "{unknown}");
        let unbuilt = refused(
            "c.json",
            "{\"inbounds\": [{\"protocol\": \"tun\"}], \"outbounds\": [{\"protocol\": \"freedom\"}]}",
        );
        assert!(unbuilt.starts_with(build), "{unbuilt}");
    }
}
