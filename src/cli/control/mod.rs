//! The verbs that reach a running engine over its control socket.

mod args;
mod balancers;
mod orders;
mod reach;
mod screen;
mod table;
mod units;

pub use args::{Balancers, Fence, Pin, Test, Unpin};
pub use balancers::balancers;
pub use orders::{fence, pin, test, unfence, unpin};
pub use reach::block_on;
