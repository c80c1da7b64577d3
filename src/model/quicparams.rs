//! How QUIC behaves below XHTTP and Hysteria.

use serde_json::{Value as Json, json};

use crate::addr::PortSet;
use crate::shape::{Defs, Dialect, Field, Kind, Node, Plain, Ranged, Reader, Table, Value};

crate::words! {
    /// How fast packets are sent.
    pub enum Congestion(exact) {
        /// As the carrier has it.
        Usual = "default" => "";
        /// BBR.
        Bbr = "bbr";
        /// New Reno.
        Reno = "reno";
        /// As fast as said, if the other side agrees.
        Brutal = "brutal";
        /// As fast as said.
        ForceBrutal = "force_brutal" => "force-brutal";
    }
}

crate::words! {
    /// How bold BBR is.
    pub enum BbrProfile(exact) {
        /// As usual.
        Usual = "default" => "";
        /// Less.
        Conservative = "conservative";
        /// As its authors have it.
        Standard = "standard";
        /// More.
        Aggressive = "aggressive";
    }
}

/// Bytes a second, written as bits: `"100 mbps"`, `"5m"`; factors of 1024. 0 is "not said".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Bandwidth(pub u64);

impl Bandwidth {
    /// The least that counts.
    const MIN: u64 = 65536;

    fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        if text.is_empty() {
            return Some(Self(0));
        }
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let number: f64 = text[..end].parse().ok()?;
        let unit = text[end..].trim();
        let unit = unit.strip_suffix("bps").or_else(|| unit.strip_suffix('b')).unwrap_or(unit);
        let power = match unit {
            "" => 0,
            "k" => 1,
            "m" => 2,
            "g" => 3,
            "t" => 4,
            _ => return None,
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the number has no sign; beyond u64 it saturates"
        )]
        let bytes = (number * 1024_f64.powi(power) / 8.0) as u64;
        Some(Self(bytes))
    }
}

impl Field for Bandwidth {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        let value = match &node.value {
            Value::Text(text) => Self::parse(text),
            Value::Int(n) => Self::parse(&n.to_string()),
            _ => return cx.wrong_type(node, "a bandwidth such as \"100 mbps\""),
        };
        match value {
            Some(rate) if rate.0 == 0 || rate.0 >= Self::MIN => Some(rate),
            Some(_) => cx.wrong_value(node, "a bandwidth of at least 65536 bytes a second"),
            None => cx.wrong_value(node, "a bandwidth such as \"100 mbps\""),
        }
    }

    fn write(&self, _: Dialect) -> Plain {
        let bits = u128::from(self.0) * 8;
        for (unit, name) in [(1 << 30, "g"), (1 << 20, "m"), (1 << 10, "k")] {
            if bits != 0 && bits % unit == 0 {
                return Plain::Text(format!("{} {name}bps", bits / unit));
            }
        }
        Plain::Text(format!("{bits} bps"))
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        json!({ "type": ["string", "integer"] })
    }
}

crate::record! {
    /// Changes the server's port again and again.
    pub struct UdpHop {
        /// Ports.
        ports: Option<PortSet> => "ports" | "port";
        /// Seconds on one port, from 5.
        interval: Ranged => "interval";
    }
    hook UdpHop::settle;
}

impl UdpHop {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        if self.interval != Ranged::default() && self.interval.from < 5 {
            cx.error(table.node(), Kind::Value, "the interval between ports must be at least 5 seconds");
        }
    }
}

crate::record! {
    /// How QUIC behaves.
    pub struct QuicParams {
        /// How fast packets are sent.
        congestion: Congestion => "congestion";
        /// How bold BBR is.
        bbr_profile: BbrProfile => "bbrProfile";
        /// What this side sends, for the brutal ones.
        brutal_up: Bandwidth => "brutalUp";
        /// What this side takes, for the brutal ones.
        brutal_down: Bandwidth => "brutalDown";
        /// Changes the server's port again and again.
        udp_hop: Option<UdpHop> => "udpHop";
        /// First window of a stream.
        init_stream_receive_window: u64 => "initStreamReceiveWindow";
        /// Largest window of a stream.
        max_stream_receive_window: u64 => "maxStreamReceiveWindow";
        /// First window of a connection.
        init_connection_receive_window: u64 => "initConnectionReceiveWindow";
        /// Largest window of a connection.
        max_connection_receive_window: u64 => "maxConnectionReceiveWindow";
        /// Seconds of silence after which a connection is dead.
        max_idle_timeout: i64 => "maxIdleTimeout";
        /// Seconds between packets that keep it alive.
        keep_alive_period: i64 => "keepAlivePeriod";
        /// Does not look for larger packets.
        disable_path_mtu_discovery: bool => "disablePathMTUDiscovery";
        /// Streams the other side may open.
        max_incoming_streams: i64 => "maxIncomingStreams";
        /// Says more in the log.
        debug: bool => "debug";
    }
    hook QuicParams::settle;
}

impl QuicParams {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        let windows = [
            self.init_stream_receive_window,
            self.max_stream_receive_window,
            self.init_connection_receive_window,
            self.max_connection_receive_window,
        ];
        let out = |value: i64, from: i64, to: i64| value != 0 && !(from..=to).contains(&value);
        let faults = [
            (windows.iter().any(|w| *w != 0 && *w < 16384), "receive windows must be at least 16384"),
            (out(self.max_idle_timeout, 4, 120), "maxIdleTimeout must be between 4 and 120"),
            (out(self.keep_alive_period, 2, 60), "keepAlivePeriod must be between 2 and 60"),
            (out(self.max_incoming_streams, 8, i64::MAX), "maxIncomingStreams must be at least 8"),
        ];
        for (bad, message) in faults {
            if bad {
                cx.error(table.node(), Kind::Value, message);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidths_read_as_they_print() {
        assert_eq!(Bandwidth::parse("100 mbps"), Some(Bandwidth(100 * 1024 * 1024 / 8)));
        assert_eq!(Bandwidth::parse("1.5G"), Some(Bandwidth(3 * 512 * 1024 * 1024 / 8)));
        assert_eq!(Bandwidth::parse("7 parsecs"), None);
        assert_eq!(Bandwidth(13107200).write(Dialect::Json), Plain::from("100 mbps"));
    }
}
