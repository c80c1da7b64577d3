//! The client's side.

use std::time::Duration;

use http::header::{CONTENT_TYPE, HeaderValue, TE, USER_AGENT};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Method, Request, Uri};

use super::call::Call;
use crate::addr::{Host, Target};
use crate::flow::{Blame, BoxStream, DialError, Stage};
use crate::model::carrier::Grpc;
use crate::model::stream::Security;
use crate::proto::gun::Paths;
use crate::transport::browser;
use crate::transport::error::TransportError;
use crate::transport::h2::{Care, Pool};
use crate::transport::lines::Lines;

/// Calls to servers, over connections that all of them share.
#[derive(Debug)]
pub struct Client {
    pool: Pool,
    path: PathAndQuery,
    scheme: Scheme,
    authority: Asked,
    user_agent: HeaderValue,
}

/// Whose name a request has.
#[derive(Debug)]
enum Asked {
    This(Authority),
    /// The server's: its name alone, else its address with the port. `named` says whether a name may be shown.
    Server {
        named: bool,
    },
}

/// Go's limits and defaults for pings.
const FLOOR: Duration = Duration::from_secs(10);
const PATIENCE: Duration = Duration::from_secs(20);

/// Go's first window of a stream, below which a setting has no effect.
const WINDOW: i32 = 65_536;

impl Client {
    /// What the settings say. The security tells the name of the server.
    ///
    /// # Errors
    /// [`TransportError::Text`] names what cannot stand in a request.
    pub fn new(set: &Grpc, security: &Security) -> Result<Self, TransportError> {
        let paths = Paths::of(&set.service_name);
        let path = if set.multi_mode { paths.multi } else { paths.tun };
        let name = match security {
            Security::Tls(tls) => tls.server_name.as_str(),
            Security::None | Security::Reality(_) | Security::Xtls(_) => "",
        };
        let authority = match [set.authority.as_str(), name].into_iter().find(|name| !name.is_empty()) {
            Some(name) => Asked::This(name.parse().map_err(|_| TransportError::Text { what: "authority" })?),
            None => Asked::Server { named: !matches!(security, Security::Reality(_)) },
        };
        let agent = browser::agent(&set.user_agent);
        Ok(Self {
            pool: Pool::new(
                u32::try_from(set.initial_windows_size).ok().filter(|_| set.initial_windows_size >= WINDOW),
                care(set),
            ),
            path: path.try_into().map_err(|_| TransportError::Text { what: "serviceName" })?,
            scheme: if matches!(security, Security::None) { Scheme::HTTP } else { Scheme::HTTPS },
            authority,
            user_agent: agent.try_into().map_err(|_| TransportError::Text { what: "user_agent" })?,
        })
    }

    /// A call to a server.
    ///
    /// # Errors
    /// [`DialError`] at its stage.
    pub async fn open(&self, bare: &dyn Lines, to: &Target, blame: Blame) -> Result<BoxStream, DialError> {
        let exchange = self.pool.request(bare, to, blame, &self.request(to)?).await?;
        Ok(Box::new(Call::asked(exchange)))
    }

    fn request(&self, to: &Target) -> Result<Request<()>, DialError> {
        let unusable = |_| DialError::us(Stage::Carry, std::io::ErrorKind::InvalidInput);
        let authority = match (&self.authority, &to.host) {
            (Asked::This(authority), _) => authority.clone(),
            (Asked::Server { named: true }, Host::Domain(name)) => name.as_str().parse().map_err(unusable)?,
            (Asked::Server { .. }, _) => to.to_string().parse().map_err(unusable)?,
        };
        let mut uri = http::uri::Parts::default();
        uri.scheme = Some(self.scheme.clone());
        uri.authority = Some(authority);
        uri.path_and_query = Some(self.path.clone());
        let mut request = Request::new(());
        *request.method_mut() = Method::POST;
        *request.uri_mut() =
            Uri::from_parts(uri).map_err(|_| DialError::us(Stage::Carry, std::io::ErrorKind::InvalidInput))?;
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        headers.insert(USER_AGENT, self.user_agent.clone());
        headers.insert(TE, HeaderValue::from_static("trailers"));
        Ok(request)
    }
}

/// One of the three settings is enough for pings; Go asks no more often than every ten seconds.
fn care(set: &Grpc) -> Care {
    let seconds = |written: i32| Duration::from_secs(u64::try_from(written).unwrap_or(0));
    let (silence, patience) = (seconds(set.idle_timeout), seconds(set.health_check_timeout));
    let asked = !silence.is_zero() || !patience.is_zero() || set.permit_without_stream;
    Care {
        silence: asked.then(|| silence.max(FLOOR)),
        patience: if patience.is_zero() { PATIENCE } else { patience },
        always: set.permit_without_stream,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::model::reality::{Reality, RealityClient};
    use crate::model::tls::Tls;

    fn uri(set: &Grpc, security: &Security, to: &str) -> String {
        Client::new(set, security).unwrap().request(&to.parse().unwrap()).unwrap().uri().to_string()
    }

    #[test]
    fn a_request_is_named_after_what_is_known() {
        let set = Grpc { service_name: "a b".into(), ..Grpc::default() };
        let tls = |name: &str| Security::Tls(Box::new(Tls { server_name: name.into(), ..Tls::default() }));
        assert_eq!(uri(&set, &Security::None, "proxy.example:443"), "http://proxy.example/a%20b/Tun");
        assert_eq!(uri(&set, &Security::None, "[::1]:443"), "http://[::1]:443/a%20b/Tun");
        assert_eq!(uri(&set, &tls("sni.example"), "192.0.2.1:443"), "https://sni.example/a%20b/Tun");
        let reality = Security::Reality(Box::new(Reality::Client(RealityClient::default())));
        assert_eq!(uri(&set, &reality, "proxy.example:443"), "https://proxy.example:443/a%20b/Tun");
        let multi = Grpc { authority: "front.example".into(), multi_mode: true, ..set.clone() };
        assert_eq!(uri(&multi, &tls("sni.example"), "192.0.2.1:443"), "https://front.example/a%20b/TunMulti");
        let bad = Grpc { authority: "a b".into(), ..set };
        assert!(matches!(Client::new(&bad, &Security::None), Err(TransportError::Text { what: "authority" })));
    }

    #[test]
    fn any_of_the_three_settings_asks_for_pings() {
        assert_eq!(care(&Grpc::default()).silence, None);
        let set = Grpc { idle_timeout: 60, ..Grpc::default() };
        assert_eq!(care(&set), Care { silence: Some(Duration::from_secs(60)), patience: PATIENCE, always: false });
        let set = Grpc { health_check_timeout: 7, idle_timeout: -1, ..Grpc::default() };
        assert_eq!(care(&set), Care { silence: Some(FLOOR), patience: Duration::from_secs(7), always: false });
        let set = Grpc { permit_without_stream: true, ..Grpc::default() };
        assert_eq!(care(&set), Care { silence: Some(FLOOR), patience: PATIENCE, always: true });
    }
}
