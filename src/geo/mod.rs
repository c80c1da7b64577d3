//! Sets of names and of networks, and the geodata files (`geosite.dat`, `geoip.dat`) that such sets come from.
//!
//! A set is compiled once and asked for any number of entries at the price of one; a list of a file is compiled once and
//! shared by all that name it. Only `assets.rs` touches files; everything else takes bytes.

mod addresses;
mod assets;
mod build;
mod dat;
mod expressions;
mod fault;
mod hashed;
mod lists;
mod names;
mod needle;
mod nested;
mod nets;
mod pattern;
mod protobuf;
mod table;
mod text;
mod write;

pub use addresses::Addresses;
pub use assets::{Assets, Found, ListError};
pub use build::Builder;
pub use dat::{Code, Scan, Site, SiteKind, holds, networks, sites};
pub use fault::DatError;
pub use hashed::Hashed;
pub use lists::{Lists, Wanted};
pub use names::{Match, Names};
pub use nested::Nested;
pub use nets::Nets;
pub use pattern::{CompileError, any_of};
pub use text::{TextError, TextList, read_text, text_of};
pub use write::{GeoIp, GeoSite, write_networks, write_sites};
