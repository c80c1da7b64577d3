//! `balancers`: what every balancer knows of its members.

use std::io;

use super::args::Balancers;
use super::reach::{Ended, block_on, fault, unexpected};
use super::screen::Screen;
use super::table::{self, Colour, Detail};
use super::units;
use crate::cli::exit::Exit;
use crate::cli::say;
use crate::control::{Ask, Client, Reports, Say};

/// `balancers`.
pub fn balancers(args: &Balancers) -> Exit {
    block_on(async {
        let path = args.reach.find().await?;
        if args.watch {
            return tokio::select! {
                ended = watch(args, &path) => ended,
                // Whoever looked has seen enough.
                _ = tokio::signal::ctrl_c() => Ok(Exit::Done),
            };
        }
        let ask = Ask::Report { balancer: args.balancer.clone() };
        let mut client = Client::ask(&path, ask).await.map_err(|error| fault(&error))?;
        match client.answer().await.map_err(|error| fault(&error))? {
            Say::Reports(reports) => {
                say::out(picture(args, &reports));
                Ok(Exit::Done)
            }
            other => Err(unexpected(&other)),
        }
    })
}

async fn watch(args: &Balancers, path: &std::path::Path) -> Result<Exit, Ended> {
    let ask = Ask::Watch { balancer: args.balancer.clone(), every_ms: None };
    let mut client = Client::ask(path, ask).await.map_err(|error| fault(&error))?;
    let screen = if args.json { Screen::Plain } else { Screen::of_stdout() };
    let mut first = true;
    while let Some(said) = client.next().await.map_err(|error| fault(&error))? {
        let text = match said {
            Say::Reports(reports) => picture(args, &reports),
            // It may come back with the configuration, unless it never was.
            Say::Error(why) if !first => format!("{}\n", units::plain(&why.message)),
            other => return Err(unexpected(&other)),
        };
        let gap = if first || args.json || screen == Screen::Terminal { "" } else { "\n" };
        if screen.show(&mut io::stdout().lock(), &format!("{gap}{text}"), first).is_err() {
            // Whoever read it is gone: `… --watch | head`.
            return Ok(Exit::Done);
        }
        first = false;
    }
    say::err("the engine ended");
    Err(Exit::NoEngine)
}

/// All of it as text, with an end of line.
fn picture(args: &Balancers, reports: &Reports) -> String {
    if args.json {
        // Keys are texts, and numbers that are none become null: nothing here can fail to become JSON.
        let text = if args.watch { serde_json::to_string(reports) } else { serde_json::to_string_pretty(reports) };
        return text.unwrap_or_default() + "\n";
    }
    if reports.balancers.is_empty() {
        return format!("the engine (process {}) has no balancers\n", reports.engine.pid);
    }
    let detail = if args.verbose { Detail::All } else { Detail::Table };
    let all = reports.balancers.iter().map(|report| table::text(report, detail, Colour::of_stdout()));
    all.collect::<Vec<_>>().join("\n")
}
