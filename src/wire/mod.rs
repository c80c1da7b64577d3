//! The sans-io toolkit: a checked cursor, the handshake contract, the body contract.
//!
//! Nothing here waits, looks at a clock or owns a socket. A protocol is a value that eats bytes; one driver (`net::drive`)
//! feeds all of them, so deadlines, size caps and partial reads are written once.

mod error;
mod parcel;
mod preface;
mod reader;
mod seal;
mod step;
#[cfg(test)]
pub mod testing;

pub use error::WireError;
pub use parcel::{Frames, Parcel, SealWhole, Unpacked};
pub use preface::{Preface, TOGETHER, Unframed};
pub use reader::Reader;
pub use seal::{Next, Open, Opened, Seal};
pub use step::{Handshake, Step, whole};
