//! The bench: strategies in virtual time, over a network that is the same for all of them.
//!
//! A [`Place`] makes a world of a seed: members whose paths are known second by second, and what people do there. A
//! [`Row`] is a strategy: one of ours, which is the keeper and the balancer that run in the engine, or a model of how
//! another engine chooses. [`run`] lets every row run through every world, and [`Summary`] says how they did. Nothing
//! here has a clock, a socket or a chance of its own, so two machines print the same numbers. [`replay()`] feeds a
//! journal of real life to any of our strategies.

mod anchors;
mod attempt;
mod bench;
mod carry;
mod contender;
mod design;
mod draw;
mod families;
mod field;
mod natures;
mod network;
mod ours;
mod picture;
mod play;
mod replay;
mod retried;
mod rows;
mod sketch;
mod summary;
mod tally;
#[cfg(test)]
mod tests;
mod traces;
mod trip;
mod workload;
mod worlds;

pub use bench::{Played, Request, run};
pub use design::Design;
pub use picture::picture;
pub use replay::{Course, Record, Recorded, replay};
pub use rows::{Retry, Row};
pub use summary::{Entry, Summary};
pub use tally::Score;
pub use worlds::Place;
