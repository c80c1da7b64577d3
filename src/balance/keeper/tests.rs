//! The contract of keepers, each rule by its number. A world in virtual time answers their measurements.

mod adaptive;
mod any;
mod guards;
mod lights;
mod optimal;
mod orders;
mod world;
