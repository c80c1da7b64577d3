//! Carriers that Xray has removed and V2Ray still has.

use std::collections::BTreeMap;

use crate::shape::{Secret, TextList};

crate::record! {
    /// HTTP/2 as V2Ray carries it: one request, its body both ways.
    pub struct OldHttp {
        /// Hosts, one is drawn for each connection.
        host: TextList => "host";
        /// Path.
        path: String = "/".into() => "path";
        /// Method.
        method: String = "PUT".into() => "method";
        /// More headers; of several values one is drawn.
        headers: BTreeMap<String, TextList> => "headers";
        /// Seconds without traffic before a ping; 0 is off.
        read_idle_timeout: i32 => "read_idle_timeout";
        /// Seconds a ping may stay unanswered; 0 takes 15.
        health_check_timeout: i32 => "health_check_timeout";
    }
}

crate::record! {
    /// What packets look like.
    pub struct QuicHeader {
        /// The protocol they look like.
        r#type: String = "none".into() => "type";
    }
}

crate::record! {
    /// QUIC as V2Ray carries it.
    pub struct OldQuic {
        /// How packets are sealed once more: `none`, `aes-128-gcm`, `chacha20-poly1305`.
        security: String = "none".into() => "security";
        /// Key of that seal.
        key: Secret<String> => "key";
        /// What packets look like.
        header: QuicHeader => "header";
    }
}

crate::record! {
    /// A Unix socket as V2Ray carries it.
    pub struct DomainSocket {
        /// Path.
        path: String => "path";
        /// In Linux' abstract name space.
        r#abstract: bool => "abstract";
        /// Name padded with zero bytes to full length.
        padding: bool => "padding";
    }
}
