//! Shadowsocks, both sides, of both generations.

use crate::addr::Host;
use crate::model::fields::{Networks, Port};
use crate::model::keys::base64;
use crate::model::server::{Account, Users};
use crate::model::user::unique_emails;
use crate::shape::{Key, Kind, Node, Reader, Secret, Table};

crate::words! {
    /// How bytes are sealed.
    pub enum SsMethod(fold) {
        /// AES-128-GCM.
        Aes128Gcm = "aes-128-gcm" => "aes-128-gcm" | "aead_aes_128_gcm";
        /// AES-256-GCM.
        Aes256Gcm = "aes-256-gcm" => "aes-256-gcm" | "aead_aes_256_gcm";
        /// ChaCha20-Poly1305.
        Chacha20 = "chacha20-ietf-poly1305" => "chacha20-ietf-poly1305" | "chacha20-poly1305" | "aead_chacha20_poly1305";
        /// XChaCha20-Poly1305.
        Xchacha20 = "xchacha20-ietf-poly1305" => "xchacha20-ietf-poly1305" | "xchacha20-poly1305" | "aead_xchacha20_poly1305";
        /// Shadowsocks 2022 with AES-128-GCM.
        Blake3Aes128 = "2022-blake3-aes-128-gcm";
        /// Shadowsocks 2022 with AES-256-GCM.
        Blake3Aes256 = "2022-blake3-aes-256-gcm";
        /// Shadowsocks 2022 with ChaCha20-Poly1305; one user only.
        Blake3Chacha20 = "2022-blake3-chacha20-poly1305";
        /// Nothing is sealed.
        None = "none" => "none" | "plain";
    }
}

impl SsMethod {
    /// Whether it is of the generation of 2022.
    #[must_use]
    pub fn is_2022(self) -> bool {
        matches!(self, Self::Blake3Aes128 | Self::Blake3Aes256 | Self::Blake3Chacha20)
    }

    /// Bytes of its key.
    #[must_use]
    pub fn key_len(self) -> usize {
        match self {
            Self::None => 0,
            Self::Aes128Gcm | Self::Blake3Aes128 => 16,
            _ => 32,
        }
    }
}

crate::record! {
    /// Somebody who may come in.
    pub struct SsUser {
        /// Password, or key in base64 for a method of 2022.
        password: Secret<String> => "password", required;
        /// Method; for methods of 2022 the inbound's counts and none may stand here.
        method: Option<SsMethod> => "method";
        /// Policy level.
        level: u8 => "level";
        /// A label, unique in its inbound.
        email: String => "email";
        /// Relay: the server this user's bytes go to.
        address: Option<Host> => "address";
        /// Relay: its port.
        port: Port => "port";
    }
    ignored { "id" | "flow" => "a key of other protocols", "ota" | "ivCheck" => "an older key" }
}

crate::record! {
    /// A Shadowsocks server.
    pub struct SsIn {
        /// Method; needed unless every user has its own.
        method: Option<SsMethod> => "method";
        /// Password, or key in base64 for a method of 2022.
        password: Secret<String> => "password";
        /// Users; if the key is there, only they may come in.
        clients: Option<Vec<SsUser>> => "clients" | "users";
        /// Policy level of the single user.
        level: u8 => "level";
        /// Label of the single user.
        email: String => "email";
        /// Which sockets are opened.
        network: Networks = Networks::TCP => "network";
    }
    ignored { "udp" => "use network \"tcp,udp\"", "ota" | "ivCheck" => "an older key" }
    hook SsIn::settle;
}

impl SsIn {
    /// The users, none for the single-user form.
    #[must_use]
    pub fn users(&self) -> &[SsUser] {
        self.clients.as_deref().unwrap_or_default()
    }

    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        let node = table.node();
        gone(cx, node);
        let failed = !table.has(cx.dialect, Key { toml: "method", json: &["method"] });
        unique_emails(cx, node, self.users().iter().map(|u| u.email.as_str()));
        unsealed(cx, node, self.method);
        if self.method.is_some_and(SsMethod::is_2022) {
            return self.settle_2022(cx, node);
        }
        let Some(users) = &self.clients else {
            if self.password.expose().is_empty() {
                cx.error(node, Kind::Missing, "Shadowsocks password is not specified.");
            }
            if failed {
                cx.error(node, Kind::Missing, "missing field `method`");
            }
            return;
        };
        for (n, user) in users.iter().enumerate() {
            unsealed(cx, node, user.method);
            if user.method.is_none_or(SsMethod::is_2022) {
                cx.error(node, Kind::Missing, format!("clients[{n}]: every user needs a method of its own"));
            }
            if user.password.expose().is_empty() {
                cx.error(node, Kind::Missing, format!("clients[{n}]: Shadowsocks password is not specified."));
            }
        }
        if users.is_empty() {
            cx.warn(node, Kind::Value, "nobody can come in: the list of users is empty");
        }
    }

    fn settle_2022(&self, cx: &mut Reader<'_>, node: &Node) {
        let users = self.users();
        let relay = users.first().is_some_and(|u| u.address.is_some());
        let form = if relay { "relay" } else { "multi-user" };
        if !users.is_empty() && self.method == Some(SsMethod::Blake3Chacha20) {
            let message = format!("shadowsocks 2022 ({form}): only blake3-aes-*-gcm methods are supported");
            cx.error(node, Kind::Conflict, message);
        }
        for user in users {
            if user.method.is_some() {
                cx.error(node, Kind::Conflict, format!("shadowsocks 2022 ({form}): users must have empty method"));
            }
            if relay && (user.address.is_none() || user.port.0 == 0) {
                cx.error(node, Kind::Missing, "shadowsocks 2022 (relay): all users must have relay address");
            }
        }
    }

    /// Checks the keys of 2022; done outside, where the tag is known, because the message names it.
    pub fn check_keys(&self, cx: &mut Reader<'_>, node: &Node, whose: &str) {
        let Some(method) = self.method.filter(|m| m.is_2022()) else {
            return;
        };
        check_key(cx, node, whose, method, self.password.expose());
        for (n, user) in self.users().iter().enumerate() {
            check_key(cx, node, &format!("{whose}, clients[{n}]"), method, user.password.expose());
        }
    }
}

crate::record! {
    /// How to be let in by a Shadowsocks server.
    pub struct SsAccount {
        /// Method.
        method: SsMethod => "method", required;
        /// Password; for a method of 2022 keys in base64 with `:` between.
        password: Secret<String> => "password", required;
        /// Policy level.
        level: u8 => "level";
        /// A label.
        email: String => "email";
    }
    ignored {
        "uot" | "UoTVersion" => "Xray removed it; UDP goes as UDP",
        "ota" | "ivCheck" => "an older key",
    }
    hook SsAccount::settle;
}

impl SsAccount {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        gone(cx, table.node());
        unsealed(cx, table.node(), Some(self.method));
        if table.has(cx.dialect, Key { toml: "password", json: &["password"] }) && self.password.expose().is_empty() {
            cx.error(table.node(), Kind::Missing, "Shadowsocks password is not specified.");
        }
    }

    /// Checks the keys of 2022.
    pub fn check_keys(&self, cx: &mut Reader<'_>, node: &Node, whose: &str) {
        if self.method.is_2022() {
            for part in self.password.expose().split(':') {
                check_key(cx, node, whose, self.method, part);
            }
        }
    }
}

impl Account for SsAccount {
    const LIST: &'static str = "servers";
    const USERS: Users = Users::Inline;
}

/// Says of a stream cipher that it is gone, and what there is instead: old lists of servers are full of them.
fn gone(cx: &mut Reader<'_>, node: &Node) {
    let written = node.map().into_iter().flatten().find(|entry| entry.key == "method");
    let Some((method, text)) = written.and_then(|entry| Some((&entry.node, entry.node.text()?))) else { return };
    let lower = text.to_ascii_lowercase();
    if !STREAM_MODES.iter().any(|end| lower.ends_with(end)) && !STREAM_CIPHERS.contains(&lower.as_str()) {
        return;
    }
    let found = cx.problems.iter_mut().find(|problem| problem.span == Some(method.span));
    if let Some(problem) = found {
        problem.message = format!(
            "the stream cipher `{text}` is not spoken: it does not notice when bytes are changed on the way, and Xray has \
             removed it too"
        );
        problem.help = Some(
            "give the server one of aes-128-gcm, aes-256-gcm, chacha20-ietf-poly1305 or 2022-blake3-aes-128-gcm, and \
             write the same here"
                .into(),
        );
    }
}

/// How the names of stream ciphers end, and those that end otherwise.
const STREAM_MODES: [&str; 5] = ["-cfb", "-cfb1", "-cfb8", "-ctr", "-ofb"];
const STREAM_CIPHERS: [&str; 8] =
    ["chacha20", "chacha20-ietf", "rc4", "rc4-md5", "rc4-md5-6", "salsa20", "table", "xchacha20"];

fn unsealed(cx: &mut Reader<'_>, node: &Node, method: Option<SsMethod>) {
    if method == Some(SsMethod::None) {
        cx.warn(node, Kind::Legacy, "method `none` seals nothing; Xray has removed it");
    }
}

fn check_key(cx: &mut Reader<'_>, node: &Node, whose: &str, method: SsMethod, text: &str) {
    let (name, wants) = (method.as_str(), method.key_len());
    let fault = match base64(text).map(|key| key.len()) {
        None => format!("{whose}: the key for {name} must be {wants} bytes in base64, and this is no base64"),
        Some(has) if has < wants => format!("{whose}: the key for {name} needs {wants} bytes in base64, has {has}"),
        Some(has) if has > wants => {
            let message = format!("{whose}: the key for {name} needs {wants} bytes, has {has}");
            cx.warn(node, Kind::Value, message).help =
                Some("its SHA-256 is used, cut to length, as Xray and sing-box do".into());
            return;
        }
        Some(_) => return,
    };
    cx.error(node, Kind::Value, fault).help = Some(format!("make one with: openssl rand -base64 {wants}"));
}
