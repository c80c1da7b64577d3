//! `etemenanki demo`: the main job shown in under half a minute, with nothing but this binary.
//!
//! Three real SOCKS servers with shaped lines, an HTTP source behind them, and the engine in front with an Xray config of
//! 30 lines. The lines change; who serves must follow. Whether it did is judged by what the servers carried, against what
//! their lines were truly worth, and never by what the engine says of itself.

mod config;
mod house;
mod judge;
mod line;
mod run;
mod sabotage;
mod scene;
mod screen;
mod source;
mod traffic;
mod upstream;

pub use run::{DemoError, Options, run};
pub use screen::Mode;
