//! Words of a journal for things that have other names in the code, so that a change there changes no file.

use serde::{Deserialize, Serialize};

/// An enumeration of words.
macro_rules! named {
    ($($(#[doc = $doc:literal])* $name:ident { $($(#[doc = $vdoc:literal])* $variant:ident,)* })*) => {$(
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[doc = $vdoc])* $variant,)* }
    )*};
}

named! {
    /// What a measurement did.
    KindWord {
        /// The full test.
        Test,
        /// The plan's own light probe.
        Light,
        /// A light probe of the guards.
        Life,
        /// A light probe to the second address.
        Second,
        /// A request by no member.
        Direct,
    }
    /// How a measurement failed.
    FailWord {
        /// The member refused.
        Refused,
        /// Not finished in time; the time is that of the limit.
        Timeout,
        /// A bad answer.
        Answer,
        /// Anything else.
        Other,
    }
    /// What a decision is about.
    About {
        /// The terms of a score.
        Scored,
        /// Who serves.
        Serving,
        /// A member went up or down.
        Turned,
        /// A member was suspected, ejected or returned.
        Guarded,
        /// Something about the whole.
        Noted,
    }
    /// What a flow carried.
    NetworkWord {
        /// A byte stream.
        Tcp,
        /// Datagrams.
        Udp,
    }
    /// What a flow showed.
    EvidenceWord {
        /// The member was ready.
        Dialed,
        /// It refused.
        Refused,
        /// The dial ran into its limit.
        TimedOut,
        /// No byte came back.
        Silent,
        /// The first byte came back.
        Answered,
        /// The flow ended.
        Received,
    }
}
