//! How a running engine learns of changes of its configuration.

use crate::record;

record! {
    /// Taking over changes while running. A signal (HUP) does so whatever is said here. Not a section of Xray's, which passes
    /// over it.
    pub struct Reload {
        /// Whether the files of the configuration are watched; absent = they are if they are TOML. `--watch` and
        /// `--no-watch` win.
        watch: Option<bool> => "watch";
    }
}
