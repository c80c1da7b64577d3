//! The verb: reads the config, asks, and shows what came of it.

use std::io::{self, Write};

use super::picture;
use crate::cli::control::block_on;
use crate::cli::dns_args::{Dns, Kind};
use crate::cli::exit::Exit;
use crate::cli::prepare::prepared;
use crate::cli::say;
use crate::dns::{Asked, Explained, Families};

/// `dns`.
pub fn dns(args: &Dns) -> Exit {
    let ready = match prepared(std::slice::from_ref(&args.file)) {
        Ok(prepared) => prepared.ready,
        Err(why) => {
            say::err(why);
            return Exit::Config;
        }
    };
    let servers = ready.name_servers();
    let only = match args.server.as_deref().map(|wanted| place_of(&servers, wanted)) {
        None => None,
        Some(Some(at)) => Some(at),
        Some(None) => {
            say::err(format!("the config has no such server; it has {}", servers.join(", ")));
            return Exit::Usage;
        }
    };
    let families = Families { v4: args.kind != Kind::Aaaa, v6: args.kind != Kind::A };
    let asked = Asked { families, fakes: args.fake };
    block_on(async {
        let mut out = io::BufWriter::new(io::stdout().lock());
        let mut exit = Exit::Done;
        for (n, name) in args.names.iter().enumerate() {
            let told = ready.inquire(name, asked, only).await;
            exit = worse(exit, exit_of(&told));
            let rule = |at| ready.hosts_rule(at);
            let text = if args.json {
                picture::object(name, &told, &rule).to_string()
            } else {
                let gap = if n == 0 { "" } else { "\n" };
                format!("{gap}{}", picture::text(name, &told, &rule))
            };
            // Whoever read it may be gone: `… | head`.
            if writeln!(out, "{text}").and_then(|()| out.flush()).is_err() {
                return Ok(exit);
            }
        }
        Ok(exit)
    })
}

/// The place of a server by its address, or by that place as people count.
fn place_of(servers: &[String], wanted: &str) -> Option<usize> {
    let by_name = servers.iter().position(|server| server.eq_ignore_ascii_case(wanted));
    let without_port =
        || servers.iter().position(|server| server.rsplit_once(':').is_some_and(|(host, _)| host == wanted));
    let by_number = || wanted.parse::<usize>().ok()?.checked_sub(1).filter(|at| *at < servers.len());
    by_name.or_else(without_port).or_else(by_number)
}

fn exit_of(told: &Explained) -> Exit {
    match &told.outcome {
        Ok(_) => Exit::Done,
        Err(error) if error.is_final() => Exit::NoName,
        Err(_) => Exit::Failed,
    }
}

fn worse(one: Exit, other: Exit) -> Exit {
    match (one, other) {
        (Exit::Failed, _) | (_, Exit::Failed) => Exit::Failed,
        (Exit::NoName, _) | (_, Exit::NoName) => Exit::NoName,
        _ => Exit::Done,
    }
}
