//! Times and switches by user level.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::record;
use crate::shape::Seconds;

const fn seconds(n: u64) -> Seconds {
    Seconds(Duration::from_secs(n))
}

record! {
    /// Policy: times by user level, counters, and how long removed parts may drain.
    pub struct Policy {
        /// By user level.
        levels: BTreeMap<String, LevelPolicy> => "levels";
        /// Switches of the whole engine.
        system: SystemPolicy => "system";
        /// How long flows of removed parts go on after a reload.
        drain: Seconds = seconds(30) => "drain";
    }
}

record! {
    /// Times and counters of one user level.
    pub struct LevelPolicy {
        /// Bound of a handshake.
        handshake: Seconds = seconds(60) => "handshake";
        /// How long a flow may be silent.
        conn_idle: Seconds = seconds(300) => "connIdle";
        /// How long a flow may be silent after the downlink has ended.
        uplink_only: Seconds = seconds(1) => "uplinkOnly";
        /// How long a flow may be silent after the uplink has ended.
        downlink_only: Seconds = seconds(1) => "downlinkOnly";
        /// Whether upload is counted by user.
        stats_user_uplink: bool => "statsUserUplink";
        /// Whether download is counted by user.
        stats_user_downlink: bool => "statsUserDownlink";
        /// Whether addresses of users that are online are kept.
        stats_user_online: bool => "statsUserOnline";
        /// KiB buffered in each direction of a flow; negative = no limit, absent = the default of the machine.
        buffer_size: Option<i32> => "bufferSize";
    }
}

record! {
    /// Counters by tag.
    pub struct SystemPolicy {
        /// Whether upload is counted by inbound.
        stats_inbound_uplink: bool => "statsInboundUplink";
        /// Whether download is counted by inbound.
        stats_inbound_downlink: bool => "statsInboundDownlink";
        /// Whether upload is counted by outbound.
        stats_outbound_uplink: bool => "statsOutboundUplink";
        /// Whether download is counted by outbound.
        stats_outbound_downlink: bool => "statsOutboundDownlink";
        /// Whether access lines name the target that the client asked for even after it was replaced (V2Ray).
        override_access_log_dest: bool => "overrideAccessLogDest";
    }
}

impl Policy {
    /// The policy of a user level.
    #[must_use]
    pub fn level(&self, level: u32) -> LevelPolicy {
        self.levels.get(&level.to_string()).cloned().unwrap_or_default()
    }
}
