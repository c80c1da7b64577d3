//! Measuring members through their own outbounds, on a schedule that is itself pure.
//!
//! [`Prober`] runs one task a balancer. What is due when is decided by `schedule` alone; how a member is measured is
//! behind [`Measure`], so whole rounds are tested under a paused clock. The real measurement sends HTTP through a `tap`:
//! a private socket whose other end is the member's outbound. Probes are flows of their own kind: pinned to the member,
//! marked, never routed, never counted as a user's.

mod choose;
mod driver;
mod fetch;
mod hold;
mod live;
mod measure;
mod plan;
mod prober;
mod schedule;
mod tap;
mod teller;
mod trust;

pub use measure::{Failure, Measure};
pub use plan::{BadUrl, Check, Checks, Order, Plan, Speed, Startup, read_url};
pub use prober::{Prober, Watched};
