//! Who and where: names, addresses, ports and tags.
//!
//! Everything here is checked once, when it is made; the rest of the engine never looks at raw host text again.

mod domain;
mod ports;
mod tag;
mod target;

pub use domain::{BadDomain, DomainName};
pub use ports::{BadPorts, PortSet};
pub use tag::{BalancerId, Hop, OutboundId, Tag};
pub use target::{BadTarget, Host, Network, Target};
