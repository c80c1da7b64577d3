//! The only place where the parts meet: snapshots, dispatch, associations, tasks.
//!
//! A config becomes a snapshot, which never changes; every flow runs on the one it began with. Inbounds
//! deliver to a `door`, which looks at the first bytes if it was told to, lets the rules and balancers choose, dials, and
//! leaves the flow to the relay. What is needed only until then is let go of before: an idle tunnel is a small future.
//!
//! Another config becomes another snapshot, swapped in while flows run (`apply`); what is equal in both is carried over.

mod apply;
mod assoc;
mod bench;
mod build;
mod choose;
mod ciphers;
mod deciding;
mod diff;
mod dispatch;
mod doors;
mod encryption;
#[allow(clippy::module_inception)]
mod engine;
mod errand;
mod error;
mod exits;
mod facts;
mod handle;
mod house;
mod inquiry;
mod level;
mod life;
mod links;
mod meant;
mod outlook;
mod pairs;
mod plan;
mod presence;
mod reach;
mod resolver;
mod services;
mod shared;
mod snapshot;
mod sniffing;
mod tasks;
mod tell;
mod tunnels;
mod web;

pub use diff::Applied;
pub use engine::{Bound, Engine, Ready};
pub use errand::{Errand, NoWay};
pub use error::{ApplyError, BindError, BuildError};
pub use handle::Handle;
pub use outlook::{Chosen, Outlook, Serving};
pub use plan::Plan;

pub use crate::probe::{Failure, NotDone, Taker};
