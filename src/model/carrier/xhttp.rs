//! XHTTP: a stream in plain requests and answers.

use std::collections::BTreeMap;

use super::httpupgrade::rooted;
use super::xmux::Xmux;
use crate::shape::{Class, Field, Key, Kind, Node, Ranged, Reader, Table, Value};

crate::words! {
    /// How the way up is cut into requests.
    pub enum XhttpMode(exact) {
        /// As server and HTTP version allow.
        Auto = "auto" => "auto" | "";
        /// Into many.
        PacketUp = "packet-up";
        /// One for each stream.
        StreamUp = "stream-up";
        /// One for both ways.
        StreamOne = "stream-one";
    }
}

crate::words! {
    /// Where something stands in a request.
    pub enum Placement(exact) {
        /// As the key's own default says.
        Usual = "default" => "";
        /// In the path.
        Path = "path";
        /// In a cookie.
        Cookie = "cookie";
        /// In a header.
        Header = "header";
        /// In the query.
        Query = "query";
        /// In the query of a URL in a header.
        QueryInHeader = "queryInHeader";
    }
}

crate::words! {
    /// Where the bytes of the way up stand.
    pub enum UplinkPlacement(exact) {
        /// As the mode allows.
        Auto = "auto" => "auto" | "";
        /// In the body.
        Body = "body";
        /// In cookies.
        Cookie = "cookie";
        /// In headers.
        Header = "header";
    }
}

crate::words! {
    /// What padding is made of.
    pub enum PaddingMethod(exact) {
        /// The letter X.
        RepeatX = "repeat-x" => "repeat-x" | "";
        /// Letters and digits, as in a token.
        Tokenish = "tokenish";
    }
}

crate::record! {
    /// A stream in plain requests and answers.
    pub struct Xhttp {
        /// Host of requests; empty takes the server name, else the address. A server takes no other host than this.
        host: String => "host";
        /// Path.
        path: String = "/".into() => "path";
        /// How the way up is cut into requests.
        mode: XhttpMode => "mode";
        /// More headers of requests.
        headers: BTreeMap<String, String> => "headers";
        /// Bytes of padding.
        x_padding_bytes: Ranged = Ranged::new(100, 1000) => "xPaddingBytes";
        /// Padding goes where the four keys below say.
        x_padding_obfs_mode: bool => "xPaddingObfsMode";
        /// Name of the padding in cookies and queries.
        x_padding_key: String = "x_padding".into() => "xPaddingKey";
        /// Header of the padding.
        x_padding_header: String = "X-Padding".into() => "xPaddingHeader";
        /// Where the padding stands; usually in the query of a URL in a header.
        x_padding_placement: Placement => "xPaddingPlacement";
        /// What padding is made of.
        x_padding_method: PaddingMethod => "xPaddingMethod";
        /// Method of the way up.
        uplink_http_method: String = "POST".into() => "uplinkHTTPMethod";
        /// Where the session's id stands; usually in the path.
        session_id_placement: Placement => "sessionIDPlacement";
        /// Name of the session's id where it has one.
        session_id_key: String => "sessionIDKey";
        /// Letters of the session's id, or the name of a table; empty makes UUIDs.
        session_id_table: String => "sessionIDTable";
        /// Length of the session's id.
        session_id_length: Ranged => "sessionIDLength";
        /// Where the number of a packet stands; usually in the path.
        seq_placement: Placement => "seqPlacement";
        /// Name of the number of a packet where it has one.
        seq_key: String => "seqKey";
        /// Where the bytes of the way up stand.
        uplink_data_placement: UplinkPlacement => "uplinkDataPlacement";
        /// Name of those bytes where they have one.
        uplink_data_key: String => "uplinkDataKey";
        /// Bytes in a cookie or header; 0 takes what fits.
        uplink_chunk_size: Ranged => "uplinkChunkSize";
        /// No `Content-Type: application/grpc` in requests.
        no_grpc_header: bool => "noGRPCHeader";
        /// No `Content-Type: text/event-stream` in answers.
        no_sse_header: bool => "noSSEHeader";
        /// Largest packet of the way up.
        sc_max_each_post_bytes: Ranged = Ranged::new(1_000_000, 1_000_000) => "scMaxEachPostBytes";
        /// Milliseconds between packets of the way up.
        sc_min_posts_interval_ms: Ranged = Ranged::new(30, 30) => "scMinPostsIntervalMs";
        /// Packets a server keeps until their turn comes.
        sc_max_buffered_posts: i64 = 30 => "scMaxBufferedPosts";
        /// Seconds between bytes that keep the way up open; negative is off.
        sc_stream_up_server_secs: Ranged = Ranged::new(20, 80) => "scStreamUpServerSecs";
        /// Most bytes of a request's headers; 0 takes the default.
        server_max_header_bytes: i32 = 8192 => "serverMaxHeaderBytes";
        /// How requests are spread over connections.
        xmux: Xmux = Xmux::usual() => "xmux";
    }
    ignored {
        "scMaxConcurrentPosts" | "sessionPlacement" | "sessionKey" => "an older spelling that Xray ignores",
        "keepAlivePeriod" => "use xmux.hKeepAlivePeriod",
    }
    taken {
        "extra" => "A whole object of these settings that replaces all but `host`, `path` and `mode`.",
        "downloadSettings" => "A way of its own for what comes down: `streamSettings` with `address` and `port`.",
    }
    hook Xhttp::settle;
}

impl Xhttp {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        // A stream of its own; the stream around this one reads it.
        table.take(cx, Key::json(&["downloadSettings"]));
        if let Some(extra) = table.take(cx, Key::json(&["extra"])) {
            let whole = with_extra(table.node(), &extra.node);
            if let Some(whole) = cx.key(&extra.key, |cx| Self::read(cx, &whole)) {
                *self = whole;
                cx.mark(extra.node.span, Class::Rewritten, "beside host, path and mode");
            }
            return;
        }
        self.defaults();
        rooted(&mut self.path);
        self.uplink_http_method.make_ascii_uppercase();
        for (bad, kind, message) in self.faults() {
            if bad {
                cx.error(table.node(), kind, message);
            }
        }
    }

    /// Zero is Xray's word for "not given" in all of these.
    fn defaults(&mut self) {
        let usual = Self::default();
        let zero = Ranged::default();
        let or = |value: &mut Ranged, usual: Ranged| {
            if *value == zero {
                *value = usual;
            }
        };
        or(&mut self.x_padding_bytes, usual.x_padding_bytes);
        or(&mut self.sc_max_each_post_bytes, usual.sc_max_each_post_bytes);
        or(&mut self.sc_min_posts_interval_ms, usual.sc_min_posts_interval_ms);
        or(&mut self.sc_stream_up_server_secs, usual.sc_stream_up_server_secs);
        if self.sc_max_buffered_posts == 0 {
            self.sc_max_buffered_posts = usual.sc_max_buffered_posts;
        }
        if self.server_max_header_bytes == 0 {
            self.server_max_header_bytes = usual.server_max_header_bytes;
        }
        for (value, usual) in [
            (&mut self.x_padding_key, usual.x_padding_key),
            (&mut self.x_padding_header, usual.x_padding_header),
            (&mut self.uplink_http_method, usual.uplink_http_method),
        ] {
            if value.is_empty() {
                *value = usual;
            }
        }
    }

    fn faults(&self) -> [(bool, Kind, String); 10] {
        let packets = self.mode == XhttpMode::PacketUp;
        let apart = matches!(self.uplink_data_placement, UplinkPlacement::Cookie | UplinkPlacement::Header);
        let few = !self.session_id_table.is_empty() && self.session_id_length.from <= 0;
        [
            (
                self.headers.keys().any(|k| k.eq_ignore_ascii_case("host")),
                Kind::Conflict,
                "\"headers\" can't contain \"host\"".into(),
            ),
            (self.x_padding_bytes.from <= 0, Kind::Value, "xPaddingBytes cannot be disabled".into()),
            (self.server_max_header_bytes < 0, Kind::Value, "invalid negative value of maxHeaderBytes".into()),
            (
                self.uplink_http_method == "GET" && !packets,
                Kind::Conflict,
                "uplinkHTTPMethod can be GET only in packet-up mode".into(),
            ),
            (
                apart && !packets,
                Kind::Conflict,
                format!("UplinkDataPlacement can be {} only in packet-up mode", self.uplink_data_placement.as_str()),
            ),
            (self.x_padding_placement == Placement::Path, Kind::Value, "unsupported padding placement: path".into()),
            (
                self.session_id_placement == Placement::QueryInHeader,
                Kind::Value,
                "unsupported session placement: queryInHeader".into(),
            ),
            (
                self.seq_placement == Placement::QueryInHeader,
                Kind::Value,
                "unsupported seq placement: queryInHeader".into(),
            ),
            (!self.session_id_table.is_ascii(), Kind::Value, "sessionIDTable must be ASCII".into()),
            (few, Kind::Value, "sessionIDTable or sessionIDLength is too small".into()),
        ]
    }
}

/// `extra` with `host`, `path` and `mode` of the object around it; all else of that object does not count.
fn with_extra(around: &Node, extra: &Node) -> Node {
    let outer = |key: &str| ["host", "path", "mode"].iter().any(|name| key.eq_ignore_ascii_case(name));
    let (Value::Map(around), Value::Map(entries)) = (&around.value, &extra.value) else {
        return extra.clone();
    };
    let kept = entries.iter().filter(|e| !outer(&e.key)).chain(around.iter().filter(|e| outer(&e.key)));
    Node { value: Value::Map(kept.cloned().collect()), span: extra.span }
}
