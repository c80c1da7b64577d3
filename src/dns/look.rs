//! What is asked about a name, and what comes of it.

use std::net::IpAddr;
use std::sync::Arc;

use super::family::Families;

/// What is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// The families. The section may know less of them.
    pub families: Families,
    /// Whether fake addresses will do. Only clients that come back with them are given any.
    pub fakes: bool,
}

/// What a name has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looked {
    /// The addresses, best first, never none.
    pub ips: Arc<[IpAddr]>,
    /// For how many seconds they are good: what is left of it where they were kept, 1 where they are past their time.
    pub ttl: u32,
    /// Who said so.
    pub by: By,
}

/// Who said what a name has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The section's hosts.
    Hosts,
    /// The server at this place in the section; behind all of them stands the operating system, where nobody else is left.
    Server(usize),
}

impl Asked {
    /// Addresses of both families that can be dialed.
    pub const REAL: Self = Self { families: Families::BOTH, fakes: false };
}
