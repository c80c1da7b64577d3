//! Trojan, both sides.

use super::fallback::Fallback;
use crate::model::server::{Account, Users};
use crate::model::user::{VlessFlow, unique_emails};
use crate::shape::{Key, Kind, Reader, Secret, Table};

crate::record! {
    /// Somebody who may come in.
    pub struct TrojanUser {
        /// Password.
        password: Secret<String> => "password";
        /// Policy level.
        level: u8 => "level";
        /// A label, unique in its inbound.
        email: String => "email";
        /// An old XTLS flow; nothing speaks it any more.
        flow: VlessFlow => "flow";
    }
    hook TrojanUser::settle;
}

impl TrojanUser {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        old_flow(cx, table, self.flow);
        if self.password.expose().is_empty() {
            cx.warn(table.node(), Kind::Value, "the password is empty");
        }
    }
}

crate::record! {
    /// A Trojan server.
    pub struct TrojanIn {
        /// Who may come in.
        clients: Vec<TrojanUser> => "clients" | "users";
        /// Where others go.
        fallbacks: Vec<Fallback> => "fallbacks";
    }
    hook TrojanIn::settle;
}

impl TrojanIn {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        unique_emails(cx, table.node(), self.clients.iter().map(|u| u.email.as_str()));
    }
}

crate::record! {
    /// How to be let in by a Trojan server.
    pub struct TrojanAccount {
        /// Password.
        password: Secret<String> => "password", required;
        /// Policy level.
        level: u8 => "level";
        /// A label.
        email: String => "email";
        /// An old XTLS flow; nothing speaks it any more.
        flow: VlessFlow => "flow";
    }
    hook TrojanAccount::settle;
}

impl TrojanAccount {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        old_flow(cx, table, self.flow);
        if table.has(cx.dialect, Key { toml: "password", json: &["password"] }) && self.password.expose().is_empty() {
            cx.error(table.node(), Kind::Missing, "Trojan password is not specified.");
        }
    }
}

impl Account for TrojanAccount {
    const LIST: &'static str = "servers";
    const USERS: Users = Users::Inline;
}

/// Trojan never had Vision: each of its flows belonged to XTLS.
fn old_flow(cx: &mut Reader<'_>, table: &Table<'_>, flow: VlessFlow) {
    if flow != VlessFlow::None {
        let message = format!("flow `{}` for Trojan belongs to XTLS, which is gone; this cannot run", flow.as_str());
        cx.warn(table.node(), Kind::NotBuilt, message);
    }
}
