//! What users of several protocols have in common.

use std::collections::HashSet;

use crate::shape::{Kind, Node, Reader};

crate::words! {
    /// How VLESS wraps what it carries. Only Vision is alive; the others belonged to XTLS, which nothing speaks any more.
    pub enum VlessFlow(exact) {
        /// Not at all.
        None = "";
        /// Vision.
        Vision = "xtls-rprx-vision";
        /// Vision, and UDP for port 443 is let through.
        VisionUdp443 = "xtls-rprx-vision-udp443";
        /// XTLS origin.
        Origin = "xtls-rprx-origin";
        /// XTLS origin with UDP for port 443.
        OriginUdp443 = "xtls-rprx-origin-udp443";
        /// XTLS direct.
        Direct = "xtls-rprx-direct";
        /// XTLS direct with UDP for port 443.
        DirectUdp443 = "xtls-rprx-direct-udp443";
        /// XTLS splice.
        Splice = "xtls-rprx-splice";
        /// XTLS splice with UDP for port 443.
        SpliceUdp443 = "xtls-rprx-splice-udp443";
    }
}

impl VlessFlow {
    /// Whether it belongs to XTLS: it is read, and refused when it is to run.
    #[must_use]
    pub fn is_xtls(self) -> bool {
        self > Self::VisionUdp443
    }

    /// Warns of a flow that cannot run.
    pub fn check(self, cx: &mut Reader<'_>, node: &Node) {
        if self.is_xtls() {
            let message = format!("flow `{}` belongs to XTLS, which is gone; this cannot run", self.as_str());
            cx.warn(node, Kind::NotBuilt, message).help =
                Some("use xtls-rprx-vision with TLS or REALITY, on both sides".into());
        }
    }
}

/// Labels of users must differ within one inbound, in any letter case; empty ones do not count.
pub fn unique_emails<'a>(cx: &mut Reader<'_>, node: &Node, emails: impl Iterator<Item = &'a str>) {
    let mut seen = HashSet::new();
    for email in emails.filter(|e| !e.is_empty()) {
        if !seen.insert(email.to_lowercase()) {
            cx.error(node, Kind::Conflict, format!("User {email} already exists."));
        }
    }
}
