//! gRPC as a carrier, called gun: calls without an end whose messages hold nothing but bytes.
//!
//! A message is five bytes (a flag, its length) and a protobuf record whose field 1 holds the payload: once in the call
//! `Tun`, any number of times in `TunMulti`. Both are read alike. A message is passed on while it arrives, so its length
//! costs no memory and bounds nothing.

mod hunks;
mod paths;
mod status;

pub use hunks::{Hunks, MOST, Piece, overhead, put_prefix};
pub use paths::Paths;
pub use status::{Refusal, is_grpc, refusal};
