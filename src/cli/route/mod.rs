//! `route`: explains which way flows would take, rule by rule, without sending any.

mod flows;
mod picture;
mod verb;

pub use verb::route;
