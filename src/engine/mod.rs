//! The only place where the parts meet: snapshots, dispatch, associations, tasks.
//!
//! A config becomes a snapshot, which never changes; every flow runs on the one it began with. Inbounds
//! deliver to a `door`, which looks at the first bytes if it was told to, lets the rules and balancers choose, dials, and
//! leaves the flow to the relay. What is needed only until then is let go of before: an idle tunnel is a small future.

mod assoc;
mod build;
mod choose;
mod dispatch;
mod doors;
#[allow(clippy::module_inception)]
mod engine;
mod error;
mod exits;
mod facts;
mod handle;
mod hosts;
mod house;
mod level;
mod links;
mod presence;
mod reach;
mod resolver;
mod services;
mod shared;
mod snapshot;
mod sniffing;
mod tell;
mod web;

pub use engine::{Bound, Engine};
pub use error::{BindError, BuildError};
pub use handle::Handle;
