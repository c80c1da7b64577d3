//! The program: words in, an exit status out. All else is in the library.

use std::process::ExitCode;

/// Faster than the system's for the many small, short-lived pieces of a proxy.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    small_pages();
    etemenanki::cli::main()
}

/// Keeps the kernel from backing our few small allocations with pages of two megabytes, which alone would make a third of
/// what the program holds at rest. Where that cannot be had, it only holds more.
fn small_pages() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}
