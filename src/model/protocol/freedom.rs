//! Dials targets itself.

use crate::addr::PortSet;
use crate::model::fields::{DomainStrategy, Networks, Redirect};
use crate::model::matcher::IpRules;
use crate::shape::{Class, Defs, Dialect, Field, Key, Kind, Node, Plain, Ranged, Reader, Table};

crate::record! {
    /// Dials targets itself.
    pub struct Freedom {
        /// How names are resolved before dialling.
        target_strategy: DomainStrategy => "targetStrategy" | "domainStrategy";
        /// Goes there instead, `"host:port"` with either side open.
        redirect: Option<Redirect> => "redirect";
        /// Which policy level its flows have.
        user_level: u32 => "userLevel";
        /// Cuts what is sent first into pieces.
        fragment: Option<Fragment> => "fragment";
        /// Sends other packets before the first of a UDP flow.
        noises: Vec<Noise> => "noises";
        /// Version of the PROXY header sent to the target: 1, 2, or 0 for none.
        proxy_protocol: u32 => "proxyProtocol";
        /// Which targets may be dialled; the first that matches decides. Behind them private ones are blocked for flows that
        /// came by vless, vmess, trojan, shadowsocks, hysteria or wireguard.
        final_rules: Vec<FinalRule> => "finalRules";
    }
    ignored {
        "ipsBlocked" => "Xray reads it and does nothing; use finalRules",
        "timeout" => "an older key; the policy's idle time counts",
        "response" => "a key of blackhole that clients write everywhere",
        "vnext" | "servers" => "freedom has no server",
    }
    taken { "noise" => "Older spelling of `noises` with one member." }
    hook Freedom::settle;
}

impl Freedom {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        if let Some(old) = table.take(cx, Key::json(&["noise"])) {
            cx.key(&old.key, |cx| {
                cx.warn(&old.node, Kind::Legacy, "`noise` is now `noises`, a list");
                self.noises.extend(Noise::read(cx, &old.node));
                cx.mark(old.node.span, Class::Rewritten, "noises");
            });
        }
        if self.proxy_protocol > 2 {
            let node = table.node();
            cx.warn(node, Kind::Value, format!("proxyProtocol {} is off; 1 and 2 are known", self.proxy_protocol));
            self.proxy_protocol = 0;
        }
    }
}

/// Which writes are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Packets {
    /// Every write.
    #[default]
    All,
    /// The TLS hello, into several records.
    TlsHello,
    /// The writes from one number to another, counted from 1.
    Writes(u32, u32),
}

impl Field for Packets {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        let Some(text) = node.text() else {
            return cx.wrong_type(node, "a string");
        };
        match text {
            "" => return Some(Self::All),
            "tlshello" => return Some(Self::TlsHello),
            _ => {}
        }
        let (from, to) = text.split_once('-').unwrap_or((text, text));
        match (from.trim().parse(), to.trim().parse()) {
            (Ok(0), _) => {
                cx.error(node, Kind::Value, "PacketsFrom can't be 0: writes are counted from 1");
                None
            }
            (Ok(from), Ok(to)) if from <= to => Some(Self::Writes(from, to)),
            _ => cx.wrong_value(node, "`tlshello`, a number or a range such as \"1-3\""),
        }
    }

    fn write(&self, _: Dialect) -> Plain {
        Plain::Text(match self {
            Self::All => String::new(),
            Self::TlsHello => "tlshello".into(),
            Self::Writes(from, to) => format!("{from}-{to}"),
        })
    }

    fn shape(_: Dialect, _: &mut Defs) -> serde_json::Value {
        serde_json::json!({ "type": "string" })
    }
}

crate::record! {
    /// How what is sent first is cut.
    pub struct Fragment {
        /// Which writes: `tlshello`, a number, a range, or empty for every one.
        packets: Packets => "packets";
        /// Bytes of a piece.
        length: Ranged => "length", required;
        /// Milliseconds between pieces.
        interval: Ranged => "interval", required;
        /// Most pieces; 0 means no limit.
        max_split: Ranged => "maxSplit";
    }
    hook Fragment::settle;
}

impl Fragment {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        let key = Key { toml: "length", json: &["length"] };
        if table.has(cx.dialect, key) && self.length.from <= 0 {
            cx.error(table.node(), Kind::Value, "LengthMin can't be 0: a piece holds at least one byte");
        }
    }
}

crate::words! {
    /// What a noise packet is made of.
    pub enum NoiseKind(exact) {
        /// Random bytes; `packet` says how many.
        Rand = "rand";
        /// The text itself.
        Str = "str";
        /// Hexadecimal digits.
        Hex = "hex";
        /// Base64.
        Base64 = "base64";
    }
}

crate::words! {
    /// Which targets get noise.
    pub enum ApplyTo(exact) {
        /// All.
        Ip = "ip" => "ip" | "all" | "";
        /// Targets with an IPv4 address.
        Ipv4 = "ipv4";
        /// Targets with an IPv6 address.
        Ipv6 = "ipv6";
    }
}

crate::record! {
    /// A packet sent before the first of a UDP flow.
    pub struct Noise {
        /// What it is made of.
        r#type: NoiseKind => "type", required;
        /// How many bytes, or which.
        packet: String => "packet", required;
        /// Milliseconds to wait after it.
        delay: Ranged => "delay";
        /// Which targets get it.
        apply_to: ApplyTo => "applyTo";
    }
    hook Noise::settle;
}

impl Noise {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        self.packet = self.packet.trim().to_owned();
        if !table.has(cx.dialect, Key { toml: "packet", json: &["packet"] }) {
            return;
        }
        let fault = match self.r#type {
            NoiseKind::Rand => match Ranged::parse(&self.packet) {
                Some(range) if range.from > 0 => return,
                _ => "expected a number of bytes or a range of them, from 1",
            },
            NoiseKind::Str => return,
            NoiseKind::Hex if hex(&self.packet) => return,
            NoiseKind::Hex => "expected hexadecimal digits, two a byte",
            NoiseKind::Base64 if base64(&self.packet) => return,
            NoiseKind::Base64 => "expected base64",
        };
        cx.error(table.node(), Kind::Value, format!("invalid packet: {fault}"));
    }
}

fn hex(text: &str) -> bool {
    text.len().is_multiple_of(2) && text.bytes().all(|b| b.is_ascii_hexdigit())
}

fn base64(text: &str) -> bool {
    crate::model::keys::base64(text).is_some()
}

crate::words! {
    /// What happens to a target.
    pub enum FinalAction(fold) {
        /// It is dialled.
        Allow = "allow";
        /// It is not.
        Block = "block";
    }
}

crate::record! {
    /// A rule about targets, asked after names were resolved.
    pub struct FinalRule {
        /// What happens to a target that matches.
        action: FinalAction => "action", required;
        /// Networks that match; none means all.
        network: Option<Networks> => "network";
        /// Ports that match; none means all.
        port: Option<PortSet> => "port";
        /// Addresses that match, as IP rules; none means all.
        ip: IpRules => "ip";
        /// Seconds for which a blocked connection is kept open.
        block_delay: Ranged = Ranged::new(30, 90) => "blockDelay";
    }
}
