//! Plain and CONNECT requests to an HTTP proxy, both sides.

use std::collections::BTreeMap;

use crate::model::server::{Account, Users};
use crate::shape::Secret;

crate::record! {
    /// A name and a password.
    pub struct Login {
        /// The name.
        user: String => "user", required;
        /// The password.
        pass: Secret<String> => "pass", required;
    }
    ignored { "email" | "level" => "logins of http and socks have none" }
}

crate::record! {
    /// An HTTP proxy.
    pub struct HttpIn {
        /// Who may come in; nobody listed means everybody. Of equal names the last counts.
        accounts: Vec<Login> => "accounts" | "users";
        /// Also take requests as a web server gets them (`GET /path` with a Host header).
        allow_transparent: bool => "allowTransparent";
        /// Which policy level its flows have.
        user_level: u32 => "userLevel";
    }
    ignored { "timeout" => "an older key; the policy's idle time counts" }
}

crate::record! {
    /// How to log in to an HTTP proxy.
    pub struct HttpAccount {
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
    /// What is sent to an HTTP proxy with every request.
    pub struct HttpCommon {
        /// Headers of the CONNECT request; `{{.Source}}` and `{{.Target}}` in them are replaced.
        headers: BTreeMap<String, String> => "headers";
    }
}

impl HttpAccount {
    /// Name and password, if there is to be a login.
    #[must_use]
    pub fn login(&self) -> Option<(&str, &str)> {
        (!self.user.is_empty()).then(|| (self.user.as_str(), self.pass.expose().as_str()))
    }
}

impl Account for HttpAccount {
    const LIST: &'static str = "servers";
    const USERS: Users = Users::AtMostSome;
}
