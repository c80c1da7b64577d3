//! Where geodata files are looked for.

use crate::geo::Assets;

/// The directories of this program and its environment.
pub fn assets() -> Assets {
    Assets::usual(&|name| std::env::var(name).ok(), std::env::current_exe().ok().as_deref())
}
