//! The server's side of Hysteria's connections.

use std::time::Duration;

use super::client::WINDOWS;
use super::site::Site;
use crate::model::carrier::HysteriaCarrier;
use crate::model::quicparams::Congestion;
use crate::model::stream::Stream;
use crate::proto::hysteria::auth::Rate;
use crate::tls;
use crate::transport::error::TransportError;
use crate::transport::quic;

/// How connections are served.
#[derive(Debug)]
pub struct Server {
    /// What strangers see.
    pub(super) site: Site,
    /// Bytes a second that we can send; 0 is not known.
    pub(super) up: u64,
    pub(super) agrees: bool,
    /// What we can receive.
    pub(super) down: Rate,
    /// After so much silence a session ends.
    pub(super) idle: Duration,
    /// Streams that a known client may have at a time.
    pub(super) streams: u64,
    /// What may be under way on all of them.
    pub(super) window: u64,
}

/// Streams that a visitor may have at a time.
const STREAMS: u64 = 1024;
/// And as long as nobody knows it; most that may be under way on all of them.
const STRANGER: (u64, u64) = (64, 512 * 1024);
/// Seconds of silence after which a session ends where nothing is written.
const IDLE: u64 = 60;

impl Server {
    /// What a configuration says.
    ///
    /// # Errors
    /// A web site that cannot be shown.
    pub fn new(stream: &Stream, set: &HysteriaCarrier, crypto: &tls::Crypto) -> Result<Self, TransportError> {
        let params = stream.mask.quic.clone().unwrap_or_default();
        let whole = Self::whole(stream);
        Ok(Self {
            site: Site::new(&set.masquerade, crypto)?,
            up: params.brutal_up.0,
            agrees: matches!(params.congestion, Congestion::Usual | Congestion::Brutal),
            down: if params.brutal_down.0 == 0 { Rate::Unknown } else { Rate::Bytes(params.brutal_down.0) },
            idle: Duration::from_secs(if set.udp_idle_timeout == 0 { IDLE } else { set.udp_idle_timeout }),
            streams: whole.streams,
            window: whole.windows.1,
        })
    }

    /// How QUIC behaves once a client is known.
    fn whole(stream: &Stream) -> quic::Params {
        let idle = Duration::from_secs(30);
        let usual =
            quic::Params { idle, streams: STREAMS, windows: WINDOWS, datagrams: true, ..quic::Params::default() };
        quic::Params::of(stream.mask.quic.as_ref(), usual)
    }

    /// How QUIC behaves with everybody: a stranger has less of everything.
    #[must_use]
    pub fn params(stream: &Stream) -> quic::Params {
        let whole = Self::whole(stream);
        let (streams, window) = STRANGER;
        quic::Params {
            streams: whole.streams.min(streams),
            windows: (whole.windows.0, whole.windows.1.min(window)),
            ..whole
        }
    }
}
