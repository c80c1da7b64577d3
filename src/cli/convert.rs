//! `convert`: reads the files, wherever they are, and leaves the rest to the folder of that name.

use std::io::IsTerminal;
use std::path::Path;

use super::args::{Convert, Output, Report};
use super::exit::Exit;
use super::{say, sources};
use crate::convert::{ConvertArgs, ReportForm, To, run as convert};
use crate::frontend::Source;

/// `convert`.
pub fn run(args: Convert) -> Exit {
    let texts = args.files.iter().map(|file| sources::read(Path::new(file))).collect::<Result<Vec<_>, _>>();
    let texts = match texts {
        Ok(texts) => texts,
        Err(error) => {
            say::err(error.to_string());
            return Exit::Config;
        }
    };
    let sources = texts.into_iter().map(|text| Source { name: text.name, bytes: text.bytes, format: None });
    let status = convert(
        ConvertArgs {
            sources: sources.collect(),
            output: args.output,
            check: args.check,
            strict: args.strict,
            report: match args.report {
                None => ReportForm::Summary,
                Some(Report::Text) => ReportForm::Text,
                Some(Report::Json) => ReportForm::Json,
            },
            to: match args.to {
                Output::Toml => To::Toml,
                Output::Json => To::Json,
            },
            batch: args.batch,
            force: args.force,
            colour: std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
            env: &|name| std::env::var(name).ok(),
        },
        &mut std::io::stdout().lock(),
        &mut std::io::stderr().lock(),
    );
    match status {
        0 => Exit::Done,
        23 => Exit::Config,
        _ => Exit::Failed,
    }
}
