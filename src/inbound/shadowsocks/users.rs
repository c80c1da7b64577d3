//! Who may come in.

use std::fmt;

use crate::addr::Target;
use crate::inbound::drain::Drain;
use crate::inbound::users::Member;
use crate::proto::shadowsocks::Key;
use crate::proto::shadowsocks::v2022::ServerKeys;
use crate::wire::WireError;

/// The users of a Shadowsocks server; all of one generation.
pub struct ShadowsocksUsers(pub(super) Table);

pub(super) enum Table {
    /// Everybody, and nothing is sealed.
    Plain(Member),
    Old(Old),
    New {
        keys: ServerKeys,
        members: Vec<Member>,
        /// Where the bytes of each member go, by a server in the midst of a way; none by one at its end.
        servers: Vec<Target>,
    },
}

/// Users of the old generation, who are told apart by whose key fits.
pub(super) struct Old {
    pub(super) keys: Vec<Key>,
    pub(super) members: Vec<Member>,
    pub(super) drain: Drain,
}

/// Bytes of the shortest opening (Xray's number).
const LEAST: usize = 16 + 38;

impl ShadowsocksUsers {
    /// Everybody is this member, and nothing is sealed.
    #[must_use]
    pub fn plain(member: Member) -> Self {
        Self(Table::Plain(member))
    }

    /// Users with keys of the old generation. `seed` fixes how strangers are sent away; it should depend on the keys and on
    /// nothing else, so that a restart changes nothing.
    #[must_use]
    pub fn old(users: Vec<(Key, Member)>, seed: u64) -> Self {
        let (keys, members) = users.into_iter().unzip();
        Self(Table::Old(Old { keys, members, drain: Drain::new(seed, LEAST) }))
    }

    /// Users with keys of 2022, in the order of the keys.
    #[must_use]
    pub fn new(keys: ServerKeys, members: Vec<Member>) -> Self {
        Self(Table::New { keys, members, servers: Vec::new() })
    }

    /// The same, but what they say is for other servers, in the same order.
    #[must_use]
    pub fn relay(keys: ServerKeys, members: Vec<Member>, servers: Vec<Target>) -> Self {
        Self(Table::New { keys, members, servers })
    }

    /// Whether what is said here is for other servers, which the configuration names.
    pub(super) fn relays(&self) -> bool {
        matches!(&self.0, Table::New { servers, .. } if !servers.is_empty())
    }

    /// The user with this number.
    pub(super) fn member(&self, user: usize) -> &Member {
        const NOBODY: &Member = &Member { email: None, level: 0, place: 0 };
        match &self.0 {
            Table::Plain(member) => member,
            Table::New { members, .. } | Table::Old(Old { members, .. }) => members.get(user).unwrap_or(NOBODY),
        }
    }
}

/// The server to which a user's bytes go.
pub(super) fn next(servers: &[Target], user: usize) -> Result<&Target, WireError> {
    servers.get(user).ok_or(WireError::Malformed { what: "user" })
}

/// Without the keys.
impl fmt::Debug for ShadowsocksUsers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = match &self.0 {
            Table::Plain(_) => 1,
            Table::New { members, .. } | Table::Old(Old { members, .. }) => members.len(),
        };
        write!(f, "ShadowsocksUsers({count})")
    }
}
