//! WebSocket.

use std::collections::BTreeMap;

use super::httpupgrade::{early_data, host_header, rooted};
use crate::shape::{Reader, Seconds, Table};

crate::record! {
    /// WebSocket.
    pub struct WebSocket {
        /// Path of the request. JSON may end it in `?ed=N`, which becomes `max_early_data`.
        path: String = "/".into() => "path";
        /// Host of the request; empty takes the server name, else the address.
        host: String => "host";
        /// More headers of the request.
        headers: BTreeMap<String, String> => "headers";
        /// Connections begin with a PROXY header.
        accept_proxy_protocol: bool => "acceptProxyProtocol";
        /// Seconds between pings; 0 is off.
        heartbeat_period: Seconds => "heartbeatPeriod";
        /// First bytes that travel in the request; 0 is off.
        max_early_data: u32 => "maxEarlyData";
        /// The header they travel in.
        early_data_header_name: String = "Sec-WebSocket-Protocol".into() => "earlyDataHeaderName";
    }
    ignored { "useBrowserForwarding" => "no browser dials for us" }
    hook WebSocket::settle;
}

impl WebSocket {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        host_header(cx, table.node(), &mut self.headers, &mut self.host);
        if cx.json() {
            // V2Ray's keys and the path's query say the same; the query wins, because Xray knows it alone.
            if let Some(ed) = early_data(cx, table.node(), &mut self.path) {
                self.max_early_data = ed;
            }
        }
        rooted(&mut self.path);
        if self.early_data_header_name.is_empty() {
            self.early_data_header_name = Self::default().early_data_header_name;
        }
    }
}
