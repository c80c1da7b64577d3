//! Files of lists, fetched anew and put in place as one: all of them or none, and each of them whole.

mod fetch;
mod staging;
mod wish;

pub use fetch::{Step, UpdateError, fetch};
pub use staging::{Outcome, Staged};
pub use wish::{Wish, usual, wishes};
