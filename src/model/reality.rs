//! REALITY: TLS that borrows another site's face.

use serde_json::{Value as Json, json};

use super::keys::{KeyIfAny, KeyOf, hex};
use super::protocol::DestText;
use super::tls::Fingerprint;
use crate::shape::{Defs, Dialect, Field, Key, Kind, Node, Plain, PlainMap, Reader, Record, Table};

/// One side of it.
#[derive(Debug, Clone, PartialEq)]
pub enum Reality {
    /// Who dials.
    Client(RealityClient),
    /// Who listens: there is a `target`.
    Server(RealityServer),
}

/// Up to eight bytes in hexadecimal digits; missing ones are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ShortId {
    bytes: [u8; 8],
    given: u8,
}

impl ShortId {
    /// The eight bytes.
    #[must_use]
    pub fn bytes(&self) -> [u8; 8] {
        self.bytes
    }
}

impl Field for ShortId {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        let Some(text) = node.text() else {
            return cx.wrong_type(node, "hexadecimal digits");
        };
        if text.len() > 16 {
            cx.error(node, Kind::Value, "too long \"shortId\": it has at most 16 digits");
            return None;
        }
        let Some(bytes) = hex(text) else {
            cx.error(node, Kind::Value, format!("invalid \"shortId\": {text:?}")).help =
                Some("write an even number of hexadecimal digits".into());
            return None;
        };
        let mut out = Self { bytes: [0; 8], given: u8::try_from(bytes.len()).unwrap_or(8) };
        out.bytes[..bytes.len()].copy_from_slice(&bytes);
        Some(out)
    }

    fn write(&self, _: Dialect) -> Plain {
        Plain::Text(self.bytes.iter().take(self.given.into()).map(|b| format!("{b:02x}")).collect())
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        json!({ "type": "string", "pattern": "^([0-9A-Fa-f]{2}){0,8}$" })
    }
}

/// A version of a client, `x.y.z`; parts that are missing are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ClientVersion(pub [u8; 3]);

impl Field for ClientVersion {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        let Some(text) = node.text() else {
            return cx.wrong_type(node, "a version such as \"26.3.27\"");
        };
        let mut out = [0; 3];
        if text.split('.').count() > 3 {
            return cx.wrong_value(node, "a version of at most three numbers");
        }
        for (slot, part) in out.iter_mut().zip(text.split('.')) {
            match part.parse() {
                Ok(number) => *slot = number,
                Err(_) => return cx.wrong_value(node, "a version of numbers less than 256"),
            }
        }
        Some(Self(out))
    }

    fn write(&self, _: Dialect) -> Plain {
        let [a, b, c] = self.0;
        Plain::Text(format!("{a}.{b}.{c}"))
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        json!({ "type": "string" })
    }
}

crate::record! {
    /// How fast bytes go to and from the borrowed site for those who are not let in.
    pub struct FallbackLimit {
        /// Bytes that are free.
        after_bytes: u64 => "afterBytes";
        /// Bytes a second after those; 0 is no limit.
        bytes_per_sec: u64 => "bytesPerSec";
        /// Bytes at once.
        burst_bytes_per_sec: u64 => "burstBytesPerSec";
    }
}

crate::record! {
    /// The listening side.
    pub struct RealityServer {
        /// The site whose face is borrowed: a port, `host:port` or a path.
        target: DestText => "target" | "dest", required;
        /// Kind of the place; found from `target` unless given.
        r#type: String => "type";
        /// Version of the PROXY header the site gets: 0 for none, 1 or 2.
        xver: u64 => "xver";
        /// Names clients may ask for.
        server_names: Vec<String> => "serverNames", required;
        /// Private key.
        private_key: KeyOf<32> => "privateKey", required;
        /// Ids clients may show.
        short_ids: Vec<ShortId> => "shortIds", required;
        /// Oldest client.
        min_client_ver: ClientVersion = ClientVersion([26, 3, 27]) => "minClientVer";
        /// Newest client.
        max_client_ver: Option<ClientVersion> => "maxClientVer";
        /// Milliseconds a client's clock may differ; 0 does not look.
        max_time_diff: u64 => "maxTimeDiff";
        /// Seed of the key that signs certificates once more.
        mldsa65_seed: KeyIfAny<32> => "mldsa65Seed";
        /// Limit of what the site gets.
        limit_fallback_upload: FallbackLimit => "limitFallbackUpload";
        /// Limit of what the site sends.
        limit_fallback_download: FallbackLimit => "limitFallbackDownload";
        /// Says more in the log.
        show: bool => "show";
        /// File that keys are logged to, for debugging; empty is off.
        master_key_log: String => "masterKeyLog";
    }
    ignored {
        "fingerprint" | "serverName" | "publicKey" | "password" | "shortId" | "spiderX" | "mldsa65Verify" => "a key of the client",
    }
    hook RealityServer::settle;
}

impl RealityServer {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        let node = table.node();
        let dialect = cx.dialect;
        let given = |toml, json| table.has(dialect, Key { toml, json });
        let faults = [
            (given("server_names", &["serverNames"]) && self.server_names.is_empty(), "empty \"serverNames\""),
            (given("short_ids", &["shortIds"]) && self.short_ids.is_empty(), "empty \"shortIds\""),
            (self.xver > 2, "invalid PROXY protocol version, \"xver\" only accepts 0, 1, 2"),
            (
                given("target", &["target", "dest"]) && self.r#type.is_empty() && self.target.parse().is_none(),
                "please fill in a valid value for \"target\"",
            ),
            (
                self.mldsa65_seed.0.as_ref().is_some_and(|seed| seed.bytes() == self.private_key.bytes()),
                "\"mldsa65Seed\" and \"privateKey\" must differ",
            ),
        ];
        for (bad, message) in faults {
            if bad {
                cx.error(node, Kind::Value, message);
            }
        }
        if self.master_key_log == "none" {
            self.master_key_log.clear();
        }
    }
}

crate::record! {
    /// The dialling side.
    pub struct RealityClient {
        /// Whose ClientHello is sent.
        fingerprint: Fingerprint => "fingerprint";
        /// Name that is asked for; empty takes the target's.
        server_name: String => "serverName";
        /// The server's public key.
        public_key: KeyOf<32> => "publicKey" | "password", required;
        /// Id that is shown.
        short_id: ShortId => "shortId";
        /// Path of the site that is walked when the site itself answers.
        spider_x: String = "/".into() => "spiderX";
        /// Key that checks certificates once more.
        mldsa65_verify: KeyIfAny<1952> => "mldsa65Verify";
        /// Says more in the log.
        show: bool => "show";
        /// File that keys are logged to, for debugging; empty is off.
        master_key_log: String => "masterKeyLog";
    }
    ignored {
        "allowInsecure" | "alpn" => "REALITY has it not",
        "privateKey" | "xver" | "minClientVer" | "maxClientVer" | "maxTimeDiff" | "mldsa65Seed" => "a key of the server",
        "type" | "limitFallbackUpload" | "limitFallbackDownload" => "a key of the server",
    }
    taken {
        "serverNames" => "Must be empty: `serverName` is the client's key.",
        "shortIds" => "Must be empty: `shortId` is the client's key.",
    }
    hook RealityClient::settle;
}

impl RealityClient {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        for (key, one) in [(Key::json(&["serverNames"]), "serverName"), (Key::json(&["shortIds"]), "shortId")] {
            let Some(entry) = table.take(cx, key) else { continue };
            if entry.node.list().is_none_or(|items| !items.is_empty()) {
                let message = format!("non-empty \"{}\", please use \"{one}\" instead", entry.key);
                cx.error(&entry.node, Kind::Conflict, message);
            }
        }
        let node = table.node();
        if matches!(self.fingerprint.0.as_str(), "unsafe" | "hellogolang") {
            cx.error(node, Kind::Value, format!("invalid \"fingerprint\": {}", self.fingerprint.0));
        }
        if self.spider_x.is_empty() {
            self.spider_x = "/".into();
        }
        if !self.spider_x.starts_with('/') {
            cx.error(node, Kind::Value, format!("invalid \"spiderX\": {}", self.spider_x));
        }
        if self.master_key_log == "none" {
            self.master_key_log.clear();
        }
    }
}

impl Field for Reality {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        let table = Table::open(cx, node)?;
        if table.has(cx.dialect, Key { toml: "target", json: &["target", "dest"] }) {
            RealityServer::read(cx, node).map(Self::Server)
        } else {
            RealityClient::read(cx, node).map(Self::Client)
        }
    }

    fn write(&self, dialect: Dialect) -> Plain {
        let mut map = PlainMap::default();
        match self {
            Self::Client(client) => client.write_to(dialect, &mut map),
            Self::Server(server) => server.write_to(dialect, &mut map),
        }
        map.into()
    }

    fn shape(dialect: Dialect, defs: &mut Defs) -> Json {
        json!({ "anyOf": [RealityClient::schema(dialect, defs), RealityServer::schema(dialect, defs)] })
    }
}
