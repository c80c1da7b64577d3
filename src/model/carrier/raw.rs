//! TCP as it is.

use super::header::{RequestHeader, ResponseHeader};

crate::words! {
    /// What stands in front of the first bytes.
    pub enum RawKind(fold) {
        /// Nothing.
        None = "none";
        /// A request and an answer of plain HTTP.
        Http = "http";
    }
}

crate::record! {
    /// What stands in front of the first bytes.
    pub struct RawHeader {
        /// Which.
        r#type: RawKind => "type", required;
        /// The request of plain HTTP.
        request: RequestHeader => "request";
        /// The answer of plain HTTP.
        response: ResponseHeader => "response";
    }
}

crate::record! {
    /// TCP as it is.
    pub struct RawTcp {
        /// Connections begin with a PROXY header.
        accept_proxy_protocol: bool => "acceptProxyProtocol";
        /// What stands in front of the first bytes.
        header: RawHeader => "header";
    }
}
