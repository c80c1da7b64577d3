//! Interop with programs that we did not write: every protocol over every carrier and security, in both directions.
//!
//! A [`link::Link`] is a combination, `links` lists all. For each the programs of `sides` write their own configuration, as
//! server and as client, or say why they cannot: that sentence stands in `docs/compatibility.md`, which `table` makes and a
//! test compares. `group` runs all links of a pair of programs with one process a side, and `checks` says what each has to
//! carry. `runs` are the tests, and `configs` those of files in `testdata`.

pub mod checks;
mod configs;
mod group;
mod keys;
mod link;
mod links;
mod runs;
mod sides;
pub mod socks;
mod strangers;

mod table;
pub mod targets;
