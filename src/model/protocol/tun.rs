//! A network device of the system.

crate::record! {
    /// A network device: what the system routes into it comes in here.
    pub struct Tun {
        /// Name of the device; empty takes a free one.
        name: String => "name";
        /// Description of the adapter on Windows.
        desc: String = "Wintun".into() => "desc";
        /// Largest packet.
        mtu: u32 = 1500 => "mtu" | "MTU";
        /// Addresses of the device, with prefix length.
        gateway: Vec<String> => "gateway";
        /// DNS servers the system is told.
        dns: Vec<String> => "dns";
        /// Networks that are routed into it.
        auto_system_routing_table: Vec<String> => "autoSystemRoutingTable";
        /// The interface outbounds are bound to, against loops; `auto` finds it.
        auto_outbounds_interface: Option<String> => "autoOutboundsInterface";
        /// Which policy level its flows have.
        user_level: u32 => "userLevel";
    }
}
