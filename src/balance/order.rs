//! What a person may tell a balancer, from the command line or an API.

use std::time::Duration;

use crate::addr::Tag;

/// An order to one balancer. Orders outlive a reload, not a restart, except in a state file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// New flows go to this member.
    Pin {
        /// Who.
        member: Tag,
        /// For how long; absent: until told otherwise.
        lasts: Option<Duration>,
        /// Even when it is dead; else the strategy then decides.
        strict: bool,
    },
    /// The strategy decides again.
    Unpin,
    /// The member takes no new flow; running ones go on.
    Fence(Tag),
    /// It takes flows again.
    Unfence(Tag),
    /// Measure now: one member, or all.
    Test(Option<Tag>),
}

/// Why an order was not followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No such member.
    #[error("balancer {balancer} has no member {member}; its members are {members}")]
    NoMember {
        /// The balancer.
        balancer: Tag,
        /// Who was named.
        member: Tag,
        /// Who there is.
        members: String,
    },
    /// Nothing is measured there.
    #[error("nothing probes the members of balancer {0}: there is nothing to test")]
    NoProbe(Tag),
    /// A service chooses by the key of each request, and checks its servers by itself.
    #[error("service {0} takes the orders fence and unfence alone")]
    Service(Tag),
}
