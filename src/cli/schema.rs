//! `schema`: prints the shipped schemas, or holds a configuration against the one of its format.

use std::io::IsTerminal;
use std::path::Path;

use super::args::Schema;
use super::exit::Exit;
use super::{say, sources};
use crate::frontend::{Colour, Options, Source, load, render, schema};

/// `schema`.
pub fn run(what: &Schema) -> Exit {
    match what {
        Schema::Xray => say::out(schema::XRAY),
        Schema::Toml => say::out(schema::TOML),
        Schema::Check { file } => return check(Path::new(file)),
    }
    Exit::Done
}

fn check(file: &Path) -> Exit {
    let text = match sources::read(file) {
        Ok(text) => text,
        Err(error) => {
            say::err(error.to_string());
            return Exit::Failed;
        }
    };
    let source = Source { name: text.name, bytes: text.bytes, format: None };
    let env = |name: &str| std::env::var(name).ok();
    let mut loaded = load(vec![source], &Options { strict: false, env: &env });
    let violations = schema::violations(&loaded);
    let bad = loaded.failed() || !violations.is_empty();
    loaded.tell(violations);
    let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let found = render(&loaded.sources, &loaded.problems, if colour { Colour::Ansi } else { Colour::Plain });
    if !found.is_empty() {
        say::err(found);
    }
    if bad {
        return Exit::Config;
    }
    say::out(format!("{} fits its schema", file.display()));
    Exit::Done
}
