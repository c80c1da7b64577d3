//! How connections behave.

use std::sync::Arc;
use std::time::Duration;

use quinn::congestion::{BbrConfig, NewRenoConfig};
use quinn::{IdleTimeout, TransportConfig, VarInt};

use crate::model::quicparams::{Congestion, QuicParams};

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
}

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
        }
    }

    /// The library's record.
    pub(super) fn config(&self) -> Arc<TransportConfig> {
        let number = |number| VarInt::from_u64(number).unwrap_or(VarInt::MAX);
        let mut config = TransportConfig::default();
        config
            .max_idle_timeout(IdleTimeout::try_from(self.idle).ok())
            .keep_alive_interval(self.keep_alive)
            .max_concurrent_bidi_streams(number(self.streams))
            .stream_receive_window(number(self.windows.0))
            .receive_window(number(self.windows.1));
        if !self.seeks_mtu {
            config.mtu_discovery_config(None);
        }
        match self.congestion {
            Congestion::Reno => config.congestion_controller_factory(Arc::new(NewRenoConfig::default())),
            _ => config.congestion_controller_factory(Arc::new(BbrConfig::default())),
        };
        Arc::new(config)
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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            congestion: Congestion::Reno,
            ..QuicParams::default()
        };
        let expected = Params {
            idle: Duration::from_secs(60),
            keep_alive: Some(Duration::from_secs(5)),
            streams: 8,
            windows: (20_000, 40_000),
            congestion: Congestion::Reno,
            seeks_mtu: false,
        };
        assert_eq!(Params::of(Some(&set), usual), expected);
    }
}
