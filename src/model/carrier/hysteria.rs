//! Hysteria's QUIC connection.

use std::collections::BTreeMap;

use crate::model::protocol::check_version;
use crate::shape::{Kind, Reader, Secret, Table};

crate::record! {
    /// What a server shows to those who do not know the password.
    pub struct Masquerade {
        /// Sort: empty or `404`, `file`, `proxy`, `string`.
        r#type: String => "type";
        /// Folder of `file`.
        dir: String => "dir";
        /// Site of `proxy`.
        url: String => "url";
        /// The site sees its own host.
        rewrite_host: bool => "rewriteHost";
        /// The site's certificate is not checked.
        insecure: bool => "insecure";
        /// Body of `string`.
        content: String => "content";
        /// Headers of `string`.
        headers: BTreeMap<String, String> => "headers";
        /// Status of `string`.
        status_code: u16 => "statusCode";
    }
    hook Masquerade::settle;
}

impl Masquerade {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        if !matches!(self.r#type.as_str(), "" | "404" | "file" | "proxy" | "string") {
            cx.error(table.node(), Kind::Value, format!("unknown masquerade type: {}", self.r#type));
        }
    }
}

crate::record! {
    /// Hysteria's QUIC connection.
    pub struct HysteriaCarrier {
        /// Version; 2 is spoken.
        version: u32 = 2 => "version", stated;
        /// Password.
        auth: Secret<String> => "auth";
        /// Seconds after which a quiet UDP session ends; 0 means 60.
        udp_idle_timeout: u64 => "udpIdleTimeout";
        /// What others see.
        masquerade: Masquerade => "masquerade";
    }
    ignored { "congestion" | "up" | "down" | "udphop" => "moved to finalmask.quicParams" }
    hook HysteriaCarrier::settle;
}

impl HysteriaCarrier {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        check_version(cx, table, self.version);
        if self.udp_idle_timeout != 0 && !(2..=600).contains(&self.udp_idle_timeout) {
            cx.error(table.node(), Kind::Value, "UdpIdleTimeout must be between 2 and 600");
        }
    }
}
