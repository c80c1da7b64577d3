//! What both halves of a connection are told when they may speak.

use super::segment::Head;
use super::settings::Settings;

/// What both halves of a connection are told when they may speak.
#[derive(Debug, Clone, Copy)]
pub(super) struct Telling<'a> {
    pub(super) now: u32,
    /// After so many milliseconds an answer is overdue.
    pub(super) overdue: u32,
    pub(super) head: Head,
    pub(super) settings: &'a Settings,
    /// The peer has shown that it hears us.
    pub(super) answered: bool,
}
