//! The command line: words in, an exit status out. The only folder that prints.
//!
//! `run` and `--test` say everything on standard output, since panels open a pipe for standard error and never read it;
//! every other verb puts its result on standard output and its messages on standard error.

mod args;
mod argv;
mod assets;
mod bench_args;
mod control;
mod convert;
mod dns;
mod dns_args;
mod ech;
mod entry;
mod exit;
mod fetch;
mod geodata;
mod geodata_args;
mod key_args;
mod keys;
mod prepare;
mod replay;
mod route;
mod route_args;
mod run;
mod say;
mod schema;
mod serve;
mod simulate;
mod sources;
mod state;
mod tls_tools;
mod tools;
mod words;

pub use entry::main;
