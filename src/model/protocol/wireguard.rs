//! WireGuard, both sides: one record, because they differ in who needs an endpoint.

use serde_json::{Value as Json, json};

use crate::model::keys::{KeyOf, base64};
use crate::shape::{Defs, Dialect, Field, Kind, Node, Plain, Reader, Value};

crate::words! {
    /// How names of targets become addresses, which a tunnel of packets needs.
    pub enum WireStrategy(fold) {
        /// Either family.
        ForceIp = "force_ip" => "ForceIP" | "";
        /// IPv4.
        ForceIpv4 = "force_ipv4" => "ForceIPv4";
        /// IPv6.
        ForceIpv6 = "force_ipv6" => "ForceIPv6";
        /// IPv4, else IPv6.
        ForceIpv4v6 = "force_ipv4v6" => "ForceIPv4v6";
        /// IPv6, else IPv4.
        ForceIpv6v4 = "force_ipv6v4" => "ForceIPv6v4";
    }
}

/// Three bytes of the packet header that some providers give meaning to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reserved(pub Option<[u8; 3]>);

impl Field for Reserved {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        let bytes: Option<Vec<u8>> = match &node.value {
            Value::Text(text) => base64(text),
            Value::List(items) => items
                .iter()
                .map(|item| if let Value::Int(n) = item.value { u8::try_from(n).ok() } else { None })
                .collect(),
            _ => return cx.wrong_type(node, "three numbers"),
        };
        match bytes.as_deref() {
            Some([]) => Some(Self(None)),
            Some([a, b, c]) => Some(Self(Some([*a, *b, *c]))),
            _ => {
                cx.error(node, Kind::Value, "\"reserved\" should be empty or 3 bytes");
                None
            }
        }
    }

    fn write(&self, _: Dialect) -> Plain {
        Plain::List(self.0.iter().flatten().map(|b| Plain::Int((*b).into())).collect())
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        json!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "integer", "minimum": 0, "maximum": 255 } }] })
    }
}

crate::record! {
    /// The other end of a tunnel.
    pub struct Peer {
        /// Its public key.
        public_key: KeyOf<32> => "publicKey", required;
        /// A key both have.
        pre_shared_key: Option<KeyOf<32>> => "preSharedKey";
        /// Where it is, `host:port`; an inbound's peers come from anywhere.
        endpoint: String => "endpoint";
        /// Networks behind it.
        allowed_ips: Vec<String> = vec!["0.0.0.0/0".into(), "::0/0".into()] => "allowedIPs";
        /// Seconds between packets that keep the way open; 0 is off.
        keep_alive: u32 => "keepAlive";
        /// Policy level.
        level: u32 => "level";
        /// A label.
        email: String => "email";
    }
}

crate::record! {
    /// A WireGuard tunnel.
    pub struct Wireguard {
        /// Private key.
        secret_key: KeyOf<32> => "secretKey", required;
        /// Addresses of this end.
        address: Vec<String> = vec!["10.0.0.1".into(), "fd59:7153:2388:b5fd::1".into()] => "address";
        /// The other ends.
        peers: Vec<Peer> => "peers";
        /// Largest packet.
        mtu: i32 = 1420 => "mtu";
        /// Three bytes of the packet header.
        reserved: Reserved => "reserved";
        /// Never use a device of the kernel.
        no_kernel_tun: bool => "noKernelTun";
        /// How names of targets become addresses.
        domain_strategy: WireStrategy => "domainStrategy";
    }
    ignored { "kernelMode" | "workers" => "an older key" }
}
