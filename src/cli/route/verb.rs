//! The verb: reads the config, asks the running engine who serves, and shows what would become of each flow.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;

use super::flows::{BatchError, flow, targets};
use super::picture;
use crate::addr::Tag;
use crate::cli::control::block_on;
use crate::cli::exit::Exit;
use crate::cli::prepare::{Prepared, prepared};
use crate::cli::route_args::Route;
use crate::cli::say;
use crate::control::{Ask, Client, Reports, Say, Surroundings, running};
use crate::engine::Serving;

/// `route`.
pub fn route(args: &Route) -> Exit {
    let targets = match targets(args) {
        Ok(targets) => targets,
        Err(error) => {
            say::err(error.to_string());
            return if matches!(error, BatchError::Line { .. }) { Exit::Usage } else { Exit::Failed };
        }
    };
    let Prepared { ready, config, .. } = match prepared(&args.files) {
        Ok(prepared) => prepared,
        Err(why) => {
            say::err(why);
            return Exit::Config;
        }
    };
    let first = || config.inbounds.first().map(|inbound| inbound.tag.clone()).unwrap_or_default();
    let inbound = args.inbound.as_deref().map_or_else(first, Tag::from);
    block_on(async {
        let serving = serving(args).await?;
        let mut out = io::BufWriter::new(io::stdout().lock());
        let mut exit = Exit::Done;
        for (n, target) in targets.into_iter().enumerate() {
            let flow = flow(args, &inbound, target);
            let outlook = ready.outlook(&flow, &|balancer| serving.get(balancer).cloned()).await;
            if outlook.exit.is_err() {
                exit = Exit::Failed;
            }
            let name = |at| ready.rule_name(at);
            let text = if args.json {
                picture::object(&flow, &outlook, &name).to_string()
            } else {
                let gap = if n == 0 { "" } else { "\n" };
                format!("{gap}{}", picture::text(&flow, &outlook, &name))
            };
            // Whoever read it may be gone: `… | head`.
            if writeln!(out, "{text}").is_err() {
                return Ok(exit);
            }
        }
        let _ = out.flush();
        Ok(exit)
    })
}

/// Who serves in the running engine, by balancer; nobody is asked where none runs, or several do.
async fn serving(args: &Route) -> Result<HashMap<String, Serving>, Exit> {
    if args.offline {
        return Ok(HashMap::new());
    }
    let reports = match &args.socket {
        Some(path) => Some(asked(path).await?),
        None => {
            let mut found = running(&Surroundings::here()).await;
            if found.len() > 1 {
                say::err("several engines run, so none is asked who serves; name one with --socket");
            }
            found.pop().filter(|_| found.is_empty()).map(|one| one.reports)
        }
    };
    let one =
        |report: crate::balance::Report| (report.balancer, Serving { members: report.serving, leaves: report.leaves });
    Ok(reports.into_iter().flat_map(|reports| reports.balancers).map(one).collect())
}

async fn asked(path: &Path) -> Result<Reports, Exit> {
    let fault = |error: crate::control::ClientError| {
        say::err(error.to_string());
        if matches!(error, crate::control::ClientError::Nobody(_)) { Exit::NoEngine } else { Exit::Failed }
    };
    let mut client = Client::ask(path, Ask::Report { balancer: None }).await.map_err(fault)?;
    match client.answer().await.map_err(fault)? {
        Say::Reports(reports) => Ok(reports),
        _ => {
            say::err("the engine answers another question; is it of another version?");
            Err(Exit::Failed)
        }
    }
}
