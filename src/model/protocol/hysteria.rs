//! Hysteria 2, both sides. Its password and its pace belong to the stream.

use crate::model::server::{Account, Users};
use crate::model::user::unique_emails;
use crate::shape::{Kind, Reader, Secret, Table};

/// The version that is spoken.
const VERSION: u32 = 2;

crate::record! {
    /// Somebody who may come in.
    pub struct HysteriaUser {
        /// Password.
        auth: Secret<String> => "auth", required;
        /// Policy level.
        level: u32 => "level";
        /// A label, unique in its inbound.
        email: String => "email";
    }
}

crate::record! {
    /// A Hysteria server.
    pub struct HysteriaIn {
        /// Version; 2 is spoken.
        version: u32 = VERSION => "version", stated;
        /// Who may come in; nobody listed means who knows the stream's `auth`.
        clients: Vec<HysteriaUser> => "clients" | "users";
    }
    hook HysteriaIn::settle;
}

impl HysteriaIn {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        version(cx, table, self.version);
        unique_emails(cx, table.node(), self.clients.iter().map(|u| u.email.as_str()));
    }
}

crate::record! {
    /// A Hysteria server's account; its password stands in the stream.
    pub struct HysteriaAccount {
    }
}

crate::record! {
    /// How a Hysteria server is spoken to.
    pub struct HysteriaCommon {
        /// Version; 2 is spoken.
        version: u32 = VERSION => "version", stated;
    }
    hook HysteriaCommon::settle;
}

impl HysteriaCommon {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        version(cx, table, self.version);
    }
}

impl Account for HysteriaAccount {
    const LIST: &'static str = "servers";
    const USERS: Users = Users::Inline;

    /// Xray knows no list of servers here.
    fn flat_only(&self) -> bool {
        true
    }
}

/// Reports any version but the one that is spoken.
pub(crate) fn version(cx: &mut Reader<'_>, table: &Table<'_>, version: u32) {
    if version != VERSION {
        cx.error(table.node(), Kind::Value, "version != 2").help = Some("add \"version\": 2".into());
    }
}
