//! A door without a protocol: everything goes to one fixed target, or where the system says it was going.

use crate::addr::Host;
use crate::model::fields::{Networks, Port, PortMap};

crate::record! {
    /// A door without a protocol: a fixed target, or the one the flow had before it was redirected here.
    pub struct Dokodemo {
        /// The fixed target; none means this machine.
        address: Option<Host> => "address" | "rewriteAddress";
        /// The fixed port; 0 keeps the port the flow came to.
        port: Port => "port" | "rewritePort";
        /// What is listened for.
        network: Networks = Networks::TCP => "network" | "allowedNetwork";
        /// Local ports that lead elsewhere, `"host:port"` with either side open.
        port_map: PortMap => "portMap";
        /// The target is the original destination of a redirected flow.
        follow_redirect: bool => "followRedirect";
        /// Which policy level its flows have.
        user_level: u32 => "userLevel";
    }
    ignored { "timeout" => "an older key; the policy's idle time counts" }
}
