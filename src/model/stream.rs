//! How bytes travel: a carrier, a security layer and the sockets below.

use serde_json::{Value as Json, json};

use super::carrier::{
    DomainSocket, Grpc, HttpUpgrade, HysteriaCarrier, Kcp, OldHttp, OldQuic, RawTcp, WebSocket, Xhttp, XhttpMode,
};
use super::fields::Port;
use super::kinds::{Ends, find_word, kinds, or_empty};
use super::mask::Mask;
use super::oldkcp;
use super::reality::Reality;
use super::sockopt::SockOpt;
use super::tls::Tls;
use crate::addr::Host;
use crate::shape::{
    Class, Defs, Dialect, Field, Key, KeyDoc, Kind, Node, Plain, PlainMap, Raw, Reader, Record, Severity, Table, object,
};

/// How bytes travel.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Stream {
    /// What carries them.
    pub carrier: Carrier,
    /// What keeps others out.
    pub security: Security,
    /// Options of the sockets.
    pub sockopt: SockOpt,
    /// What disguises them on the last step.
    pub mask: Mask,
    /// XHTTP: a way of its own for what comes down.
    pub download: Option<Box<Download>>,
}

kinds! {
    /// What carries a stream's bytes.
    pub enum Carrier {
        /// TCP as it is.
        Raw(RawTcp) = "tcp" | "raw" => "tcp" | "raw" | "";
        /// WebSocket.
        Ws(WebSocket) = "ws" | "websocket" => "ws" | "websocket";
        /// HTTPUpgrade.
        HttpUpgrade(HttpUpgrade) = "httpupgrade" => "httpupgrade";
        /// gRPC.
        Grpc(Grpc) = "grpc" | "gun" => "grpc" | "gun";
        /// XHTTP.
        Xhttp(Xhttp) = "xhttp" | "splithttp" => "xhttp" | "splithttp";
        /// mKCP.
        Kcp(Kcp) = "kcp" | "mkcp" => "kcp" | "mkcp";
        /// Hysteria's QUIC.
        Hysteria(HysteriaCarrier) = "hysteria" => "hysteria";
        /// V2Ray's HTTP/2.
        Http(OldHttp) = "http" | "h2" => "http" | "h2" | "h3";
        /// V2Ray's QUIC.
        Quic(OldQuic) = "quic" => "quic";
        /// V2Ray's Unix socket.
        DomainSocket(DomainSocket) = "domainsocket" => "domainsocket" | "ds";
    }
}

impl Default for Carrier {
    fn default() -> Self {
        Self::Raw(RawTcp::default())
    }
}

impl Carrier {
    /// Whether Xray has removed it.
    #[must_use]
    pub fn is_old(&self) -> bool {
        matches!(self, Self::Http(_) | Self::Quic(_) | Self::DomainSocket(_))
    }

    fn nth(&self) -> usize {
        Self::WORDS.iter().position(|row| row.0[0] == self.word(Dialect::Toml)).unwrap_or(0)
    }
}

/// What keeps others out.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Security {
    /// Nothing.
    #[default]
    None,
    /// TLS.
    Tls(Box<Tls>),
    /// REALITY.
    Reality(Box<Reality>),
    /// XTLS, which is gone: it is read, and refused when it is to run.
    Xtls(Box<Tls>),
}

crate::words! {
    /// What keeps others out.
    pub enum SecurityWord(fold) {
        /// Nothing.
        None = "none" => "none" | "";
        /// TLS.
        Tls = "tls";
        /// REALITY.
        Reality = "reality";
        /// XTLS, which is gone.
        Xtls = "xtls";
    }
}

/// A way of its own for what comes down: a server and a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Download {
    /// Address of the server.
    pub address: Host,
    /// Port of the server.
    pub port: u16,
    /// How its bytes travel.
    pub stream: Stream,
}

impl Download {
    /// Its socket options: its own, or those of the stream it belongs to where they penetrate.
    #[must_use]
    pub fn sockopt<'a>(&'a self, outer: &'a SockOpt) -> &'a SockOpt {
        if outer.penetrate { outer } else { &self.stream.sockopt }
    }
}

crate::record! {
    /// How bytes travel.
    pub struct StreamKeys {
        /// What carries them.
        network: Raw => "method" | "network";
        /// What keeps others out: `none`, `tls` or `reality`.
        security: Raw => "security";
        /// Settings of the carrier `tcp`.
        tcp: Raw => "rawSettings" | "tcpSettings";
        /// Settings of the carrier `ws`.
        ws: Raw => "wsSettings";
        /// Settings of the carrier `httpupgrade`.
        httpupgrade: Raw => "httpupgradeSettings";
        /// Settings of the carrier `grpc`.
        grpc: Raw => "grpcSettings" | "gunSettings";
        /// Settings of the carrier `xhttp`.
        xhttp: Raw => "xhttpSettings" | "splithttpSettings";
        /// Settings of the carrier `kcp`.
        kcp: Raw => "kcpSettings";
        /// Settings of the carrier `hysteria`.
        hysteria: Raw => "hysteriaSettings";
        /// Settings of V2Ray's carrier `http`.
        http: Raw => "httpSettings";
        /// Settings of V2Ray's carrier `quic`.
        quic: Raw => "quicSettings";
        /// Settings of V2Ray's carrier `domainsocket`.
        domainsocket: Raw => "dsSettings";
        /// Settings of TLS.
        tls: Raw => "tlsSettings";
        /// Settings of REALITY.
        reality: Raw => "realitySettings";
        /// Settings of XTLS, which is gone.
        xtls: Raw => "xtlsSettings";
        /// Options of the sockets.
        sockopt: SockOpt => "sockopt";
        /// What disguises bytes on the last step.
        mask: Mask => "finalmask";
        /// XHTTP: a way of its own for what comes down.
        download: Raw;
    }
}

impl StreamKeys {
    /// The carriers' tables, in the order of [`Carrier::WORDS`].
    fn blocks(&self) -> [&Raw; 10] {
        [
            &self.tcp,
            &self.ws,
            &self.httpupgrade,
            &self.grpc,
            &self.xhttp,
            &self.kcp,
            &self.hysteria,
            &self.http,
            &self.quic,
            &self.domainsocket,
        ]
    }
}

/// Names of the carriers' tables, in the same order.
const BLOCKS: [Key; 10] = [
    Key { toml: "tcp", json: &["tcpSettings"] },
    Key { toml: "ws", json: &["wsSettings"] },
    Key { toml: "httpupgrade", json: &["httpupgradeSettings"] },
    Key { toml: "grpc", json: &["grpcSettings"] },
    Key { toml: "xhttp", json: &["xhttpSettings"] },
    Key { toml: "kcp", json: &["kcpSettings"] },
    Key { toml: "hysteria", json: &["hysteriaSettings"] },
    Key { toml: "http", json: &["httpSettings"] },
    Key { toml: "quic", json: &["quicSettings"] },
    Key { toml: "domainsocket", json: &["dsSettings"] },
];
const TLS: Key = Key { toml: "tls", json: &["tlsSettings"] };
const REALITY: Key = Key { toml: "reality", json: &["realitySettings"] };
const XTLS: Key = Key { toml: "xtls", json: &["xtlsSettings"] };
const DOWNLOAD: &str = "downloadSettings";

impl Stream {
    fn read_table(cx: &mut Reader<'_>, table: &mut Table<'_>) -> Self {
        let keys = StreamKeys::read_from(cx, table);
        let node = table.node();
        let (carrier, tls) = read_carrier(cx, node, &keys);
        let security = read_security(cx, node, &keys, tls);
        let mut mask = keys.mask.clone();
        if let Some(Carrier::Kcp(_)) = &carrier
            && cx.json()
        {
            mask.udp.extend(cx.key("kcpSettings", |cx| oldkcp::masks(cx, &keys.kcp.0)));
        }
        let download = read_download(cx, &keys, carrier.as_ref());
        let stream = Self { carrier: carrier.unwrap_or_default(), security, sockopt: keys.sockopt, mask, download };
        stream.check(cx, node);
        stream
    }

    fn check(&self, cx: &mut Reader<'_>, node: &Node) {
        let carries =
            !matches!(self.carrier, Carrier::Ws(_) | Carrier::HttpUpgrade(_) | Carrier::Kcp(_) | Carrier::Hysteria(_));
        if matches!(self.security, Security::Reality(_)) && !carries {
            cx.error(node, Kind::Conflict, "REALITY only supports RAW, XHTTP and gRPC for now.");
        }
        if self.carrier.is_old() {
            let word = self.carrier.word(cx.dialect);
            let message = format!("network `{word}` is V2Ray's; Xray has removed it for XHTTP");
            cx.warn(node, Kind::Legacy, message);
        }
    }

    fn write_table(&self, dialect: Dialect, map: &mut PlainMap) {
        map.put("network", self.carrier.word(dialect));
        let (word, block) = match &self.security {
            Security::None => (SecurityWord::None, None),
            Security::Tls(tls) => (SecurityWord::Tls, Some((TLS, tls.write(dialect)))),
            Security::Reality(reality) => (SecurityWord::Reality, Some((REALITY, reality.write(dialect)))),
            Security::Xtls(tls) => (SecurityWord::Xtls, Some((XTLS, tls.write(dialect)))),
        };
        if word != SecurityWord::None {
            map.put("security", word.write(dialect));
        }
        let mut settings = self.carrier.write_settings(dialect, &mut PlainMap::default());
        if let (Some(download), Dialect::Json) = (&self.download, dialect) {
            settings.put(DOWNLOAD, download.write(dialect));
        }
        map.put_table(BLOCKS[self.carrier.nth()].names(dialect)[0], settings);
        if let Some((key, Plain::Map(table))) = block {
            map.put_table(key.names(dialect)[0], table);
        }
        let below = StreamKeys { sockopt: self.sockopt.clone(), mask: self.mask.clone(), ..StreamKeys::default() };
        below.write_to(dialect, map);
        if let (Some(download), Dialect::Toml) = (&self.download, dialect) {
            map.put("download", download.write(dialect));
        }
    }

    /// The keys with the schemas of what stands behind them.
    fn docs(dialect: Dialect, defs: &mut Defs) -> Vec<KeyDoc> {
        let mut keys = StreamKeys::keys(dialect, defs);
        let mut shapes: Vec<(&str, Json)> = vec![];
        for (key, (_, shape)) in BLOCKS.iter().zip(Carrier::shapes(dialect, defs)) {
            shapes.push((key.toml, shape));
        }
        shapes.push(("tls", Tls::schema(dialect, defs)));
        shapes.push(("xtls", Tls::schema(dialect, defs)));
        shapes.push(("reality", Reality::shape(dialect, defs)));
        shapes.push(("security", SecurityWord::shape(dialect, defs)));
        shapes.push(("download", Download::shape(dialect, defs)));
        let words = Carrier::WORDS.iter().flat_map(|row| row.0.iter().copied()).chain(["tls"]);
        let network = match dialect {
            Dialect::Toml => json!({ "type": "string", "enum": words.collect::<Vec<_>>() }),
            Dialect::Json => json!({ "type": "string" }),
        };
        shapes.push(("network", network));
        for key in &mut keys {
            if let Some((_, shape)) = shapes.iter().find(|(name, _)| *name == key.key.toml) {
                key.shape = shape.clone();
                key.default = None;
            }
        }
        keys
    }
}

/// The carrier, and whether the word for it was the seed's `tls` (TCP with TLS). Tables of other carriers are read for
/// their mistakes, as Xray does, and have no other effect.
fn read_carrier(cx: &mut Reader<'_>, node: &Node, keys: &StreamKeys) -> (Option<Carrier>, bool) {
    let word = &keys.network.0;
    let tls = !cx.json() && word.text() == Some("tls");
    let chosen = match word.text() {
        _ if word.is_null() || tls => Some(0),
        Some(text) if text.eq_ignore_ascii_case("gun") && cx.json() => {
            cx.warn(word, Kind::Legacy, "network `gun` is now `grpc`");
            find_word(cx, word, Carrier::WORDS)
        }
        _ => cx.key("network", |cx| find_word(cx, word, Carrier::WORDS)),
    };
    let mut carrier = None;
    for (nth, (raw, key)) in keys.blocks().into_iter().zip(BLOCKS).enumerate() {
        let name = key.names(cx.dialect)[0];
        if Some(nth) == chosen {
            let settings = or_empty(raw, node);
            carrier = cx.key(name, |cx| Carrier::read_nth(cx, nth, &settings, &mut Ends::default()));
        } else if !raw.0.is_null() {
            unused(cx, name, &raw.0, chosen.is_some(), |cx| {
                Carrier::read_nth(cx, nth, &raw.0, &mut Ends::default());
            });
        }
    }
    (carrier, tls)
}

/// A table that the words beside it do not choose.
fn unused(cx: &mut Reader<'_>, name: &str, node: &Node, sure: bool, read: impl FnOnce(&mut Reader<'_>)) {
    cx.key(name, |cx| {
        let marks = cx.marks.len();
        let told = cx.problems.len();
        read(cx);
        cx.marks.truncate(marks);
        cx.problems.retain({
            let mut n = 0;
            move |p| {
                n += 1;
                n <= told || p.severity == Severity::Error
            }
        });
        cx.mark(node.span, Class::Dropped, "not chosen by network and security");
        if !sure {
            return;
        }
        let message = format!("`{name}` is not used: network and security choose something else");
        let severity = if cx.json() { Severity::Note } else { Severity::Error };
        cx.report(severity, Kind::Ignored, node.span, message);
    });
}

fn read_security(cx: &mut Reader<'_>, node: &Node, keys: &StreamKeys, tls: bool) -> Security {
    let said = Some(&keys.security.0).filter(|word| !word.is_null());
    let word = said.and_then(|word| cx.key("security", |cx| SecurityWord::read(cx, word)));
    if tls && word.is_some_and(|word| word != SecurityWord::Tls) {
        cx.error(
            &keys.security.0,
            Kind::Conflict,
            "network `tls` is TCP with TLS; no other security can stand beside it",
        );
    }
    let word = if tls { SecurityWord::Tls } else { word.unwrap_or_default() };
    let blocks = [
        (SecurityWord::Tls, TLS, &keys.tls),
        (SecurityWord::Reality, REALITY, &keys.reality),
        (SecurityWord::Xtls, XTLS, &keys.xtls),
    ];
    let mut out = Security::None;
    for (which, key, raw) in blocks {
        let name = key.names(cx.dialect)[0];
        if which != word {
            if !raw.0.is_null() {
                unused(cx, name, &raw.0, true, |_| {});
            }
            continue;
        }
        let settings = or_empty(raw, node);
        out = cx.key(name, |cx| match which {
            SecurityWord::Reality if raw.0.is_null() => {
                cx.error(node, Kind::Missing, "REALITY: Empty \"realitySettings\".");
                Security::None
            }
            SecurityWord::Reality => {
                Reality::read(cx, &settings).map_or(Security::None, |r| Security::Reality(Box::new(r)))
            }
            SecurityWord::Xtls => {
                cx.warn(&keys.security.0, Kind::NotBuilt, "security `xtls` is gone; this cannot run").help =
                    Some("use xtls-rprx-vision with TLS or REALITY, on both sides".into());
                Security::Xtls(Box::new(Tls::read(cx, &settings).unwrap_or_default()))
            }
            _ => Security::Tls(Box::new(Tls::read(cx, &settings).unwrap_or_default())),
        });
    }
    out
}

/// JSON has the download channel inside XHTTP's settings, or inside their `extra`.
fn read_download(cx: &mut Reader<'_>, keys: &StreamKeys, carrier: Option<&Carrier>) -> Option<Box<Download>> {
    let find = |node: &Node, name: &str| -> Option<Node> {
        let entry = node.map()?.iter().rev().find(|e| e.key.eq_ignore_ascii_case(name))?;
        Some(entry.node.clone()).filter(|node| !node.is_null())
    };
    let node = if cx.json() {
        let settings = &keys.xhttp.0;
        match find(settings, "extra") {
            Some(extra) => find(&extra, DOWNLOAD)?,
            None => find(settings, DOWNLOAD)?,
        }
    } else {
        Some(keys.download.0.clone()).filter(|node| !node.is_null())?
    };
    let download = if cx.json() {
        cx.key("xhttpSettings", |cx| cx.key(DOWNLOAD, |cx| Download::read(cx, &node)))?
    } else {
        cx.key("download", |cx| Download::read(cx, &node))?
    };
    match carrier {
        Some(Carrier::Xhttp(xhttp)) if xhttp.mode == XhttpMode::StreamOne => {
            cx.error(&node, Kind::Conflict, "Can not use \"downloadSettings\" in \"stream-one\" mode.");
            None
        }
        Some(Carrier::Xhttp(_)) => Some(Box::new(download)),
        _ if cx.json() => None,
        _ => {
            cx.error(&node, Kind::Conflict, "`download` belongs to network `xhttp`");
            None
        }
    }
}

impl Field for Stream {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        let mut table = Table::open(cx, node)?;
        let stream = Self::read_table(cx, &mut table);
        table.finish(cx);
        Some(stream)
    }

    fn write(&self, dialect: Dialect) -> Plain {
        let mut map = PlainMap::default();
        self.write_table(dialect, &mut map);
        map.into()
    }

    fn shape(dialect: Dialect, defs: &mut Defs) -> Json {
        named("Stream", defs, |defs| object(dialect, &StreamKeys::doc(), &Self::docs(dialect, defs)))
    }
}

const ADDRESS: Key = Key { toml: "server", json: &["address"] };
const PORT: Key = Key { toml: "port", json: &["port"] };

impl Field for Download {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        let mut table = Table::open(cx, node)?;
        // Xray crashes at the first dial without an address.
        let address = table.need::<Host>(cx, ADDRESS);
        let port = table.need::<Port>(cx, PORT);
        let stream = Stream::read_table(cx, &mut table);
        table.finish(cx);
        Some(Self { address: address?, port: port?.0, stream })
    }

    fn write(&self, dialect: Dialect) -> Plain {
        let mut map = PlainMap::default();
        map.put(ADDRESS.names(dialect)[0], self.address.write(dialect));
        map.put("port", Port(self.port).write(dialect));
        self.stream.write_table(dialect, &mut map);
        map.into()
    }

    fn shape(dialect: Dialect, defs: &mut Defs) -> Json {
        named("Download", defs, |defs| {
            let mut keys = Stream::docs(dialect, defs);
            for (key, shape) in [(ADDRESS, Host::shape(dialect, defs)), (PORT, Port::shape(dialect, defs))] {
                let doc = "Where the server is.".to_owned();
                keys.push(KeyDoc { key, doc, shape, default: None, required: true, ignored: None });
            }
            object(dialect, "A way of its own for what comes down.", &keys)
        })
    }
}

/// Puts a schema among the named ones; its place is taken first, because a stream may hold a stream.
fn named(name: &str, defs: &mut Defs, make: impl FnOnce(&mut Defs) -> Json) -> Json {
    if !defs.map.contains_key(name) {
        defs.map.insert(name.to_owned(), Json::Null);
        let schema = make(defs);
        defs.map.insert(name.to_owned(), schema);
    }
    json!({ "$ref": format!("#/$defs/{name}") })
}
