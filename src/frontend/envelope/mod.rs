//! Inbounds and outbounds in both dialects: the two differ in a handful of keys, so they are read and written in one
//! place; `xray` and `toml` offer it under their own names.

pub mod inbound;
pub mod outbound;
mod schema;
mod written;

#[cfg(test)]
mod tests;
