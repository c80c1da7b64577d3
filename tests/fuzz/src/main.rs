//! One program for all targets; `FUZZ_TARGET` names the one to run.
#![no_main]

use std::sync::LazyLock;

mod targets;

static TARGET: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let known = || targets::ALL.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" ");
    let found = targets::ALL.iter().find(|(target, _)| *target == name);
    found.unwrap_or_else(|| panic!("FUZZ_TARGET must be one of: {}", known())).1
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| TARGET(data));
