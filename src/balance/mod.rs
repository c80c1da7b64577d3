//! Choosing a member: what is known goes in, a member comes out. Pure; time and chance are arguments.
//!
//! Four things are kept apart. A [`Board`] says what is known of each member right now and never changes once made. A
//! [`Strategy`] turns a board and a flow's [`Ask`] into a choice. A [`Balancer`] holds the newest board behind one atomic
//! pointer, so that a pick costs one load and never waits for a measurement. A [`Keeper`] makes the boards: it says what
//! to measure when, takes results and what real flows show ([`Seen`]), and decides who serves, who is ejected and who
//! returns. Whoever drives a keeper owns clocks and sockets: the prober of the engine, or a simulation in virtual time.

mod adaptive;
mod ask;
mod balancer;
mod board;
mod build;
mod chance;
mod guard;
mod health;
mod hrw;
mod job;
mod keeper;
mod key;
mod least;
mod member;
mod memory;
mod moment;
mod order;
mod reason;
mod report;
mod rhythm;
mod roster;
mod rounds;
mod sample;
mod seen;
mod setup;
mod standing;
mod story;
mod strategy;
mod tally;
mod timers;
mod turn;
mod window;
mod witness;

pub use ask::{Ask, Tried};
pub use balancer::{Balancer, Exit, InUse, Pick};
pub use board::{Board, Decision, Life, Pin, Stand, State, Stats, Terms};
pub use hrw::score;
pub use job::{Fail, Job, Kind, Outcome};
pub use keeper::{Act, Keeper};
pub use key::{Facts, Key, KeyPart};
pub use member::Member;
pub use memory::{GroupMemory, Memory, SubjectMemory, Test};
pub use moment::Moment;
pub use order::{Order, Refusal};
pub use report::{DecisionReport, Ejected, MemberReport, PinReport, Report, StatsReport};
pub use sample::Sample;
pub use seen::{Ear, Evidence, Seen};
pub use setup::{Adaptive, Group, Guards, Load, Plan, Rank, Rounds, Setup, Subject};
pub use story::Story;
pub use strategy::Strategy;
pub use witness::{Witness, Witnesses};
