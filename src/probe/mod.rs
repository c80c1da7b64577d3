//! Measuring members through their own outbounds, as their keepers ask for it.
//!
//! A `Keeper` (in `balance`) decides what is measured when, and what results mean; it knows no clock and no socket.
//! [`Prober`] owns both: one task a keeper. How a member is measured is behind [`Measure`], so whole rounds are tested
//! under a paused clock. The real measurement sends HTTP through a `tap`: a private socket whose other end is the member's
//! outbound. Probes are flows of their own kind: pinned to the member, marked, never routed, never counted as a user's.

mod choose;
mod client;
mod clock;
mod dial;
mod dns;
mod download;
mod driver;
mod fetch;
mod hold;
mod known;
mod live;
mod measure;
mod prober;
mod rank;
mod recipe;
mod responder;
mod router;
mod running;
mod tap;
mod teller;
mod trust;
mod url;
mod what;

pub use choose::{Unfit, Watched, Why, choose};
pub use download::{Taker, download};
pub use known::Known;
pub use measure::{By, Failure, Measure};
pub use prober::{NotDone, Prober};
pub use rank::BadCost;
pub use url::{BadUrl, read_url};
pub use what::{Mean, Means, Ping, Query, Test, What};
