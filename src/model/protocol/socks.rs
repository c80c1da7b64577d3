//! SOCKS, both sides. The inbound serves SOCKS4, 4a, 5 and HTTP on one port.

use super::http::Login;
use crate::addr::Host;
use crate::model::server::{Account, Users};
use crate::shape::{Class, Key, Kind, Reader, Secret, Severity, Table};

crate::words! {
    /// Whether a login is asked for.
    pub enum SocksAuth(fold) {
        /// Everybody may come in.
        NoAuth = "noauth" => "noauth" | "";
        /// Only who knows a name and its password.
        Password = "password";
    }
}

crate::record! {
    /// A SOCKS and HTTP proxy on one port.
    pub struct SocksIn {
        /// Whether a login is asked for; with accounts and without this key, it is.
        auth: SocksAuth => "auth";
        /// Who may log in.
        accounts: Vec<Login> => "accounts" | "users";
        /// Whether UDP is relayed.
        udp: bool => "udp";
        /// The address UDP is relayed at; none means the one the client connected to.
        ip: Option<Host> => "ip";
        /// Which policy level its flows have.
        user_level: u32 => "userLevel";
    }
    ignored { "timeout" => "an older key; the policy's idle time counts" }
    hook SocksIn::settle;
}

impl SocksIn {
    /// Who may log in, if a login is asked for.
    #[must_use]
    pub fn logins(&self) -> Option<&[Login]> {
        (self.auth == SocksAuth::Password).then_some(self.accounts.as_slice())
    }

    /// An open door must be meant: accounts without `auth` ask for a login, where Xray would let everybody in.
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        let key = Key { toml: "auth", json: &["auth"] };
        let said = table.peek(cx.dialect, key);
        // Hysteria's `auth` is a password; this one is a word, and who misspelt it must see it. Only where it was refused: a
        // large file has many.
        if let Some(entry) = said.filter(|entry| entry.node.text().is_some_and(|word| !known(word))) {
            cx.shown.push(entry.node.span);
        }
        let node = table.node();
        let at = table.peek(cx.dialect, Key { toml: "ip", json: &["ip"] });
        if let (Some(Host::Domain(name)), Some(entry), true) = (&self.ip, at, self.udp) {
            let what = format!("`ip` must be an address, not the name {name}");
            cx.key(&entry.key, |cx| {
                cx.error(&entry.node, Kind::Value, what);
            });
        }
        match (self.auth, self.accounts.is_empty()) {
            (SocksAuth::NoAuth, false) if said.is_none() => {
                self.auth = SocksAuth::Password;
                let note = "accounts without `auth`: a login is asked for, where Xray lets everybody in";
                cx.report(Severity::Note, Kind::Value, node.span, note).help =
                    Some("add `\"auth\": \"password\"`, or remove the accounts".into());
                cx.mark(node.span, Class::Rewritten, "auth is password");
            }
            (SocksAuth::NoAuth, false) => {
                // A word that is none of the two was refused at its own place; nothing follows from it.
                if !said.and_then(|entry| entry.node.text()).is_some_and(known) {
                    return;
                }
                // Kept, they would ask for a login in a file that is written without the default `auth`.
                self.accounts.clear();
                cx.warn(node, Kind::Ignored, "the accounts are not asked for: `auth` is `noauth`");
            }
            (SocksAuth::Password, true) => {
                cx.warn(node, Kind::Value, "nobody can log in: `auth` is `password` and there are no accounts");
            }
            _ => {}
        }
    }
}

/// Whether a word says how to log in.
fn known(word: &str) -> bool {
    ["", "noauth", "password"].iter().any(|known| word.eq_ignore_ascii_case(known))
}

crate::words! {
    /// Which SOCKS is spoken to a server.
    pub enum SocksVersion(exact) {
        /// SOCKS5.
        V5 = "5" => "5" | "";
        /// SOCKS4: addresses only, TCP only.
        V4 = "4";
        /// SOCKS4a: names too, TCP only.
        V4a = "4a";
    }
}

crate::record! {
    /// How to log in to a SOCKS proxy.
    pub struct SocksAccount {
        /// The name; empty means no login.
        user: String => "user";
        /// The password.
        pass: Secret<String> => "pass";
        /// Policy level.
        level: u32 => "level";
        /// A label.
        email: String => "email";
    }
}

crate::record! {
    /// How to speak to a SOCKS proxy.
    pub struct SocksCommon {
        /// Which SOCKS is spoken; V2Ray's key, which Xray does not know.
        version: SocksVersion => "version";
    }
    hook SocksCommon::settle;
}

impl SocksCommon {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        if self.version != SocksVersion::V5 {
            let node = table.node();
            cx.warn(node, Kind::Legacy, "SOCKS4 is asked for with V2Ray's `version`; Xray would speak SOCKS5 here");
        }
    }
}

impl SocksAccount {
    /// Name and password, if there is to be a login.
    #[must_use]
    pub fn login(&self) -> Option<(&str, &str)> {
        (!self.user.is_empty()).then(|| (self.user.as_str(), self.pass.expose().as_str()))
    }
}

impl Account for SocksAccount {
    const LIST: &'static str = "servers";
    const USERS: Users = Users::AtMostSome;
}
