//! The way to a server: resolve, dial, secure, carry.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

use super::error::TransportError;
use super::settings;
use crate::addr::{Host, Target};
use crate::flow::{Blame, BoxStream, DialError, Services, Stage};
use crate::model::stream as model;
use crate::net::{Families, SocketOptions, tcp};
use crate::tls;

/// Opens connections to servers, all in the same manner.
#[derive(Debug, Clone)]
pub struct Dialer {
    socket: SocketOptions,
    families: Families,
    security: Security,
    carrier: Carrier,
}

/// What protects the bytes.
#[derive(Debug, Clone)]
enum Security {
    None,
    Tls(tls::Client),
}

/// What the bytes look like on the way.
#[derive(Debug, Clone)]
enum Carrier {
    Raw,
}

/// Time for the socket, and then again for what goes around it (Xray's dial time-out).
const LIMIT: Duration = Duration::from_secs(16);

impl Dialer {
    /// What an outbound's stream settings say. `inner` is what the outbound will speak.
    ///
    /// # Errors
    /// [`TransportError`] names the setting.
    pub fn new(stream: &model::Stream, inner: tls::Inner, crypto: &tls::Crypto) -> Result<Self, TransportError> {
        settings::only_raw(stream)?;
        let security = match &stream.security {
            model::Security::None => Security::None,
            model::Security::Tls(set) => Security::Tls(tls::Client::new(crypto, &tls::ClientOptions::of(set, inner)?)?),
            model::Security::Reality(_) => return Err(TransportError::NotBuilt { what: "security reality" }),
            model::Security::Xtls(_) => return Err(TransportError::NotBuilt { what: "security xtls" }),
        };
        let socket = SocketOptions::from(&stream.sockopt);
        Ok(Self { socket, families: settings::families(&stream.sockopt), security, carrier: Carrier::Raw })
    }

    /// The same from this local address.
    #[must_use]
    pub fn with_bind(mut self, from: Option<IpAddr>) -> Self {
        self.socket.bind = from;
        self
    }

    /// Bare TCP.
    #[must_use]
    pub fn raw(socket: SocketOptions, families: Families) -> Self {
        Self { socket, families, security: Security::None, carrier: Carrier::Raw }
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

    /// Which addresses of a name are used, for the UDP that goes beside.
    #[must_use]
    pub fn families(&self) -> Families {
        self.families
    }

    /// Whether a stream from here is the socket itself.
    #[must_use]
    pub fn is_raw(&self) -> bool {
        matches!((&self.security, &self.carrier), (Security::None, Carrier::Raw))
    }

    /// A ready stream to `to`. `blame` says whose fault a failure is that is not ours: the server's, or for a direct
    /// outbound the target's.
    ///
    /// # Errors
    /// [`DialError`] at its stage.
    pub async fn connect(&self, cx: &dyn Services, to: &Target, blame: Blame) -> Result<BoxStream, DialError> {
        let socket = self.dial(cx, to, blame).await?;
        if self.is_raw() { Ok(Box::new(socket)) } else { self.wrap(Box::new(socket), &to.host, blame).await }
    }

    /// Secures and carries over a stream that came another way, such as through another outbound. `host` is the server's.
    ///
    /// # Errors
    /// [`DialError`] at its stage.
    pub async fn wrap(&self, io: BoxStream, host: &Host, blame: Blame) -> Result<BoxStream, DialError> {
        let secured: BoxStream = match &self.security {
            Security::None => io,
            Security::Tls(client) => {
                // Boxed, because a handshake is large and the plain way should not carry its size along.
                let shaken = timeout(LIMIT, Box::pin(client.connect(io, host))).await;
                let stream = shaken.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
                Box::new(stream.map_err(|error| DialError::new(Stage::Secure, blame, error))?)
            }
        };
        match self.carrier {
            Carrier::Raw => Ok(secured),
        }
    }

    async fn dial(&self, cx: &dyn Services, to: &Target, blame: Blame) -> Result<TcpStream, DialError> {
        let dialed = match &to.host {
            Host::Ip(ip) => tcp::dial(&[(*ip, to.port).into()], &self.socket, LIMIT).await,
            Host::Domain(name) => {
                // A resolver lays a failure at the door of the name's owner, which here is whoever `blame` names.
                let found = cx.resolve(name).await.map_err(|error| error.instead_of_target(blame))?;
                let addresses = self.families.pick(&found, to.port);
                if addresses.is_empty() {
                    // The name has none of the family that the configuration asks for.
                    return Err(DialError::new(Stage::Resolve, blame, io::ErrorKind::AddrNotAvailable));
                }
                tcp::dial(&addresses, &self.socket, LIMIT).await
            }
        };
        dialed.map_err(|error| {
            let blame = if tcp::is_ours(&error) { Blame::Us } else { blame };
            DialError::new(Stage::Dial, blame, error)
        })
    }
}

#[cfg(test)]
mod tests;
