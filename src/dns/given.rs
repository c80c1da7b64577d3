//! What the `dns` section is made with.

use super::fakes::Fakes;
use crate::geo::Lists;
use crate::tls::Crypto;

/// What the `dns` section is made with.
#[derive(Debug, Clone, Copy)]
pub struct Given<'a> {
    /// The geodata lists that conditions name.
    pub lists: &'a Lists,
    /// The pools of servers that give fake addresses.
    pub fakes: &'a Fakes,
    /// For servers that are asked through TLS.
    pub crypto: &'a Crypto,
}
