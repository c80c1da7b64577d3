//! The way to a server: resolve, dial, secure, carry.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

use super::disguise;
use super::error::TransportError;
use super::grpc;
use super::httpupgrade;
use super::hysteria;
use super::lines::Lines;
use super::masks::masks;
use super::mkcp;
use super::quic::{self, Port};
use super::settings;
use super::ws;
use super::xhttp;
use crate::addr::{DomainName, Host, Target};
use crate::flow::{Blame, BoxFuture, BoxStream, DialError, Services, Stage};
use crate::model::carrier::RawKind;
use crate::model::fields::DomainStrategy;
use crate::model::reality::Reality;
use crate::model::sockopt::SockOpt;
use crate::model::stream as model;
use crate::net::{Families, SocketOptions, tcp, udp};
use crate::tls;

/// Opens connections to servers, all in the same manner.
#[derive(Debug, Clone)]
pub struct Dialer {
    socket: SocketOptions,
    /// How a server's name becomes addresses.
    strategy: DomainStrategy,
    /// Which of them are dialed.
    families: Families,
    security: Security,
    carrier: Carrier,
    /// Conversations that stand in place of connections, below the security.
    mkcp: Option<Arc<mkcp::Client>>,
    download: Option<Arc<Download>>,
}

/// The way that what comes down takes, where it has one of its own.
#[derive(Debug)]
struct Download {
    server: Target,
    dialer: Dialer,
}

/// What protects the bytes.
#[derive(Debug, Clone)]
enum Security {
    None,
    Tls(tls::Client),
    Reality(tls::RealityClient),
}

/// What the bytes look like on the way.
#[derive(Debug, Clone)]
enum Carrier {
    Raw,
    Disguise(Arc<disguise::Client>),
    HttpUpgrade(Arc<httpupgrade::Client>),
    Ws(Arc<ws::Client>),
    Grpc(Arc<grpc::Client>),
    Xhttp(Arc<xhttp::Client>),
    Hysteria(Arc<hysteria::Client>),
}

/// Time for the socket, and then again for what goes around it (Xray's dial time-out).
const LIMIT: Duration = Duration::from_secs(16);

impl Dialer {
    /// What an outbound's stream settings say. `inner` is what the outbound will speak.
    ///
    /// # Errors
    /// [`TransportError`] names the setting.
    pub fn new(stream: &model::Stream, inner: tls::Inner, crypto: &tls::Crypto) -> Result<Self, TransportError> {
        settings::built(stream)?;
        let inner = match &stream.carrier {
            model::Carrier::Xhttp(_) => match xhttp::Version::of(stream) {
                xhttp::Version::One => tls::Inner::Http1,
                xhttp::Version::Two => tls::Inner::Http2,
                xhttp::Version::Three => tls::Inner::Http3,
            },
            _ => settings::inner(stream, inner),
        };
        let security = match &stream.security {
            model::Security::None => Security::None,
            model::Security::Tls(set) => Security::Tls(tls::Client::new(crypto, &tls::ClientOptions::of(set, inner)?)?),
            model::Security::Reality(set) => {
                let Reality::Client(set) = &**set else { return Err(TransportError::Target) };
                Security::Reality(tls::RealityClient::new(crypto, &tls::RealityClientOptions::of(set, inner)?)?)
            }
            model::Security::Xtls(_) => return Err(TransportError::NotBuilt { what: "security xtls" }),
        };
        let carrier = match &stream.carrier {
            model::Carrier::Raw(raw) if raw.header.r#type == RawKind::Http => {
                Carrier::Disguise(Arc::new(disguise::Client::new(&raw.header)))
            }
            model::Carrier::HttpUpgrade(set) => Carrier::HttpUpgrade(Arc::new(httpupgrade::Client::new(stream, set))),
            model::Carrier::Ws(ws) => Carrier::Ws(Arc::new(ws::Client::new(stream, ws))),
            model::Carrier::Grpc(set) => Carrier::Grpc(Arc::new(grpc::Client::new(set, &stream.security)?)),
            model::Carrier::Xhttp(set) => {
                let quic = match &security {
                    Security::Tls(tls) if inner == tls::Inner::Http3 => {
                        Some(quic::Client::new(tls, &xhttp::quic_params(stream, set))?.masked(masks(&stream.mask.udp)?))
                    }
                    _ => None,
                };
                Carrier::Xhttp(Arc::new(xhttp::Client::new(stream, set, quic)?))
            }
            model::Carrier::Hysteria(set) => {
                let Security::Tls(tls) = &security else { return Err(TransportError::NoTls) };
                let quic = quic::Client::new(tls, &hysteria::Client::params(stream))?;
                let quic = quic.masked(masks(&stream.mask.udp)?);
                Carrier::Hysteria(Arc::new(hysteria::Client::new(stream, set, quic)?))
            }
            _ => Carrier::Raw,
        };
        let mkcp = match &stream.carrier {
            model::Carrier::Kcp(set) => Some(Arc::new(mkcp::Client::new(stream, set)?)),
            _ => None,
        };
        let download = match &stream.download {
            Some(download) => Some(Arc::new(Download::new(download, &stream.sockopt, crypto)?)),
            None => None,
        };
        let (socket, families) = (SocketOptions::from(&stream.sockopt), Families::from(&stream.sockopt));
        Ok(Self { socket, strategy: stream.sockopt.domain_strategy, families, security, carrier, mkcp, download })
    }

    /// Bare TCP.
    #[must_use]
    pub fn raw(socket: SocketOptions, families: Families) -> Self {
        let strategy = DomainStrategy::AsIs;
        Self { socket, strategy, families, security: Security::None, carrier: Carrier::Raw, mkcp: None, download: None }
    }

    /// The same with TLS around it.
    #[must_use]
    pub fn with_tls(self, client: tls::Client) -> Self {
        Self { security: Security::Tls(client), ..self }
    }

    /// Options of the sockets, for the UDP that goes beside.
    #[must_use]
    pub fn socket(&self) -> &SocketOptions {
        &self.socket
    }

    /// Whether names are resolved here even where another outbound dials (`domainStrategy`).
    #[must_use]
    pub fn resolves(&self) -> bool {
        self.strategy.families().is_some()
    }

    /// Whether a name that cannot be resolved as the configuration asks may not be dialed otherwise.
    #[must_use]
    pub fn forces(&self) -> bool {
        self.strategy.forces()
    }

    /// Which families of addresses are asked for.
    #[must_use]
    pub fn families(&self) -> Families {
        self.families
    }

    /// The addresses of a server's name, best first; none if it has none that may be used. Where the `dns` section is to be
    /// asked and knows none of the family that is wanted, the operating system is asked, unless the configuration forces it.
    ///
    /// # Errors
    /// Whoever was asked last has no answer.
    pub async fn look_up(&self, cx: &dyn Services, name: &DomainName, port: u16) -> Result<Vec<SocketAddr>, DialError> {
        if self.resolves() {
            let found = cx.resolve(name).await.map(|found| self.families.pick(&found, port));
            if self.forces() || matches!(&found, Ok(found) if !found.is_empty()) {
                return found;
            }
        }
        let found = cx.resolve_server(name).await?;
        let picked = self.families.pick(&found, port);
        Ok(if picked.is_empty() { Families::Any.pick(&found, port) } else { picked })
    }

    /// Whether a stream from here is the socket itself.
    #[must_use]
    pub fn is_raw(&self) -> bool {
        matches!((&self.security, &self.carrier), (Security::None, Carrier::Raw)) && self.mkcp.is_none()
    }

    /// Whether it opens connections of Hysteria's, and no streams.
    #[must_use]
    pub fn is_hysteria(&self) -> bool {
        matches!(self.carrier, Carrier::Hysteria(_))
    }

    /// Hysteria's connection to `to`, which flows share, over datagrams of `bare` where it has to be opened.
    ///
    /// # Errors
    /// [`DialError`] at its stage.
    pub async fn line(&self, bare: &dyn Lines, to: &Target, blame: Blame) -> Result<Arc<hysteria::Line>, DialError> {
        match &self.carrier {
            Carrier::Hysteria(client) => client.line(bare, to, blame).await,
            _ => Err(DialError::us(Stage::Carry, io::ErrorKind::Unsupported)),
        }
    }

    /// The server that what comes down is asked of, and the dialer for it, where that is another.
    #[must_use]
    pub fn download(&self) -> Option<(&Self, &Target)> {
        self.download.as_deref().map(|download| (&download.dialer, &download.server))
    }

    /// Bare connections to `to` that this dialer opens itself, from a local address if one is given.
    pub fn own<'a>(
        &'a self,
        cx: &'a dyn Services,
        from: Option<IpAddr>,
        to: &'a Target,
        blame: Blame,
    ) -> impl Lines + use<'a> {
        Own { dialer: self, cx, from, to, blame }
    }

    /// A ready stream to `to`, from a local address if one is given. `blame` says whose fault a failure is that is not
    /// ours: the server's, or for a direct outbound the target's.
    ///
    /// # Errors
    /// [`DialError`] at its stage.
    pub async fn connect(
        &self,
        cx: &dyn Services,
        from: Option<IpAddr>,
        to: &Target,
        blame: Blame,
    ) -> Result<BoxStream, DialError> {
        if self.is_raw() {
            return Ok(Box::new(self.dial(cx, from, to, blame).await?));
        }
        // Boxed, because a handshake is large and the plain way should not carry its size along.
        let down = self.download().map(|(dialer, server)| dialer.own(cx, from, server, blame));
        let down = down.as_ref().map(|down| down as &dyn Lines);
        Box::pin(self.carry(&self.own(cx, from, to, blame), down, to, blame)).await
    }

    /// A ready stream to `to` over connections that come another way, such as through another outbound. `down` are those to
    /// the server of [`Dialer::download`], without which none is asked.
    ///
    /// # Errors
    /// [`DialError`] at its stage.
    pub async fn over(
        &self,
        bare: &dyn Lines,
        down: Option<&dyn Lines>,
        to: &Target,
        blame: Blame,
    ) -> Result<BoxStream, DialError> {
        if self.is_raw() {
            return bare.line().await;
        }
        Box::pin(self.carry(bare, down, to, blame)).await
    }

    /// What is carried between us and `to`: over a connection of its own, or where the carrier takes many streams over one
    /// that is open already.
    async fn carry(
        &self,
        bare: &dyn Lines,
        down: Option<&dyn Lines>,
        to: &Target,
        blame: Blame,
    ) -> Result<BoxStream, DialError> {
        let spoken = self.mkcp.as_deref().map(|client| mkcp::Over { client, bare, blame });
        let bare = spoken.as_ref().map_or(bare, |spoken| spoken);
        let secured = Secured { dialer: self, bare, to, blame };
        let failed = |error| DialError::new(Stage::Carry, blame, error);
        match &self.carrier {
            Carrier::Raw => secured.line().await,
            Carrier::Disguise(disguise) => Ok(disguise.open(secured.line().await?)),
            Carrier::HttpUpgrade(http) => http.open(secured.line().await?, &to.host).await.map_err(failed),
            Carrier::Ws(ws) => ws.open(secured.line().await?, &to.host).await.map_err(failed),
            Carrier::Grpc(client) => client.open(&secured, to, blame).await,
            // It carries its own protocol alone.
            Carrier::Hysteria(_) => Err(DialError::us(Stage::Carry, io::ErrorKind::Unsupported)),
            Carrier::Xhttp(client) => {
                let up = xhttp::Leg { client, lines: &secured, to };
                let Some(download) = self.download.as_deref() else { return up.open(None, blame).await };
                let Download { server: to, dialer } = download;
                let (Some(bare), Carrier::Xhttp(client)) = (down, &dialer.carrier) else {
                    return Err(DialError::us(Stage::Carry, io::ErrorKind::Unsupported));
                };
                let secured = Secured { dialer, bare, to, blame };
                up.open(Some(xhttp::Leg { client, lines: &secured, to }), blame).await
            }
        }
    }

    /// Puts the security around a connection.
    async fn secure(&self, io: BoxStream, host: &Host, blame: Blame) -> Result<BoxStream, DialError> {
        let shaken = match &self.security {
            Security::None => return Ok(io),
            Security::Tls(client) => timeout(LIMIT, client.connect(io, host)).await,
            Security::Reality(client) => timeout(LIMIT, client.connect(io, host)).await,
        };
        let stream = shaken.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        Ok(Box::new(stream.map_err(|error| DialError::new(Stage::Secure, blame, error))?))
    }

    async fn dial(
        &self,
        cx: &dyn Services,
        from: Option<IpAddr>,
        to: &Target,
        blame: Blame,
    ) -> Result<TcpStream, DialError> {
        let addresses = self.addresses(cx, to, blame).await?;
        tcp::dial_from(from, &addresses, &self.socket, LIMIT).await.map_err(|error| unreached(error, blame))
    }

    /// A socket of its own for the datagrams to a server.
    async fn port(
        &self,
        cx: &dyn Services,
        from: Option<IpAddr>,
        to: &Target,
        blame: Blame,
    ) -> Result<Port, DialError> {
        let addresses = self.addresses(cx, to, blame).await?;
        let options = self.socket.bound_to(from);
        let (socket, to) = udp::bare_to(&addresses, &options).map_err(|error| unreached(error, blame))?;
        Ok(Port::Own { socket, to, options })
    }

    async fn addresses(&self, cx: &dyn Services, to: &Target, blame: Blame) -> Result<Vec<SocketAddr>, DialError> {
        let name = match &to.host {
            Host::Ip(ip) => return Ok(vec![(*ip, to.port).into()]),
            Host::Domain(name) => name,
        };
        // A resolver lays a failure at the door of the name's owner, which here is whoever `blame` names.
        let found = self.look_up(cx, name, to.port).await;
        let addresses = found.map_err(|error| error.instead_of_target(blame))?;
        if addresses.is_empty() {
            // The name has none of the family that the configuration asks for.
            return Err(DialError::new(Stage::Resolve, blame, io::ErrorKind::AddrNotAvailable));
        }
        Ok(addresses)
    }
}

/// Whose fault it is that a server was not reached.
fn unreached(error: io::Error, blame: Blame) -> DialError {
    let blame = if tcp::is_ours(&error) { Blame::Us } else { blame };
    DialError::new(Stage::Dial, blame, error)
}

impl Download {
    /// What is written beside a stream with these socket options.
    fn new(written: &model::Download, outer: &SockOpt, crypto: &tls::Crypto) -> Result<Self, TransportError> {
        let stream = model::Stream {
            sockopt: written.sockopt(outer).clone(),
            // Xray does not look for a third way either.
            download: None,
            ..written.stream.clone()
        };
        if !matches!(stream.carrier, model::Carrier::Xhttp(_)) {
            return Err(TransportError::NotBuilt { what: "downloadSettings of a network other than xhttp" });
        }
        let server = Target::new(written.address.clone(), written.port);
        Ok(Self { server, dialer: Dialer::new(&stream, tls::Inner::Opaque, crypto)? })
    }
}

/// Bare connections that the dialer opens itself.
struct Own<'a> {
    dialer: &'a Dialer,
    cx: &'a dyn Services,
    from: Option<IpAddr>,
    to: &'a Target,
    blame: Blame,
}

impl Lines for Own<'_> {
    fn line(&self) -> BoxFuture<'_, Result<BoxStream, DialError>> {
        Box::pin(async {
            let socket = self.dialer.dial(self.cx, self.from, self.to, self.blame).await?;
            Ok(Box::new(socket) as BoxStream)
        })
    }

    fn port(&self) -> BoxFuture<'_, Result<Port, DialError>> {
        Box::pin(self.dialer.port(self.cx, self.from, self.to, self.blame))
    }
}

/// Connections with the security around them, for a carrier.
struct Secured<'a> {
    dialer: &'a Dialer,
    bare: &'a dyn Lines,
    to: &'a Target,
    blame: Blame,
}

impl Lines for Secured<'_> {
    fn line(&self) -> BoxFuture<'_, Result<BoxStream, DialError>> {
        Box::pin(async {
            let bare = self.bare.line().await?;
            self.dialer.secure(bare, &self.to.host, self.blame).await
        })
    }

    /// As it is: QUIC secures itself.
    fn port(&self) -> BoxFuture<'_, Result<Port, DialError>> {
        self.bare.port()
    }
}

#[cfg(test)]
mod http3_tests;
#[cfg(test)]
mod tests;
