//! Masks: what disguises bytes below TLS or QUIC, on their last step to the wire.

use serde_json::{Value as Json, json};

use super::kinds::{Ends, find_word, kinds, or_empty};
use super::opaque::Opaque;
use super::protocol::Packets;
use super::quicparams::QuicParams;
use super::tls::Tls;
use crate::shape::{Defs, Dialect, Field, Kind, Node, Plain, PlainMap, Ranged, Raw, Reader, Record, Secret, Table};

crate::record! {
    /// Masks of a stream. The last of a list is nearest to the wire.
    pub struct Mask {
        /// Masks of TCP.
        tcp: Vec<TcpMask> => "tcp";
        /// Masks of UDP.
        udp: Vec<UdpMask> => "udp";
        /// How QUIC behaves below XHTTP and Hysteria.
        quic: Option<QuicParams> => "quicParams";
    }
}

crate::record! {
    /// Cuts writes into pieces.
    pub struct FragmentMask {
        /// Which writes: `tlshello`, a number, a range, or empty for every one.
        packets: Packets => "packets";
        /// Bytes of a piece.
        length: Ranged => "length";
        /// Milliseconds between pieces.
        delay: Ranged => "delay";
        /// Bytes of each piece in turn.
        lengths: Vec<Ranged> => "lengths";
        /// Milliseconds after each piece in turn.
        delays: Vec<Ranged> => "delays";
        /// Most pieces; 0 is no limit.
        max_split: Ranged => "maxSplit";
    }
    hook FragmentMask::settle;
}

impl FragmentMask {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        if self.lengths.last().is_some_and(|last| last.from <= 0) {
            cx.error(table.node(), Kind::Value, "last lengths entry min can't be 0");
        }
    }
}

crate::record! {
    /// Bytes of one's own around the first ones, TCP.
    pub struct TcpHeaderMask {
        /// What a client sends, step by step.
        clients: Opaque => "clients";
        /// What a server sends, step by step.
        servers: Opaque => "servers";
        /// What is sent to those who do not fit.
        errors: Opaque => "errors";
    }
}

crate::record! {
    /// Bytes of one's own around each packet, UDP.
    pub struct UdpHeaderMask {
        /// `prefix` or `standalone`.
        mode: String => "mode";
        /// What a client sends.
        client: Opaque => "client";
        /// What a server sends.
        server: Opaque => "server";
    }
    hook UdpHeaderMask::settle;
}

impl UdpHeaderMask {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        if !matches!(self.mode.as_str(), "" | "prefix" | "standalone") {
            cx.error(table.node(), Kind::Value, format!("unknown udp mode: {}", self.mode));
        }
    }
}

crate::record! {
    /// Number puzzles.
    pub struct Sudoku {
        /// Password.
        password: Secret<String> => "password";
        /// Letters only.
        ascii: String => "ascii";
        /// A table of one's own.
        custom_table: String => "customTable";
        /// Several tables of one's own.
        custom_tables: Vec<String> => "customTables";
        /// Least padding.
        padding_min: u32 => "paddingMin";
        /// Most padding.
        padding_max: u32 => "paddingMax";
    }
}

crate::record! {
    /// A player of the game.
    pub struct XmcProfile {
        /// Name.
        username: String => "username";
        /// Id.
        uuid: String => "uuid";
        /// Textures.
        textures_value: String => "texturesValue";
        /// Their signature.
        textures_signature: String => "texturesSignature";
    }
}

crate::record! {
    /// Looks like a game.
    pub struct Xmc {
        /// Host.
        hostname: String => "hostname";
        /// Password.
        password: Secret<String> => "password";
        /// Players.
        profiles: Vec<XmcProfile> => "profiles";
    }
}

crate::words! {
    /// What packets look like.
    pub enum KcpHeader(exact) {
        /// Nothing.
        None = "none" => "";
        /// DNS.
        Dns = "dns";
        /// DTLS.
        Dtls = "dtls";
        /// SRTP.
        Srtp = "srtp";
        /// µTP.
        Utp = "utp";
        /// Video calls of a messenger.
        Wechat = "wechat";
        /// WireGuard.
        Wireguard = "wireguard";
    }
}

crate::record! {
    /// One layer of what mKCP had below it: a seal, or a look.
    pub struct MkcpLegacy {
        /// The look; none means this layer is the seal.
        header: KcpHeader => "header";
        /// The seal's seed (empty: the old checksum), or the name that looks like DNS ask for.
        value: Secret<String> => "value";
    }
    hook MkcpLegacy::settle;
}

impl MkcpLegacy {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        let name = self.value.expose().trim_end_matches('.');
        let asked = self.header == KcpHeader::Dns && !name.is_empty();
        if asked && (name.len() > 253 || name.split('.').any(|label| !(1..64).contains(&label.len()))) {
            cx.error(table.node(), Kind::Value, "the name in `value` is none that DNS could be asked for").help =
                Some("labels have 1 to 63 bytes, names 253 at most".into());
        }
    }
}

crate::record! {
    /// Hysteria's own mask.
    pub struct Salamander {
        /// Password.
        password: Secret<String> => "password";
        /// Sizes of packets; given, they are filled up to it.
        packet_size: Ranged => "packetSize";
    }
    hook Salamander::settle;
}

/// Bytes that a password of [`Salamander`] has at least.
const LEAST_PASSWORD: usize = 4;

impl Salamander {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        if self.password.expose().len() < LEAST_PASSWORD {
            cx.error(table.node(), Kind::Value, "the password of salamander is too short").help =
                Some(format!("{LEAST_PASSWORD} bytes or more are needed"));
        }
        if self.packet_size != Ranged::default() && (self.packet_size.from <= 0 || self.packet_size.to > 2048) {
            cx.error(table.node(), Kind::Value, "gecko: invalid min/max packet size");
        }
    }
}

crate::record! {
    /// A packet of noise.
    pub struct MaskNoiseItem {
        /// Random bytes, so many.
        rand: Ranged => "rand";
        /// Which values random bytes have.
        rand_range: String => "randRange";
        /// What `packet` is.
        r#type: String => "type";
        /// The packet.
        packet: Opaque => "packet";
        /// Milliseconds after it.
        delay: Ranged => "delay";
    }
}

crate::record! {
    /// Packets of noise.
    pub struct MaskNoise {
        /// Seconds after which they are sent again.
        reset: Ranged => "reset";
        /// The packets.
        noise: Vec<MaskNoiseItem> => "noise";
    }
}

crate::record! {
    /// Packets in questions for names.
    pub struct Xdns {
        /// Names.
        domains: Vec<String> => "domains";
        /// Who is asked.
        resolvers: Vec<String> => "resolvers";
    }
}

crate::record! {
    /// Packets in pings.
    pub struct Xicmp {
        /// Through a socket that needs no rights.
        dgram: bool => "dgram";
        /// Addresses.
        ips: Vec<String> => "ips";
    }
}

crate::record! {
    /// Two ends that find each other.
    pub struct Realm {
        /// Where they meet.
        url: Secret<String> => "url";
        /// Who tells them their addresses.
        stun_servers: Vec<String> => "stunServers";
        /// TLS to the meeting place.
        tls: Option<Box<Tls>> => "tlsConfig";
    }
}

kinds! {
    /// A mask of TCP.
    pub enum TcpMask {
        /// Cuts writes into pieces.
        Fragment(FragmentMask) = "fragment" => "fragment";
        /// Bytes of one's own.
        HeaderCustom(TcpHeaderMask) = "header_custom" => "header-custom";
        /// Number puzzles.
        Sudoku(Sudoku) = "sudoku" => "sudoku";
        /// Looks like a game.
        Xmc(Xmc) = "xmc" => "xmc";
    }
}

kinds! {
    /// A mask of UDP.
    pub enum UdpMask {
        /// What mKCP had below it.
        MkcpLegacy(MkcpLegacy) = "mkcp_legacy" => "mkcp-legacy";
        /// Hysteria's own.
        Salamander(Salamander) = "salamander" => "salamander";
        /// Packets of noise.
        Noise(MaskNoise) = "noise" => "noise";
        /// Bytes of one's own.
        HeaderCustom(UdpHeaderMask) = "header_custom" => "header-custom";
        /// Number puzzles.
        Sudoku(Sudoku) = "sudoku" => "sudoku";
        /// Packets in questions for names.
        Xdns(Xdns) = "xdns" => "xdns";
        /// Packets in pings.
        Xicmp(Xicmp) = "xicmp" => "xicmp";
        /// Two ends that find each other.
        Realm(Realm) = "realm" => "realm";
    }
}

crate::record! {
    /// A mask and its settings.
    pub struct MaskKeys {
        /// Which mask.
        r#type: Raw => "type", required;
        /// Its settings.
        settings: Raw => "settings";
    }
}

macro_rules! mask_fields {
    ($($name:ident),*) => {$(
        impl Field for $name {
            fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
                let mut table = Table::open(cx, node)?;
                let keys = MaskKeys::read_from(cx, &mut table);
                table.finish(cx);
                if keys.r#type.0.is_null() {
                    return None;
                }
                let at = cx.key("type", |cx| find_word(cx, &keys.r#type.0, Self::WORDS))?;
                let settings = or_empty(&keys.settings, node);
                cx.key("settings", |cx| Self::read_nth(cx, at, &settings, &mut Ends::default()))
            }

            fn write(&self, dialect: Dialect) -> Plain {
                let mut map = PlainMap::default();
                map.put("type", self.word(dialect));
                map.put_table("settings", self.write_settings(dialect, &mut PlainMap::default()));
                map.into()
            }

            fn shape(dialect: Dialect, defs: &mut Defs) -> Json {
                let one = |(words, settings)| json!({
                    "properties": { "type": { "enum": words }, "settings": settings },
                    "required": ["type"]
                });
                let each: Vec<Json> = Self::shapes(dialect, defs).into_iter().map(one).collect();
                json!({ "anyOf": each })
            }
        }
    )*};
}
mask_fields!(TcpMask, UdpMask);
