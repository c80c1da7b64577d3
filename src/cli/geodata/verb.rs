//! From the words to the verb.

use super::{build, list, show, test, update};
use crate::cli::exit::Exit;
use crate::cli::geodata_args::Geodata;
use crate::cli::say;

/// `geodata`.
pub fn geodata(what: &Geodata) -> Exit {
    let done = match what {
        Geodata::List(args) => list::list(args),
        Geodata::Show(args) => show::show(args),
        Geodata::Test(args) => test::test(args),
        Geodata::Build(args) => build::build(args),
        Geodata::Update(args) => update::update(args),
    };
    done.unwrap_or_else(|why| {
        say::err(why);
        Exit::Failed
    })
}
