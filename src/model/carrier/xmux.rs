//! How XHTTP spreads its requests over connections.

use crate::shape::{Kind, Ranged, Reader, Table};

crate::record! {
    /// How requests are spread over connections. Members that are not given have no limit.
    pub struct Xmux {
        /// Requests a connection carries at once.
        max_concurrency: Ranged => "maxConcurrency";
        /// Connections at once.
        max_connections: Ranged => "maxConnections";
        /// How often a connection is used.
        c_max_reuse_times: Ranged => "cMaxReuseTimes";
        /// Requests a connection carries over its life.
        h_max_request_times: Ranged => "hMaxRequestTimes";
        /// Seconds a connection is used.
        h_max_reusable_secs: Ranged => "hMaxReusableSecs";
        /// Seconds between pings.
        h_keep_alive_period: i64 => "hKeepAlivePeriod";
    }
    hook Xmux::settle;
}

impl Xmux {
    /// What holds where nothing is said.
    #[must_use]
    pub fn usual() -> Self {
        Self {
            max_concurrency: Ranged::default(),
            max_connections: Ranged::new(3, 3),
            c_max_reuse_times: Ranged::default(),
            h_max_request_times: Ranged::new(600, 900),
            h_max_reusable_secs: Ranged::new(1800, 3000),
            h_keep_alive_period: 0,
        }
    }

    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        if self.max_connections.to > 0 && self.max_concurrency.to > 0 {
            cx.error(table.node(), Kind::Conflict, "maxConnections cannot be specified together with maxConcurrency");
        }
        if *self == Self::default() {
            *self = Self::usual();
        }
    }
}
