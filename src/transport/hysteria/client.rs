//! The connections of a client, one a server, which all flows share.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::{HeaderValue, Method, Request, Version};
use tokio::sync::OnceCell;

use super::line::Line;
use crate::addr::Target;
use crate::flow::{Blame, DialError, Stage};
use crate::model::carrier::HysteriaCarrier;
use crate::model::quicparams::Congestion;
use crate::model::stream::Stream;
use crate::proto::hysteria::auth::{AUTH, HOST, PATH, RATE, Rate};
use crate::transport::error::TransportError;
use crate::transport::failed::Failed;
use crate::transport::lines::Lines;
use crate::transport::quic;

/// Opens connections, all in the same manner, and keeps them.
pub struct Client {
    quic: quic::Client,
    request: Request<()>,
    /// Bytes a second that we can send; 0 is not known.
    up: u64,
    agrees: bool,
    servers: Mutex<HashMap<Target, Arc<Place>>>,
}

/// A connection, from the moment that a flow wants it.
type Place = OnceCell<Result<Arc<Line>, Failed>>;

/// What Hysteria lets windows be.
pub(super) const WINDOWS: (u64, u64) = (8 * 1024 * 1024, 20 * 1024 * 1024);
/// How often a connection is tried that was lost unheard.
const TRIES: usize = 2;

impl Client {
    /// With the connections of another client, and what a configuration says of this one.
    ///
    /// # Errors
    /// A password that no header can hold.
    pub fn new(stream: &Stream, set: &HysteriaCarrier, quic: quic::Client) -> Result<Self, TransportError> {
        let params = stream.mask.quic.clone().unwrap_or_default();
        let mut auth = HeaderValue::from_str(set.auth.expose()).map_err(|_| TransportError::Text { what: "auth" })?;
        auth.set_sensitive(true);
        let mut request = Request::new(());
        *request.method_mut() = Method::POST;
        *request.version_mut() = Version::HTTP_3;
        *request.uri_mut() = format!("https://{HOST}{PATH}").parse().unwrap_or_default();
        let down = if params.brutal_down.0 == 0 { Rate::Unknown } else { Rate::Bytes(params.brutal_down.0) };
        request.headers_mut().insert(AUTH, auth);
        request
            .headers_mut()
            .insert(RATE, HeaderValue::try_from(down.to_string()).unwrap_or(HeaderValue::from_static("0")));
        let agrees = matches!(params.congestion, Congestion::Usual | Congestion::Brutal);
        Ok(Self { quic, request, up: params.brutal_up.0, agrees, servers: Mutex::default() })
    }

    /// How QUIC behaves below a client.
    #[must_use]
    pub fn params(stream: &Stream) -> quic::Params {
        let idle = Duration::from_secs(30);
        // A server asks a client for nothing.
        let usual = quic::Params { idle, streams: 0, windows: WINDOWS, datagrams: true, ..quic::Params::default() };
        quic::Params::of(stream.mask.quic.as_ref(), usual)
    }

    /// The connection to a server, which perhaps has to be opened.
    ///
    /// # Errors
    /// [`DialError`] of the way there, at the stage of the security or at that of the handshake.
    pub async fn line(&self, lines: &dyn Lines, to: &Target, blame: Blame) -> Result<Arc<Line>, DialError> {
        let mut tries = TRIES;
        loop {
            tries -= 1;
            let place = self.place(to);
            let known = place.initialized();
            let opened = place.get_or_init(|| async {
                let opened = self.open(lines, to, blame).await;
                opened.map(Arc::new).map_err(|error| Failed::of(&error))
            });
            match opened.await {
                Ok(line) if !known || tries == 0 || line.is_alive().await => return Ok(Arc::clone(line)),
                Ok(line) => line.close(),
                Err(failed) => return Err(failed.error()),
            }
        }
    }

    /// Where the connection to a server is, or is to be.
    fn place(&self, to: &Target) -> Arc<Place> {
        let mut servers = self.servers();
        let place = servers.entry(to.clone()).or_default();
        let spent = match place.get() {
            None => false,
            Some(Ok(line)) => line.is_closed(),
            Some(Err(_)) => true,
        };
        if spent {
            *place = Arc::default();
        }
        Arc::clone(place)
    }

    fn servers(&self) -> MutexGuard<'_, HashMap<Target, Arc<Place>>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn open(&self, lines: &dyn Lines, to: &Target, blame: Blame) -> Result<Line, DialError> {
        let port = lines.port().await?;
        let (connection, pace) = self.quic.connect_paced(port, &to.host).await.map_err(|error| {
            // Nobody answered, or somebody did otherwise than we asked.
            let stage = if error.kind() == io::ErrorKind::TimedOut { Stage::Dial } else { Stage::Secure };
            DialError::new(stage, blame, error)
        })?;
        let begun = Line::begin(connection, self.request.clone()).await;
        let (line, welcome) = begun.map_err(|error| DialError::new(Stage::Handshake, blame, error))?;
        if self.agrees
            && let Some(rate) = welcome.rate.agreed(self.up)
        {
            pace.set(rate);
        }
        Ok(line)
    }
}

/// The request holds the password.
impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("quic", &self.quic).finish_non_exhaustive()
    }
}
