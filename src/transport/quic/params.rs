//! How connections behave.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use quinn::{IdleTimeout, MtuDiscoveryConfig, TransportConfig, VarInt};

use super::brutal::Steering;
use super::pace::Pace;
use crate::addr::PortSet;
use crate::model::quicparams::{Congestion, QuicParams, UdpHop};

/// How connections behave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Params {
    /// So much silence is the end.
    pub idle: Duration,
    /// So much silence is broken.
    pub keep_alive: Option<Duration>,
    /// Streams both ways that the peer may have at a time.
    pub streams: u64,
    /// What may be under way on one stream, and on all of them.
    pub windows: (u64, u64),
    /// Who says how fast packets leave.
    pub congestion: Congestion,
    /// Looks for larger packets.
    pub seeks_mtu: bool,
    /// Bytes a second that are sent from the beginning, whatever the network does.
    pub forced: Option<u64>,
    /// A client goes from port to port.
    pub hop: Option<Arc<Hop>>,
    /// The peer takes datagrams, whether it announces that or not.
    pub datagrams: bool,
}

/// How a client goes from port to port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hop {
    /// The ports, not none.
    pub ports: PortSet,
    /// Seconds at one of them.
    pub seconds: RangeInclusive<u64>,
}

/// Seconds at one port where nothing is written.
const HOP: u64 = 30;
/// Bytes of the largest packet that is looked for: what passes Ethernet, with the heads of IPv6.
const LARGEST: usize = 1452;

/// What quic-go lets its windows grow to.
const WINDOWS: (u64, u64) = (6 * 1024 * 1024, 15 * 1024 * 1024);

impl Params {
    /// What a configuration says; what it does not is as given.
    #[must_use]
    pub fn of(set: Option<&QuicParams>, usual: Self) -> Self {
        let Some(set) = set else { return usual };
        let count = |written: i64| u64::try_from(written).ok().filter(|number| *number > 0);
        let seconds = |written| count(written).map(Duration::from_secs);
        let window = |largest, first| [largest, first, 0].into_iter().find(|window| *window > 0);
        Self {
            idle: seconds(set.max_idle_timeout).unwrap_or(usual.idle),
            keep_alive: seconds(set.keep_alive_period).or(usual.keep_alive),
            streams: count(set.max_incoming_streams).unwrap_or(usual.streams),
            windows: (
                window(set.max_stream_receive_window, set.init_stream_receive_window).unwrap_or(usual.windows.0),
                window(set.max_connection_receive_window, set.init_connection_receive_window)
                    .unwrap_or(usual.windows.1),
            ),
            congestion: set.congestion,
            seeks_mtu: !set.disable_path_mtu_discovery,
            forced: Some(set.brutal_up.0).filter(|rate| set.congestion == Congestion::ForceBrutal && *rate > 0),
            hop: set.udp_hop.as_ref().and_then(Hop::of).map(Arc::new),
            datagrams: usual.datagrams,
        }
    }

    /// The pace of a new connection.
    pub(super) fn pace(&self) -> Arc<Pace> {
        let pace = Pace::default();
        pace.set(self.forced.unwrap_or(0));
        Arc::new(pace)
    }

    /// The library's record, for a connection with this pace whose packets are longer by `overhead` on the wire.
    pub(super) fn config(&self, pace: &Arc<Pace>, overhead: usize) -> Arc<TransportConfig> {
        let number = |number| VarInt::from_u64(number).unwrap_or(VarInt::MAX);
        let mut config = TransportConfig::default();
        config
            .max_idle_timeout(IdleTimeout::try_from(self.idle).ok())
            .keep_alive_interval(self.keep_alive)
            .max_concurrent_bidi_streams(number(self.streams))
            .stream_receive_window(number(self.windows.0))
            .receive_window(number(self.windows.1));
        let seeking = self.seeks_mtu.then(|| {
            let mut seeking = MtuDiscoveryConfig::default();
            seeking.upper_bound(u16::try_from(LARGEST.saturating_sub(overhead)).unwrap_or(0));
            seeking
        });
        config.mtu_discovery_config(seeking);
        let reno = self.congestion == Congestion::Reno;
        config.congestion_controller_factory(Arc::new(Steering { pace: Arc::clone(pace), reno }));
        Arc::new(config)
    }
}

impl Hop {
    /// What a configuration says; none where it names no port.
    #[must_use]
    pub fn of(set: &UdpHop) -> Option<Self> {
        let ports = set.ports.clone().filter(|ports| !ports.is_empty())?;
        let second = |bound| u64::try_from(bound).ok().filter(|bound| *bound > 0).unwrap_or(HOP);
        let (from, to) = (second(set.interval.from), second(set.interval.to));
        Some(Self { ports, seconds: from..=to.max(from) })
    }
}

impl Default for Params {
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(30),
            keep_alive: None,
            streams: 100,
            windows: WINDOWS,
            congestion: Congestion::Usual,
            seeks_mtu: true,
            forced: None,
            hop: None,
            datagrams: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::quicparams::Bandwidth;
    use crate::shape::Ranged;

    #[test]
    fn what_is_not_written_is_as_usual() {
        let usual = Params { keep_alive: Some(Duration::from_secs(10)), ..Params::default() };
        assert_eq!(Params::of(None, usual.clone()), usual);
        assert_eq!(Params::of(Some(&QuicParams::default()), usual.clone()), usual);
        let set = QuicParams {
            max_idle_timeout: 60,
            keep_alive_period: 5,
            max_incoming_streams: 8,
            init_stream_receive_window: 20_000,
            init_connection_receive_window: 20_000,
            max_connection_receive_window: 40_000,
            disable_path_mtu_discovery: true,
            congestion: Congestion::ForceBrutal,
            brutal_up: Bandwidth(1 << 20),
            udp_hop: Some(UdpHop { ports: Some(PortSet::one(7)), interval: Ranged::new(5, 9) }),
            ..QuicParams::default()
        };
        let expected = Params {
            idle: Duration::from_secs(60),
            keep_alive: Some(Duration::from_secs(5)),
            streams: 8,
            windows: (20_000, 40_000),
            congestion: Congestion::ForceBrutal,
            seeks_mtu: false,
            forced: Some(1 << 20),
            hop: Some(Arc::new(Hop { ports: PortSet::one(7), seconds: 5..=9 })),
            datagrams: false,
        };
        assert_eq!(Params::of(Some(&set), usual), expected);
        let hop = |ports| Hop::of(&UdpHop { ports, interval: Ranged::default() });
        assert_eq!((hop(None), hop(Some(PortSet::default()))), (None, None));
        assert_eq!(hop(Some(PortSet::one(7))).map(|hop| hop.seconds), Some(HOP..=HOP));
    }
}
