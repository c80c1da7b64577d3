//! VLESS, both sides.

use super::fallback::Fallback;
use super::vlesskey::{Decryption, Encryption};
use crate::addr::Tag;
use crate::model::keys::UserId;
use crate::model::server::{Account, Users};
use crate::model::sniffing::Sniffing;
use crate::model::user::{VlessFlow, unique_emails};
use crate::shape::{Key, Kind, Reader, Table};

/// Vision's padding when nothing is said.
const SEED: [u32; 4] = [900, 500, 900, 256];

crate::record! {
    /// The outbound that appears while this user's tunnel is open.
    pub struct ReverseUser {
        /// Its tag.
        tag: Tag => "tag", required;
    }
    taken { "sniffing" => "Belongs to the outbound side." }
    hook ReverseUser::settle;
}

impl ReverseUser {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        if table.take(cx, Key::json(&["sniffing"])).is_some() {
            cx.error(table.node(), Kind::Conflict, "VLESS users: \"sniffing\" of \"reverse\" belongs to the outbound");
        }
        if table.has(cx.dialect, Key { toml: "tag", json: &["tag"] }) && self.tag.is_empty() {
            cx.error(table.node(), Kind::Value, "VLESS users: \"tag\" can't be empty for \"reverse\"");
        }
    }
}

crate::record! {
    /// Somebody who may come in.
    pub struct VlessUser {
        /// Id.
        id: UserId => "id", required;
        /// How what it carries is wrapped; empty takes the inbound's.
        flow: VlessFlow => "flow";
        /// A label, unique in its inbound.
        email: String => "email";
        /// Policy level.
        level: u32 => "level";
        /// This user may only open reverse tunnels.
        reverse: Option<ReverseUser> => "reverse";
        /// Vision's padding; fewer than four numbers take the inbound's.
        testseed: Vec<u32> => "testseed";
    }
    ignored { "alterId" | "security" => "a key of VMess" }
    taken { "encryption" => "Must be absent: the inbound's `decryption` counts." }
    hook VlessUser::settle;
}

impl VlessUser {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        if let Some(entry) = table.take(cx, Key::json(&["encryption"]))
            && entry.node.text() != Some("")
        {
            cx.error(&entry.node, Kind::Conflict, "VLESS users: \"encryption\" should not be in inbound settings");
        }
        self.flow.check(cx, table.node());
        if self.flow == VlessFlow::VisionUdp443 {
            let message = "VLESS users: \"flow\" doesn't support \"xtls-rprx-vision-udp443\" in this version";
            cx.error(table.node(), Kind::Value, message).help = Some("that form is for outbounds".into());
        }
    }
}

crate::record! {
    /// A VLESS server.
    pub struct VlessIn {
        /// Who may come in.
        clients: Vec<VlessUser> => "clients" | "users";
        /// `none`, or the keys of VLESS' own encryption.
        decryption: Decryption => "decryption", stated;
        /// Where others go.
        fallbacks: Option<Vec<Fallback>> => "fallbacks";
        /// Flow of users who have none.
        flow: VlessFlow => "flow";
        /// Vision's padding of users who have none.
        testseed: Vec<u32> = SEED.to_vec() => "testseed";
    }
    hook VlessIn::settle;
}

impl VlessIn {
    /// Whether somebody's streams are wrapped by Vision.
    #[must_use]
    pub fn has_vision(&self) -> bool {
        self.flow == VlessFlow::Vision || self.clients.iter().any(|user| user.flow == VlessFlow::Vision)
    }

    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        let node = table.node();
        if self.fallbacks.is_some() && !self.decryption.is_none() {
            let message = "VLESS settings: \"fallbacks\" can not be used together with \"decryption\"";
            cx.error(node, Kind::Conflict, message);
        }
        if self.flow == VlessFlow::VisionUdp443 {
            let message = "VLESS \"settings.flow\" doesn't support \"xtls-rprx-vision-udp443\" in this version";
            cx.error(node, Kind::Value, message);
        }
        self.flow.check(cx, node);
        unique_emails(cx, node, self.clients.iter().map(|u| u.email.as_str()));
    }
}

crate::record! {
    /// A tunnel through which the server sends flows to this side.
    pub struct Reverse {
        /// The inbound tag under which they appear.
        tag: Tag => "tag", required;
        /// What is read from their first bytes.
        sniffing: Sniffing => "sniffing";
    }
}

crate::record! {
    /// How to be let in by a VLESS server.
    pub struct VlessAccount {
        /// Id.
        id: UserId => "id", required;
        /// How what it carries is wrapped.
        flow: VlessFlow => "flow";
        /// `none`, or the keys of VLESS' own encryption.
        encryption: Encryption => "encryption", stated;
        /// Policy level.
        level: u32 => "level";
        /// A label.
        email: String => "email";
        /// Opens a reverse tunnel.
        reverse: Option<Reverse> => "reverse";
        /// How many connections are opened ahead.
        testpre: u32 => "testpre";
        /// Vision's padding.
        testseed: Vec<u32> => "testseed";
    }
    ignored { "seed" => "Xray reads it and drops it", "alterId" | "security" => "a key of VMess" }
    hook VlessAccount::settle;
}

impl VlessAccount {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        self.flow.check(cx, table.node());
        // In the list of servers a user has no address beside it; only the short form may hold `reverse`.
        if cx.json() && self.reverse.is_some() && !table.has(cx.dialect, Key::json(&["address"])) {
            let message = "VLESS users: please use simplified outbound's config style to use \"reverse\"";
            cx.error(table.node(), Kind::Conflict, message);
        }
    }
}

impl Account for VlessAccount {
    const LIST: &'static str = "vnext";
    const USERS: Users = Users::AtLeastOne;

    fn flat_only(&self) -> bool {
        self.reverse.is_some()
    }
}
