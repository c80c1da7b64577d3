//! Finding the engine, and what is said where there is none, or more than one.

use std::future::Future;
use std::path::PathBuf;

use super::args::Reach;
use super::units;
use crate::cli::exit::Exit;
use crate::cli::say;
use crate::control::{ClientError, Refused, Running, Say, Surroundings, running};

/// How a verb ends early; what there is to say was said.
pub type Ended = Exit;

impl Reach {
    /// The socket of the engine that is meant.
    pub async fn find(&self) -> Result<PathBuf, Ended> {
        if let Some(path) = &self.socket {
            return Ok(path.clone());
        }
        let mut found = running(&Surroundings::here()).await;
        match found.len() {
            1 => Ok(found.swap_remove(0).path),
            0 => {
                say::err(
                    "no engine of this user runs with a control socket; name one with --socket if it is elsewhere",
                );
                Err(Exit::NoEngine)
            }
            _ => {
                say::err(several(&found));
                Err(Exit::ManyEngines)
            }
        }
    }
}

fn several(found: &[Running]) -> String {
    let mut text = "several engines run; name one with --socket:".to_owned();
    for Running { path, reports } in found {
        let since = units::moment(reports.engine.started_ms);
        let balancers: Vec<String> = reports.balancers.iter().map(|one| units::plain(&one.balancer)).collect();
        let balancers = if balancers.is_empty() { "none".to_owned() } else { balancers.join(", ") };
        let (path, pid) = (path.display(), reports.engine.pid);
        text.push_str(&format!("\n  --socket {path}  (process {pid} since {since}; balancers: {balancers})"));
    }
    text
}

/// Says why an engine could not be asked.
pub fn fault(error: &ClientError) -> Ended {
    say::err(error.to_string());
    if matches!(error, ClientError::Nobody(_)) { Exit::NoEngine } else { Exit::Failed }
}

/// Says why it did not follow.
pub fn refused(refused: &Refused) -> Ended {
    say::err(units::plain(&refused.message));
    Exit::Failed
}

/// Says that an answer is one to another question.
pub fn unexpected(said: &Say) -> Ended {
    if let Say::Error(why) = said {
        return refused(why);
    }
    say::err("the engine answers another question; is it of another version?");
    Exit::Failed
}

/// Runs a verb on a small runtime of its own.
pub fn block_on(verb: impl Future<Output = Result<Exit, Ended>>) -> Exit {
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(verb).unwrap_or_else(|ended| ended),
        Err(error) => {
            say::err(format!("no runtime: {error}"));
            Exit::Failed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::balance::Report;
    use crate::control::{EngineReport, Reports};

    #[test]
    fn several_engines_are_listed_so_that_one_can_be_copied() {
        let one = |pid: u32, balancers: &[&str]| Running {
            path: format!("/run/e/{pid}.sock").into(),
            reports: Reports {
                engine: EngineReport { pid, ..EngineReport::default() },
                balancers: balancers.iter().map(|b| Report { balancer: (*b).into(), ..Report::default() }).collect(),
            },
        };
        let text = several(&[one(5, &["a", "b"]), one(6, &[])]);
        assert!(text.contains("--socket /run/e/5.sock  (process 5 since"), "{text}");
        assert!(text.contains("balancers: a, b)") && text.contains("balancers: none)"), "{text}");
    }
}
