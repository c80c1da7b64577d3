//! Many flows over one connection.

crate::words! {
    /// What happens to UDP for port 443 while mux is on.
    pub enum Udp443(exact) {
        /// It is dropped, so that browsers fall back to TCP.
        Reject = "reject" => "reject" | "";
        /// It is carried like any other.
        Allow = "allow";
        /// It goes beside the mux.
        Skip = "skip";
    }
}

crate::record! {
    /// Many flows over one connection.
    pub struct Mux {
        /// Whether flows share connections.
        enabled: bool => "enabled";
        /// Flows a connection carries at once; 0 means 8, a negative number keeps TCP out of the mux.
        concurrency: i16 => "concurrency";
        /// The same for UDP in a pool of its own; 0 shares with TCP, a negative number keeps UDP out.
        xudp_concurrency: i16 => "xudpConcurrency";
        /// What happens to UDP for port 443.
        xudp_proxy_udp443: Udp443 => "xudpProxyUDP443";
    }
}
