//! Secrets and certificates of a run, known to both sides.

use std::path::PathBuf;

use aws_lc_rs::agreement;
use aws_lc_rs::encoding::{AsBigEndian, Curve25519SeedBin};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use rand::RngExt;
use uuid::Uuid;

use crate::support::{Authority, Certificate};

use etemenanki::proto::vless::encryption::PrivateKey;

use super::link::{Auth, Proto, Sealed, Users};

/// The name in the certificate of our servers.
pub const NAME: &str = "proxy.matrix.test";

/// What one client knows.
pub struct Secrets {
    pub uuid: String,
    pub password: String,
    key: [u8; 32],
    user: [u8; 32],
    /// What VLESS' encryption is made of.
    seed: [u8; 64],
}

/// What all programs of a run are given.
pub struct Keys {
    pub right: Secrets,
    /// Those of somebody whom no server knows, but for what all users of a server share.
    pub wrong: Secrets,
    pub authority: Authority,
    pub certificate: Certificate,
    pub reality: Reality,
}

/// A REALITY server's key, and where it borrows its face.
pub struct Reality {
    pub private: String,
    pub public: String,
    pub short: String,
    /// Where the borrowed server listens.
    pub dest: u16,
}

impl Keys {
    /// `dest` is the port of the server whose face REALITY borrows; it shows a certificate for [`NAME`] as well.
    pub fn new(authority: Authority, dest: u16) -> Self {
        let right = Secrets::new();
        let wrong = Secrets { key: right.key, ..Secrets::new() };
        let certificate = authority.issue(NAME);
        Self { right, wrong, authority, certificate, reality: Reality::new(dest) }
    }

    pub fn cert(&self) -> PathBuf {
        self.certificate.cert()
    }

    pub fn key(&self) -> PathBuf {
        self.certificate.key()
    }

    pub fn ca(&self) -> PathBuf {
        self.authority.cert()
    }
}

impl Secrets {
    fn new() -> Self {
        let mut rng = rand::rng();
        let password = format!("p{}", Uuid::new_v4().simple());
        Self { uuid: Uuid::new_v4().to_string(), password, key: rng.random(), user: rng.random(), seed: rng.random() }
    }

    /// `decryption` of a VLESS server.
    pub fn decryption(&self, sealed: Option<Sealed>) -> String {
        let Some(sealed) = sealed else { return "none".into() };
        let keys = self.sealing(sealed.auth).map(|key| URL_SAFE_NO_PAD.encode(key));
        format!("mlkem768x25519plus.{}.600s.{}", sealed.mode, keys.collect::<Vec<_>>().join("."))
    }

    /// `encryption` of its client.
    pub fn encryption(&self, sealed: Option<Sealed>) -> String {
        let Some(sealed) = sealed else { return "none".into() };
        let public = |key: &[u8]| PrivateKey::new(key).expect("it is as long as a key").public().to_vec();
        let keys = self.sealing(sealed.auth).map(|key| URL_SAFE_NO_PAD.encode(public(key)));
        format!("mlkem768x25519plus.{}.{}.{}", sealed.mode, sealed.when, keys.collect::<Vec<_>>().join("."))
    }

    fn sealing(&self, auth: Auth) -> impl Iterator<Item = &[u8]> {
        let keys = match auth {
            Auth::X25519 => vec![&self.seed[..32]],
            Auth::MlKem => vec![&self.seed[..]],
            Auth::Both => vec![&self.seed[..32], &self.seed[..]],
        };
        keys.into_iter()
    }

    /// The password of a Shadowsocks server itself.
    pub fn server(&self, method: &str) -> String {
        if is_2022(method) { STANDARD.encode(&self.key[..key_len(method)]) } else { self.password.clone() }
    }

    /// The password of a user of a Shadowsocks server with several.
    pub fn user(&self, method: &str) -> String {
        if is_2022(method) { STANDARD.encode(&self.user[..key_len(method)]) } else { self.password.clone() }
    }

    /// What a Shadowsocks client is given.
    pub fn client(&self, method: &str, users: Users, wrong: bool) -> String {
        match (is_2022(method), users) {
            (true, Users::Several) => format!("{}:{}", self.server(method), self.user(method)),
            // The shared key is no secret between the two, so the wrong one takes another.
            (true, Users::One) if wrong => self.user(method),
            _ => self.server(method),
        }
    }
}

impl Reality {
    fn new(dest: u16) -> Self {
        let key = agreement::PrivateKey::generate(&agreement::X25519).expect("the system has randomness");
        let seed: Curve25519SeedBin<'_> = key.as_be_bytes().expect("a key of this curve has bytes");
        let public = key.compute_public_key().expect("a private key has a public one");
        Self {
            private: URL_SAFE_NO_PAD.encode(seed.as_ref()),
            public: URL_SAFE_NO_PAD.encode(public.as_ref()),
            short: "0123456789abcdef".into(),
            dest,
        }
    }
}

pub fn is_2022(method: &str) -> bool {
    method.starts_with("2022-")
}

fn key_len(method: &str) -> usize {
    if method.contains("aes-128") { 16 } else { 32 }
}

/// Method, users and the client's password of a Shadowsocks link.
pub fn shadowsocks(proto: Proto) -> Option<(&'static str, Users)> {
    match proto {
        Proto::Shadowsocks(method, users) => Some((method, users)),
        _ => None,
    }
}
