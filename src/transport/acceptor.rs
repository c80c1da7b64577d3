//! The way of a visitor: what the dialer put around the bytes, taken off again.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::arrival::{Arrival, Arrivals, Hello};
use super::error::{AcceptError, TransportError};
use super::grpc;
use super::settings;
use super::ws;
use crate::flow::{Stage, Stream};
use crate::model::reality::Reality;
use crate::model::stream as model;
use crate::tls;

/// Makes plain streams of accepted connections, all in the same manner.
#[derive(Debug, Clone)]
pub struct Acceptor {
    security: Security,
    carrier: Carrier,
}

/// What protects the bytes.
#[derive(Debug, Clone)]
enum Security {
    None,
    Tls(tls::Server),
    Reality(tls::RealityServer),
}

/// What the bytes look like on the way.
#[derive(Debug, Clone)]
enum Carrier {
    Raw,
    Ws(Arc<ws::Server>),
    Grpc(grpc::Server),
}

impl Acceptor {
    /// What an inbound's stream settings say. `inner` is what the inbound will speak.
    ///
    /// # Errors
    /// [`TransportError`] names the setting.
    pub fn new(stream: &model::Stream, inner: tls::Inner, crypto: &tls::Crypto) -> Result<Self, TransportError> {
        settings::built(stream)?;
        let inner = settings::inner(stream, inner);
        let security = match &stream.security {
            model::Security::None => Security::None,
            model::Security::Tls(set) => Security::Tls(tls::Server::new(crypto, &tls::ServerOptions::of(set, inner)?)?),
            model::Security::Reality(set) => {
                let Reality::Server(set) = &**set else { return Err(TransportError::NoTarget) };
                Security::Reality(tls::RealityServer::new(crypto, &tls::RealityServerOptions::of(set)?)?)
            }
            model::Security::Xtls(_) => return Err(TransportError::NotBuilt { what: "security xtls" }),
        };
        let carrier = match &stream.carrier {
            model::Carrier::Ws(ws) => Carrier::Ws(Arc::new(ws::Server::new(stream, ws))),
            model::Carrier::Grpc(set) => Carrier::Grpc(grpc::Server::new(set, &stream.sockopt)),
            _ => Carrier::Raw,
        };
        Ok(Self { security, carrier })
    }

    /// Bare connections.
    #[must_use]
    pub fn raw() -> Self {
        Self { security: Security::None, carrier: Carrier::Raw }
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

    /// The plain streams of an accepted connection; the first within `limit`.
    ///
    /// # Errors
    /// [`AcceptError`] at its stage.
    pub async fn accept<S: Stream + 'static>(&self, io: S, limit: Duration) -> Result<Arrivals, AcceptError> {
        let secured = match &self.security {
            Security::None => Arrival { io: Box::new(io), hello: None, source: None },
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
                Arrival { io: Box::new(stream), hello: Some(Box::new(hello)), source: None }
            }
            Security::Reality(server) => {
                // Whoever is not let in may stay longer than the limit: it speaks with the borrowed site.
                let shaken = Box::pin(server.accept(io, limit)).await;
                let (stream, name) = shaken.map_err(|source| AcceptError { stage: Stage::Secure, source })?;
                let hello = Hello { server_name: Some(name).filter(|name| !name.is_empty()), alpn: None, tls13: true };
                Arrival { io: Box::new(stream), hello: Some(Box::new(hello)), source: None }
            }
        };
        match &self.carrier {
            Carrier::Raw => Ok(Arrivals::One(secured)),
            Carrier::Ws(ws) => {
                let opened = Box::pin(ws.accept(secured.io, limit)).await;
                let (io, source) = opened.map_err(|source| AcceptError { stage: Stage::Carry, source })?;
                Ok(Arrivals::One(Arrival { io, source, ..secured }))
            }
            Carrier::Grpc(server) => Box::pin(server.accept(secured, limit)).await,
        }
    }
}
