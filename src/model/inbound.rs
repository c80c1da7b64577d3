//! Doors: where flows come in.

use std::net::{IpAddr, Ipv4Addr};

use serde_json::{Value as Json, json};

use super::kinds::kinds;
use super::protocol::{Dokodemo, HttpIn, HysteriaIn, SocksIn, SsIn, TrojanIn, Tun, VlessIn, VmessIn, Wireguard};
use super::sniffing::Sniffing;
use super::stream::Stream;
use crate::addr::{PortSet, Tag};
use crate::shape::{Defs, Dialect, Field, Kind, Node, Plain, Reader, Spot};

/// A door by which flows come in.
#[derive(Debug, Clone, PartialEq)]
pub struct Inbound {
    /// Where it was written.
    pub at: Spot,
    /// Its name; may be empty.
    pub tag: Tag,
    /// Where it listens.
    pub listen: Listen,
    /// On which ports, each a listener of its own; none for Unix sockets and tun.
    pub ports: Option<PortSet>,
    /// What it speaks.
    pub kind: InboundKind,
    /// How its bytes travel.
    pub stream: Stream,
    /// What is read from first bytes.
    pub sniffing: Sniffing,
}

kinds! {
    /// What an inbound speaks.
    pub enum InboundKind {
        /// Everything goes to one fixed or redirected target.
        Dokodemo(Dokodemo) = "dokodemo-door" | "tunnel" | "dokodemo" => "dokodemo-door" | "tunnel";
        /// HTTP proxy.
        Http(HttpIn) = "http" => "http";
        /// SOCKS and HTTP on one port.
        Socks(SocksIn) = "socks" | "mixed" => "socks" | "mixed";
        /// Shadowsocks.
        Shadowsocks(SsIn) = "shadowsocks" => "shadowsocks";
        /// Trojan.
        Trojan(TrojanIn) = "trojan" => "trojan";
        /// VLESS.
        Vless(VlessIn) = "vless" => "vless";
        /// VMess.
        Vmess(VmessIn) = "vmess" => "vmess";
        /// WireGuard.
        Wireguard(Wireguard) = "wireguard" => "wireguard";
        /// Hysteria 2.
        Hysteria(HysteriaIn) = "hysteria2" | "hysteria" | "hy2" => "hysteria" | "hysteria2" | "hy2";
        /// A network device.
        Tun(Tun) = "tun" => "tun";
    }
}

/// Where an inbound listens.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Listen {
    /// Every address, both families.
    #[default]
    Any,
    /// One address.
    Ip(IpAddr),
    /// A socket in the file system.
    Unix {
        /// Its path.
        path: String,
        /// Its permissions.
        mode: Option<u32>,
    },
    /// A socket in Linux' abstract name space.
    Abstract {
        /// Its name, without the `@`.
        name: String,
        /// Padded with zero bytes to full length, as HAProxy wants it (`@@`).
        padded: bool,
    },
}

impl Listen {
    /// Whether it is a Unix socket of either sort.
    #[must_use]
    pub fn is_unix(&self) -> bool {
        matches!(self, Self::Unix { .. } | Self::Abstract { .. })
    }

    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.is_empty() {
            return Some(Self::Any);
        }
        if let Some(name) = text.strip_prefix('@') {
            let (name, padded) = name.strip_prefix('@').map_or((name, false), |name| (name, true));
            return Some(Self::Abstract { name: name.to_owned(), padded });
        }
        if text.starts_with('/') {
            let with_mode = text.rsplit_once(',').and_then(|(p, m)| Some((p, u32::from_str_radix(m.trim(), 8).ok()?)));
            let (path, mode) = with_mode.map_or((text, None), |(path, mode)| (path, Some(mode)));
            return Some(Self::Unix { path: path.to_owned(), mode });
        }
        if text.eq_ignore_ascii_case("localhost") {
            return Some(Self::Ip(Ipv4Addr::LOCALHOST.into()));
        }
        let bare = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
        bare.parse::<IpAddr>().ok().map(|ip| Self::Ip(ip.to_canonical()))
    }
}

impl Field for Listen {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        let Some(text) = node.text() else {
            return cx.wrong_type(node, "an address in quotes");
        };
        let text = super::fields::from_env(cx, node, text)?;
        let listen = Self::parse(&text);
        if listen.is_none() {
            cx.error(node, Kind::Value, format!("unable to listen on domain address: {text}")).help =
                Some("write an IP address, a path, or @name for an abstract socket".into());
        }
        listen
    }

    fn write(&self, _: Dialect) -> Plain {
        Plain::Text(match self {
            Self::Any => String::new(),
            Self::Ip(ip) => ip.to_string(),
            Self::Unix { path, mode: None } => path.clone(),
            Self::Unix { path, mode: Some(mode) } => format!("{path},{mode:04o}"),
            Self::Abstract { name, padded } => format!("{}{name}", if *padded { "@@" } else { "@" }),
        })
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        json!({ "type": "string" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listen_addresses_read_as_they_print() {
        for text in ["", "127.0.0.1", "::1", "/run/x.sock", "/run/x.sock,0660", "@x", "@@x"] {
            let listen = Listen::parse(text);
            assert_eq!(listen.map(|l| l.write(Dialect::Json)), Some(Plain::from(text)));
        }
        assert_eq!(Listen::parse("proxy.example"), None);
    }
}
