//! From the words to the verb.

use std::process::ExitCode;

use clap::Parser;

use super::args::{Command, Program};
use super::exit::Exit;
use super::{argv, control, convert, dns, geodata, keys, replay, route, run, schema, simulate, tls_tools, tools};

/// The whole program.
#[must_use]
pub fn main() -> ExitCode {
    let program = match Program::try_parse_from(argv::normalise(std::env::args_os())) {
        Ok(program) => program,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage } else { Exit::Done }.into();
        }
    };
    let exit = match program.command {
        Command::Run(args) => run::run(args),
        Command::Version => tools::version(),
        Command::Uuid { input } => tools::uuid(input.as_deref()),
        Command::X25519(args) => keys::x25519(&args),
        Command::Mlkem768(args) => keys::mlkem768(&args),
        Command::Mldsa65(args) => keys::mldsa65(&args),
        Command::Vlessenc => keys::vlessenc(),
        Command::Wg(args) => keys::wg(&args),
        Command::Tls { what } => tls_tools::tls(&what),
        Command::Completions { shell } => tools::completions(shell),
        Command::Man => tools::man(),
        Command::Demo(args) => tools::demo(&args),
        Command::Simulate(args) => simulate::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Convert(args) => convert::run(args),
        Command::Schema { what } => schema::run(&what),
        Command::Route(args) => route::route(&args),
        Command::Dns(args) => dns::dns(&args),
        Command::Geodata { what } => geodata::geodata(&what),
        Command::Balancers(args) => control::balancers(&args),
        Command::Pin(args) => control::pin(args),
        Command::Unpin(args) => control::unpin(args),
        Command::Fence(args) => control::fence(args),
        Command::Unfence(args) => control::unfence(args),
        Command::Test(args) => control::test(args),
    };
    exit.into()
}
