//! Choosing a member: what is known goes in, a member comes out. Pure; time and chance are arguments.
//!
//! Three things are kept apart. A [`Board`] says what is known of each member right now and never changes once made. A
//! [`Strategy`] turns a board into a choice. A [`Balancer`] holds the newest board behind one atomic pointer, so that a
//! pick costs one load and never waits for a measurement. Where boards come from is the business of `probe`, with
//! [`Round`] for speed tests and [`Pulse`] for plain "is it there" probes.

mod balancer;
mod board;
mod build;
mod member;
mod optimal;
mod pulse;
mod strategy;
mod verdict;

pub use balancer::{Balancer, Exit, Pick};
pub use board::{Board, Life, State};
pub use member::Member;
pub use optimal::{Attempt, Round, Sample};
pub use pulse::{Beat, Pulse};
pub use strategy::{Ask, Strategy};
pub use verdict::{Reason, Verdict};
