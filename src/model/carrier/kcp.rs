//! mKCP.

use crate::shape::{Key, Kind, Reader, Table};

crate::record! {
    /// mKCP: reliable packets over UDP.
    pub struct Kcp {
        /// Largest packet.
        mtu: u32 = 1350 => "mtu";
        /// Milliseconds of a beat.
        tti: u32 = 50 => "tti";
        /// Megabytes a second that are sent.
        uplink_capacity: u32 = 5 => "uplinkCapacity";
        /// Megabytes a second that are taken.
        downlink_capacity: u32 = 20 => "downlinkCapacity";
        /// Factor of the congestion window.
        cwnd_multiplier: u32 = 1 => "cwndMultiplier";
        /// Largest window in bytes.
        max_sending_window: u32 = 2 * 1024 * 1024 => "maxSendingWindow";
    }
    ignored { "congestion" | "readBufferSize" | "writeBufferSize" => "an older key" }
    taken {
        "header" => "Older spelling of a mask `mkcp-legacy`.",
        "seed" => "Older spelling of a mask `mkcp-legacy`.",
    }
    hook Kcp::settle;
}

impl Kcp {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        // What they mean is a mask of the whole stream, which reads them again.
        table.take(cx, Key::json(&["header"]));
        table.take(cx, Key::json(&["seed"]));
        let node = table.node();
        if self.mtu < 21 {
            cx.error(node, Kind::Value, "Mtu must be at least 21");
        }
        if !(10..=1000).contains(&self.tti) {
            cx.error(node, Kind::Value, format!("invalid mKCP TTI: {}", self.tti)).help =
                Some("10 to 1000 milliseconds are possible".into());
        }
        if self.cwnd_multiplier < 1 {
            cx.error(node, Kind::Value, "CwndMultiplier must be at least 1");
        }
        if self.max_sending_window < self.mtu {
            cx.error(node, Kind::Value, "MaxSendingWindow must be >= Mtu");
        }
    }
}
