//! Options of sockets, for listening and for dialling.

use serde_json::{Value as Json, json};

use super::fields::DomainStrategy;
use crate::addr::Tag;
use crate::shape::{Defs, Dialect, Field, Kind, Node, Plain, Reader, Value};

/// TCP Fast Open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FastOpen {
    /// As the system has it.
    #[default]
    Unset,
    /// Not.
    Off,
    /// On; a listener's queue holds so many.
    On(u32),
}

impl FastOpen {
    /// Xray's queue length for plain `true`.
    const QUEUE: u32 = 256;
}

impl Field for FastOpen {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        match node.value {
            Value::Bool(true) => Some(Self::On(Self::QUEUE)),
            Value::Bool(false) => Some(Self::Off),
            Value::Int(n) if n <= 0 => Some(Self::Off),
            Value::Int(n) => u32::try_from(n).map(Self::On).ok().or_else(|| cx.wrong_value(node, "a queue length")),
            _ => cx.wrong_type(node, "a boolean or a queue length"),
        }
    }

    fn write(&self, _: Dialect) -> Plain {
        match self {
            Self::Unset | Self::Off => Plain::Bool(false),
            Self::On(Self::QUEUE) => Plain::Bool(true),
            Self::On(queue) => Plain::Int((*queue).into()),
        }
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        json!({ "type": ["boolean", "integer"] })
    }
}

crate::words! {
    /// How flows reach a transparent inbound.
    pub enum Tproxy(fold, else Off) {
        /// They do not.
        Off = "off" => "off" | "";
        /// By the TPROXY target.
        Tproxy = "tproxy";
        /// By the REDIRECT target.
        Redirect = "redirect";
    }
}

crate::words! {
    /// Which parts of a server's address are looked up in SRV or TXT records.
    pub enum AddressPort(fold) {
        /// None.
        None = "none" => "none" | "";
        /// The port, SRV.
        SrvPortOnly = "srv_port_only" => "SrvPortOnly";
        /// The address, SRV.
        SrvAddressOnly = "srv_address_only" => "SrvAddressOnly";
        /// Both, SRV.
        SrvPortAndAddress = "srv_port_and_address" => "SrvPortAndAddress";
        /// The port, TXT.
        TxtPortOnly = "txt_port_only" => "TxtPortOnly";
        /// The address, TXT.
        TxtAddressOnly = "txt_address_only" => "TxtAddressOnly";
        /// Both, TXT.
        TxtPortAndAddress = "txt_port_and_address" => "TxtPortAndAddress";
    }
}

crate::record! {
    /// Tries several addresses of a server at once.
    pub struct HappyEyeballs {
        /// Milliseconds before the next address is tried too; 0 turns all of it off.
        try_delay_ms: u64 => "tryDelayMs";
        /// IPv6 first.
        prioritize_ipv6: bool => "prioritizeIPv6";
        /// How many of one family before the other's turn; 0 is all.
        interleave: u32 = 1 => "interleave";
        /// Most attempts at once; 0 turns all of it off.
        max_concurrent_try: u32 = 4 => "maxConcurrentTry";
    }
}

impl HappyEyeballs {
    /// Whether it says anything: a pace or a number of 0 turns it off.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.try_delay_ms > 0 && self.max_concurrent_try > 0
    }
}

crate::words! {
    /// Type of a raw option's value.
    pub enum OptKind(exact) {
        /// A number.
        Int = "int";
        /// A text.
        Str = "str";
    }
}

crate::record! {
    /// A socket option by number.
    pub struct CustomSockopt {
        /// Only on this system: `linux`, `windows` or `darwin`.
        system: String => "system";
        /// Only for networks that begin so: `tcp`, `udp4`.
        network: String => "network";
        /// Level, a number; 6 is TCP.
        level: String = "6".into() => "level";
        /// Option, a number.
        opt: String => "opt", required;
        /// Value.
        value: String => "value";
        /// Type of the value.
        r#type: OptKind => "type", required;
    }
}

/// A raw option as the kernel takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptNumbers<'a> {
    /// The level.
    pub level: i32,
    /// The option.
    pub opt: i32,
    /// The value.
    pub value: OptValue<'a>,
}

/// The value of a raw option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptValue<'a> {
    /// A number.
    Number(i32),
    /// A text.
    Text(&'a str),
}

impl CustomSockopt {
    /// Whether it is for a system, by Rust's name of it. Configs call macOS `darwin`, as Go does.
    #[must_use]
    pub fn is_for(&self, system: &str) -> bool {
        let system = if system == "macos" { "darwin" } else { system };
        self.system.is_empty() || self.system == system
    }

    /// Its numbers, if they are such. The kernel takes any 32 bits for a value.
    #[must_use]
    pub fn numbers(&self) -> Option<OptNumbers<'_>> {
        let value = match self.r#type {
            OptKind::Int => {
                let value: i64 = self.value.parse().ok()?;
                let unsigned = || u32::try_from(value).map(u32::cast_signed);
                OptValue::Number(i32::try_from(value).or_else(|_| unsigned()).ok()?)
            }
            OptKind::Str => OptValue::Text(&self.value),
        };
        let level = if self.level.is_empty() { Self::default().level.parse() } else { self.level.parse() };
        Some(OptNumbers { level: level.ok()?, opt: self.opt.parse().ok()?, value })
    }
}

crate::record! {
    /// Options of sockets.
    pub struct SockOpt {
        /// Mark of packets (SO_MARK).
        mark: i32 => "mark";
        /// TCP Fast Open: a boolean or a queue length. A server that speaks first is then reached when the client has spoken.
        tcp_fast_open: FastOpen => "tcpFastOpen";
        /// How flows reach a transparent inbound.
        tproxy: Tproxy => "tproxy";
        /// How the server's name is resolved.
        domain_strategy: DomainStrategy => "domainStrategy";
        /// The outbound through which the server is dialled.
        dialer_proxy: Tag => "dialerProxy";
        /// Connections begin with a PROXY header.
        accept_proxy_protocol: bool => "acceptProxyProtocol";
        /// Idle seconds before the first keep-alive; negative is off.
        tcp_keep_alive_idle: i32 => "tcpKeepAliveIdle";
        /// Seconds between keep-alives; negative is off.
        tcp_keep_alive_interval: i32 => "tcpKeepAliveInterval";
        /// Congestion control; empty leaves the system's.
        tcp_congestion: String => "tcpCongestion";
        /// Bound of the receive window; 0 leaves the system's.
        tcp_window_clamp: i32 => "tcpWindowClamp";
        /// Largest segment; 0 leaves the system's.
        tcp_max_seg: i32 => "tcpMaxSeg";
        /// Milliseconds that sent data may stay unacknowledged; 0 leaves the system's.
        tcp_user_timeout: i32 => "tcpUserTimeout";
        /// Network interface to dial through.
        interface: String => "interface";
        /// An IPv6 listener takes no IPv4.
        v6only: bool => "v6only";
        /// Multipath TCP.
        tcp_mptcp: bool => "tcpMptcp";
        /// Use these options for XHTTP's download channel too.
        penetrate: bool => "penetrate";
        /// Options by number.
        custom: Vec<CustomSockopt> => "customSockopt";
        /// Which parts of the server's address are looked up.
        address_port_strategy: AddressPort => "addressPortStrategy";
        /// Tries several addresses at once.
        happy_eyeballs: Option<HappyEyeballs> => "happyEyeballs";
        /// Headers whose presence makes X-Forwarded-For believed.
        trusted_x_forwarded_for: Vec<String> => "trustedXForwardedFor";
    }
    ignored {
        "tcpNoDelay" => "it is always on",
        "tcpKeepAliveCount" => "the system's count is used",
    }
    hook SockOpt::settle;
}

impl SockOpt {
    /// What is said here and means something to sockets that dial alone.
    #[must_use]
    pub fn for_dialing(&self) -> Vec<&'static str> {
        said([
            (self.domain_strategy != DomainStrategy::AsIs, "domainStrategy"),
            (!self.dialer_proxy.is_empty(), "dialerProxy"),
            (!self.interface.is_empty(), "interface"),
            (self.address_port_strategy != AddressPort::None, "addressPortStrategy"),
            (self.happy_eyeballs.is_some(), "happyEyeballs"),
        ])
    }

    /// What is said here and means something to sockets that listen alone.
    #[must_use]
    pub fn for_listening(&self) -> Vec<&'static str> {
        said([
            (self.accept_proxy_protocol, "acceptProxyProtocol"),
            (self.v6only, "v6only"),
            (!self.trusted_x_forwarded_for.is_empty(), "trustedXForwardedFor"),
        ])
    }

    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut crate::shape::Table<'_>) {
        if (self.tcp_keep_alive_idle < 0) != (self.tcp_keep_alive_interval < 0)
            && self.tcp_keep_alive_idle != 0
            && self.tcp_keep_alive_interval != 0
        {
            let message = "tcpKeepAliveIdle and tcpKeepAliveInterval must have one sign, else connections fail";
            cx.warn(table.node(), Kind::Conflict, message);
        }
    }
}

fn said<const N: usize>(keys: [(bool, &'static str); N]) -> Vec<&'static str> {
    keys.into_iter().filter(|(there, _)| *there).map(|(_, key)| key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raw_option_is_three_numbers_or_nothing() {
        let numbers = |level: &str, opt: &str, value: &str, r#type| {
            let (level, opt, value) = (level.to_owned(), opt.to_owned(), value.to_owned());
            let option = CustomSockopt { level, opt, value, r#type, ..CustomSockopt::default() };
            option.numbers().map(|n| format!("{n:?}"))
        };
        let known = |level, opt, value| Some(format!("{:?}", OptNumbers { level, opt, value }));
        assert_eq!(numbers("1", "7", "65536", OptKind::Int), known(1, 7, OptValue::Number(65_536)));
        assert_eq!(numbers("", "7", "4294967295", OptKind::Int), known(6, 7, OptValue::Number(-1)));
        assert_eq!(numbers("6", "13", "bbr", OptKind::Str), known(6, 13, OptValue::Text("bbr")));
        assert_eq!(numbers("6", "0x10", "1", OptKind::Int), None);
        assert_eq!(numbers("6", "13", "bbr", OptKind::Int), None);
    }

    #[test]
    fn a_system_is_called_as_configs_do() {
        let option = |system: &str| CustomSockopt { system: system.to_owned(), ..CustomSockopt::default() };
        assert!(option("").is_for("linux") && option("linux").is_for("linux") && option("darwin").is_for("macos"));
        assert!(!option("windows").is_for("linux"));
    }
}
