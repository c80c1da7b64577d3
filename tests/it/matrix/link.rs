//! A combination of protocol, carrier and security, and where it is served in a run.

use std::fmt;

/// What both sides of a line speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Link {
    pub proto: Proto,
    pub carrier: Carrier,
    pub secure: Secure,
    pub mux: Mux,
    /// VLESS' own encryption.
    pub sealed: Option<Sealed>,
}

/// How VLESS encrypts by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sealed {
    /// `native`, `xorpub` or `random`.
    pub mode: &'static str,
    /// `0rtt` or `1rtt`.
    pub when: &'static str,
    pub auth: Auth,
}

/// The server's keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Auth {
    X25519,
    MlKem,
    /// One behind the other.
    Both,
}

/// The protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Proto {
    Socks,
    Http,
    Vless(Flow),
    Trojan,
    /// With this security.
    Vmess(&'static str, Lengths),
    /// With this method.
    Shadowsocks(&'static str, Users),
    Hysteria,
}

/// How VLESS wraps what it carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Flow {
    Plain,
    Vision,
}

/// How VMess hides lengths of chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lengths {
    /// As a client does by itself.
    Usual,
    /// Sealed, and with padding.
    Sealed,
}

/// How many a Shadowsocks server knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Users {
    One,
    Several,
}

/// What carries the protocol's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Carrier {
    Raw,
    /// Raw with a HTTP head in front.
    RawHttp,
    Ws,
    /// With first bytes in the request.
    WsEarly,
    Upgrade,
    Grpc,
    /// Several messages at once.
    GrpcMulti,
    Xhttp(Mode, Version),
    /// QUIC as Hysteria has it.
    Hysteria(Guise),
}

/// What Hysteria does beside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Guise {
    Plain,
    /// Packets are masked.
    Salamander,
    /// Both sides say how fast they are.
    Rates,
}

/// The mode of XHTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    PacketUp,
    StreamUp,
    StreamOne,
}

/// The version of HTTP below XHTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Version {
    One,
    Two,
    Three,
}

/// What hides it all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Secure {
    None,
    Tls,
    Reality,
}

/// How flows share connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mux {
    Off,
    /// Streams and datagrams by mux.cool.
    Cool,
    /// Datagrams by XUDP, each stream on its own.
    Xudp,
}

impl Mode {
    pub fn word(self) -> &'static str {
        match self {
            Self::PacketUp => "packet-up",
            Self::StreamUp => "stream-up",
            Self::StreamOne => "stream-one",
        }
    }
}

impl Version {
    pub fn alpn(self) -> &'static str {
        match self {
            Self::One => "http/1.1",
            Self::Two => "h2",
            Self::Three => "h3",
        }
    }
}

impl Link {
    pub const fn new(proto: Proto, carrier: Carrier, secure: Secure) -> Self {
        Self { proto, carrier, secure, mux: Mux::Off, sealed: None }
    }

    pub const fn with(mut self, mux: Mux) -> Self {
        self.mux = mux;
        self
    }

    pub const fn sealed(mut self, mode: &'static str, when: &'static str, auth: Auth) -> Self {
        self.sealed = Some(Sealed { mode, when, auth });
        self
    }

    /// A name for files and tags.
    pub fn tag(&self) -> String {
        let name = self.to_string().to_lowercase();
        let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        words.collect::<Vec<_>>().join("-")
    }

    /// Whether a stranger is told from a user.
    pub fn secrets(&self) -> bool {
        !matches!(self.proto, Proto::Shadowsocks("none", _))
    }

    /// Whether the protocol has datagrams at all.
    pub fn datagrams(&self) -> bool {
        self.proto != Proto::Http
    }

    /// Whether a datagram of somebody else than who was asked finds its way back.
    pub fn full_cone(&self) -> bool {
        match self.proto {
            Proto::Http => false,
            Proto::Hysteria | Proto::Socks | Proto::Trojan | Proto::Shadowsocks(..) => self.mux == Mux::Off,
            // Their own datagrams are bound to one target; those of XUDP are not.
            Proto::Vless(Flow::Vision) => true,
            Proto::Vless(Flow::Plain) | Proto::Vmess(..) => self.mux == Mux::Xudp,
        }
    }

    /// Whether one side can end its half while the other goes on.
    pub fn half_close(&self) -> bool {
        let carried = matches!(self.carrier, Carrier::Raw | Carrier::RawHttp | Carrier::Upgrade | Carrier::Hysteria(_));
        carried && self.mux != Mux::Cool
    }
}

impl fmt::Display for Proto {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socks => f.write_str("SOCKS5"),
            Self::Http => f.write_str("HTTP"),
            Self::Vless(Flow::Plain) => f.write_str("VLESS"),
            Self::Vless(Flow::Vision) => f.write_str("VLESS Vision"),
            Self::Trojan => f.write_str("Trojan"),
            Self::Vmess(security, Lengths::Usual) => write!(f, "VMess {security}"),
            Self::Vmess(security, Lengths::Sealed) => write!(f, "VMess {security}, sealed lengths"),
            Self::Shadowsocks(method, Users::One) => write!(f, "Shadowsocks {method}"),
            Self::Hysteria => f.write_str("Hysteria 2"),
            Self::Shadowsocks(method, Users::Several) => write!(f, "Shadowsocks {method}, several users"),
        }
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let carrier = match self.carrier {
            Carrier::Raw => "raw".to_owned(),
            Carrier::RawHttp => "raw with HTTP header".to_owned(),
            Carrier::Ws => "WebSocket".to_owned(),
            Carrier::WsEarly => "WebSocket with early data".to_owned(),
            Carrier::Upgrade => "HTTPUpgrade".to_owned(),
            Carrier::Grpc => "gRPC".to_owned(),
            Carrier::GrpcMulti => "gRPC multi".to_owned(),
            Carrier::Hysteria(Guise::Plain) => "QUIC".to_owned(),
            Carrier::Hysteria(Guise::Salamander) => "QUIC with Salamander".to_owned(),
            Carrier::Hysteria(Guise::Rates) => "QUIC with Brutal".to_owned(),
            Carrier::Xhttp(mode, version) => format!("XHTTP {} {}", mode.word(), version.alpn()),
        };
        write!(f, "{} | {carrier}", self.proto)?;
        match self.secure {
            Secure::None => {}
            Secure::Tls => f.write_str(" | TLS")?,
            Secure::Reality => f.write_str(" | REALITY")?,
        }
        match self.mux {
            Mux::Off => {}
            Mux::Cool => f.write_str(" | mux.cool")?,
            Mux::Xudp => f.write_str(" | XUDP")?,
        }
        let Some(sealed) = self.sealed else { return Ok(()) };
        let auth = match sealed.auth {
            Auth::X25519 => "X25519",
            Auth::MlKem => "ML-KEM-768",
            Auth::Both => "X25519 and ML-KEM-768",
        };
        write!(f, " | encryption {} {} {auth}", sealed.mode, sealed.when)
    }
}

/// A link in a run: where its server listens, and the SOCKS doors of the client that lead to it.
#[derive(Debug, Clone)]
pub struct Cell {
    pub link: Link,
    /// Its place among the cells of the run; forms of writing the same alternate by it.
    pub nth: usize,
    pub server: u16,
    /// For a client with the right secrets.
    pub door: u16,
    /// For one with wrong ones.
    pub wrong: u16,
}

impl Cell {
    pub fn tag(&self) -> String {
        self.link.tag()
    }
}
