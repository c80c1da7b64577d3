//! The way of a visitor: what the dialer put around the bytes, taken off again.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;

use super::arrival::{Arrival, Arrivals, Hello};
use super::disguise;
use super::error::{AcceptError, TransportError};
use super::grpc;
use super::httpupgrade;
use super::hysteria;
use super::masks::masks;
use super::mkcp;
use super::quic;
use super::settings;
use super::ws;
use super::xhttp;
use crate::flow::{BoxStream, Stage, Stream};
use crate::model::carrier::RawKind;
use crate::model::reality::Reality;
use crate::model::stream as model;
use crate::net::{Bounds, boxed, drive};
use crate::proto::haproxy::ReadHeader;
use crate::tls;
use crate::wire::WireError;

/// Makes plain streams of accepted connections, all in the same manner.
#[derive(Debug, Clone)]
pub struct Acceptor {
    /// Connections begin with a PROXY header.
    proxied: bool,
    security: Security,
    carrier: Carrier,
    /// How conversations are held that stand in place of connections.
    mkcp: Option<Arc<mkcp::Server>>,
}

/// What protects the bytes.
#[derive(Debug, Clone)]
enum Security {
    None,
    Tls(tls::Server),
    /// Within QUIC, whose connections come another way than streams.
    Quic(quic::Server),
    Reality(tls::RealityServer),
}

/// What the bytes look like on the way.
#[derive(Debug, Clone)]
enum Carrier {
    Raw,
    Disguise(Arc<disguise::Server>),
    HttpUpgrade(Arc<httpupgrade::Server>),
    Ws(Arc<ws::Server>),
    Grpc(grpc::Server),
    Xhttp(Arc<xhttp::Server>),
    Hysteria(Arc<hysteria::Server>),
}

/// Streams of a visitor at a time; each that it carries takes at least one.
const STREAMS: u64 = 1024;

impl Acceptor {
    /// What an inbound's stream settings say. `inner` is what the inbound will speak.
    ///
    /// # Errors
    /// [`TransportError`] names the setting.
    pub fn new(stream: &model::Stream, inner: tls::Inner, crypto: &tls::Crypto) -> Result<Self, TransportError> {
        settings::built(stream)?;
        let http3 = match &stream.carrier {
            model::Carrier::Xhttp(_) => xhttp::Version::of(stream) == xhttp::Version::Three,
            _ => false,
        };
        let inner = if http3 { tls::Inner::Http3 } else { settings::inner(stream, inner) };
        let security = match &stream.security {
            model::Security::None => Security::None,
            model::Security::Tls(set) if http3 => {
                let server = tls::Server::new(crypto, &tls::ServerOptions::of(set, inner)?)?;
                let usual = quic::Params { streams: STREAMS, ..quic::Params::default() };
                let params = quic::Params::of(stream.mask.quic.as_ref(), usual);
                Security::Quic(quic::Server::new(server, &params)?.masked(masks(&stream.mask.udp)?))
            }
            model::Security::Tls(set) if matches!(stream.carrier, model::Carrier::Hysteria(_)) => {
                let server = tls::Server::new(crypto, &tls::ServerOptions::of(set, inner)?)?;
                let server = quic::Server::new(server, &hysteria::Server::params(stream))?;
                Security::Quic(server.masked(masks(&stream.mask.udp)?))
            }
            model::Security::Tls(set) => Security::Tls(tls::Server::new(crypto, &tls::ServerOptions::of(set, inner)?)?),
            model::Security::Reality(set) => {
                let Reality::Server(set) = &**set else { return Err(TransportError::NoTarget) };
                Security::Reality(tls::RealityServer::new(crypto, &tls::RealityServerOptions::of(set)?)?)
            }
            model::Security::Xtls(_) => return Err(TransportError::NotBuilt { what: "security xtls" }),
        };
        let carrier = match &stream.carrier {
            model::Carrier::Raw(raw) if raw.header.r#type == RawKind::Http => {
                Carrier::Disguise(Arc::new(disguise::Server::new(&raw.header)))
            }
            model::Carrier::HttpUpgrade(set) => Carrier::HttpUpgrade(Arc::new(httpupgrade::Server::new(stream, set))),
            model::Carrier::Ws(ws) => Carrier::Ws(Arc::new(ws::Server::new(stream, ws))),
            model::Carrier::Grpc(set) => Carrier::Grpc(grpc::Server::new(set, &stream.sockopt)),
            model::Carrier::Xhttp(set) => Carrier::Xhttp(Arc::new(xhttp::Server::new(stream, set)?)),
            model::Carrier::Hysteria(set) => {
                if !matches!(security, Security::Quic(_)) {
                    return Err(TransportError::NoTls);
                }
                Carrier::Hysteria(Arc::new(hysteria::Server::new(stream, set, crypto)?))
            }
            _ => Carrier::Raw,
        };
        let mkcp = match &stream.carrier {
            model::Carrier::Kcp(set) => Some(Arc::new(mkcp::Server::new(stream, set)?)),
            _ => None,
        };
        Ok(Self { proxied: settings::proxied(stream), security, carrier, mkcp })
    }

    /// Bare connections.
    #[must_use]
    pub fn raw() -> Self {
        Self { proxied: false, security: Security::None, carrier: Carrier::Raw, mkcp: None }
    }

    /// The same with TLS around them.
    #[must_use]
    pub fn with_tls(self, server: tls::Server) -> Self {
        Self { security: Security::Tls(server), ..self }
    }

    /// Begins with what takes time and would keep the first visitors waiting.
    pub fn begin(&self) {
        if let Security::Reality(server) = &self.security {
            server.begin();
        }
    }

    /// What takes callers by QUIC, if visitors come by that and not by streams.
    #[must_use]
    pub fn quic(&self) -> Option<&quic::Server> {
        match &self.security {
            Security::Quic(server) => Some(server),
            _ => None,
        }
    }

    /// How conversations of mKCP are held, if visitors come by those and not by connections.
    #[must_use]
    pub fn mkcp(&self) -> Option<&Arc<mkcp::Server>> {
        self.mkcp.as_ref()
    }

    /// The plain streams of whoever called by QUIC, whose handshake may take `limit`.
    ///
    /// # Errors
    /// [`AcceptError`] at its stage.
    pub async fn accept_quic(&self, caller: quic::Caller, limit: Duration) -> Result<Arrivals, AcceptError> {
        let (Security::Quic(server), Carrier::Xhttp(xhttp)) = (&self.security, &self.carrier) else {
            return Err(AcceptError { stage: Stage::Secure, source: io::ErrorKind::Unsupported.into() });
        };
        let shaken = server.accept(caller, limit).await;
        let (connection, hello, _) = shaken.map_err(|source| AcceptError { stage: Stage::Secure, source })?;
        Ok(xhttp.accept_quic(connection, hello))
    }

    /// Whether callers by QUIC make visits of Hysteria's, and no streams.
    #[must_use]
    pub fn is_hysteria(&self) -> bool {
        matches!(self.carrier, Carrier::Hysteria(_))
    }

    /// The visit of whoever called by QUIC, whose handshake may take `limit`.
    ///
    /// # Errors
    /// [`AcceptError`] at its stage.
    pub async fn visit(&self, caller: quic::Caller, limit: Duration) -> Result<hysteria::Visit, AcceptError> {
        let (Security::Quic(quic), Carrier::Hysteria(server)) = (&self.security, &self.carrier) else {
            return Err(AcceptError { stage: Stage::Secure, source: io::ErrorKind::Unsupported.into() });
        };
        let shaken = quic.accept(caller, limit).await;
        let (connection, _, pace) = shaken.map_err(|source| AcceptError { stage: Stage::Secure, source })?;
        Ok(hysteria::Visit::new(Arc::clone(server), connection, pace))
    }

    /// The plain streams of an accepted connection; the first within `limit`.
    ///
    /// # Errors
    /// [`AcceptError`] at its stage.
    pub async fn accept<S: Stream + 'static>(&self, io: S, limit: Duration) -> Result<Arrivals, AcceptError> {
        if self.proxied {
            return Box::pin(self.behind_header(Box::new(io), limit)).await;
        }
        self.take_off(io, None, limit).await
    }

    /// Whether a visitor did not agree on HTTP/2 in TLS, without which Go's gRPC does not serve anybody. (REALITY agrees on
    /// nothing.)
    fn unnamed(&self, secured: &Arrival) -> bool {
        let agreed = || secured.hello.as_ref().is_some_and(|hello| hello.alpn.as_deref() == Some(b"h2"));
        matches!(self.security, Security::Tls(_)) && !agreed()
    }

    /// The same behind a PROXY header, without which nobody is served.
    async fn behind_header(&self, mut io: BoxStream, limit: Duration) -> Result<Arrivals, AcceptError> {
        let mut held = BytesMut::new();
        let read = drive(&mut io, &mut held, &mut ReadHeader, Bounds::within(limit)).await;
        let source = read.map_err(|error| AcceptError { stage: Stage::Carry, source: error.into() })?;
        self.take_off(boxed(io, held), source, limit).await
    }

    async fn take_off<S: Stream + 'static>(
        &self,
        io: S,
        source: Option<SocketAddr>,
        limit: Duration,
    ) -> Result<Arrivals, AcceptError> {
        let secured = match &self.security {
            Security::None => Arrival { io: Box::new(io), hello: None, source },
            Security::Quic(_) => {
                return Err(AcceptError { stage: Stage::Secure, source: io::ErrorKind::Unsupported.into() });
            }
            Security::Tls(server) => {
                // Boxed, because a handshake is large and the plain way should not carry its size along.
                let shaken = timeout(limit, Box::pin(server.accept(io))).await;
                let stream = shaken.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
                let stream = stream.map_err(|source| AcceptError { stage: Stage::Secure, source })?;
                let hello = Hello {
                    server_name: stream.server_name().map(Into::into),
                    alpn: stream.alpn().map(Into::into),
                    tls13: stream.is_tls13(),
                };
                Arrival { io: Box::new(stream), hello: Some(Box::new(hello)), source }
            }
            Security::Reality(server) => {
                // Whoever is not let in may stay longer than the limit: it speaks with the borrowed site.
                let shaken = Box::pin(server.accept(io, limit)).await;
                let (stream, name) = shaken.map_err(|source| AcceptError { stage: Stage::Secure, source })?;
                let hello = Hello { server_name: Some(name).filter(|name| !name.is_empty()), alpn: None, tls13: true };
                Arrival { io: Box::new(stream), hello: Some(Box::new(hello)), source }
            }
        };
        let opened = match &self.carrier {
            Carrier::Raw => return Ok(Arrivals::One(secured)),
            // Its visitors come by QUIC.
            Carrier::Hysteria(_) => {
                return Err(AcceptError { stage: Stage::Carry, source: io::ErrorKind::Unsupported.into() });
            }
            Carrier::Disguise(disguise) => Box::pin(disguise.accept(secured.io, limit)).await.map(|io| (io, None)),
            Carrier::HttpUpgrade(http) => Box::pin(http.accept(secured.io, limit)).await,
            Carrier::Grpc(_) if self.unnamed(&secured) => {
                let Arrival { mut io, .. } = secured;
                // No answer is waited for.
                let _ = timeout(limit, io.shutdown()).await;
                let source = WireError::Denied { what: "TLS without HTTP/2" }.into();
                return Err(AcceptError { stage: Stage::Carry, source });
            }
            Carrier::Grpc(server) => return Box::pin(server.accept(secured, limit)).await,
            Carrier::Xhttp(server) => return Box::pin(server.accept(secured, limit)).await,
            Carrier::Ws(ws) => Box::pin(ws.accept(secured.io, limit)).await,
        };
        let (io, forwarded) = opened.map_err(|source| AcceptError { stage: Stage::Carry, source })?;
        Ok(Arrivals::One(Arrival { io, source: forwarded.or(source), ..secured }))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::io::{AsyncReadExt, duplex};

    use super::*;
    use crate::model::sockopt::SockOpt;

    #[tokio::test]
    async fn a_proxy_header_says_who_comes_and_must_be_there() {
        let sockopt = SockOpt { accept_proxy_protocol: true, ..SockOpt::default() };
        let stream = model::Stream { sockopt, ..model::Stream::default() };
        let acceptor = Acceptor::new(&stream, tls::Inner::Opaque, &tls::Crypto::default()).unwrap();
        let (mut near, far) = duplex(256);
        near.write_all(b"PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\nhello").await.unwrap();
        let Arrivals::One(mut arrival) = acceptor.accept(far, Duration::from_secs(60)).await.unwrap() else {
            panic!("one stream was expected")
        };
        assert_eq!(arrival.source, Some("192.0.2.1:56324".parse().unwrap()));
        let mut said = [0; 5];
        arrival.io.read_exact(&mut said).await.unwrap();
        assert_eq!(&said, b"hello");
        let (mut near, far) = duplex(256);
        near.write_all(b"\x05\x01\x00").await.unwrap();
        assert!(acceptor.accept(far, Duration::from_secs(60)).await.is_err());
    }
}
