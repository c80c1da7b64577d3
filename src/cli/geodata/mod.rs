//! `geodata`: looks into the files that lists come from, and makes such files.

mod build;
mod files;
mod list;
mod show;
mod test;
mod update;
mod verb;

pub use verb::geodata;
