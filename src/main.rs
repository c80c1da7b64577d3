//! The program: words in, an exit status out. All else is in the library.

use std::process::ExitCode;

/// Faster than the system's for the many small, short-lived pieces of a proxy.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    etemenanki::cli::main()
}
