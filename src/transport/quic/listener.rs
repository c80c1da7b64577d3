//! A socket at which QUIC is spoken.

use std::fmt;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

use quinn::{Endpoint, EndpointConfig, Incoming, TokioRuntime, VarInt};

use super::server::Server;
use crate::net::Hours;
use crate::net::tcp::canonical;

/// Whoever calls, before anything was said.
pub struct Caller {
    pub(super) incoming: Incoming,
    /// Kept until the handshake is over.
    pub(super) busy: Arc<()>,
}

/// Handshakes at a time. Beyond this, whoever calls has to show first that it is where it says: sources can be forged.
const HANDSHAKES: usize = 256;

/// Receives until its hours are over, or all who stayed after closing have gone. `take` is given whoever calls, and may not
/// block; `server` is any whose packets look like those of the one that answers.
///
/// # Errors
/// Whatever the kernel says of the socket.
pub async fn listen(socket: UdpSocket, server: &Server, hours: &Hours, mut take: impl FnMut(Caller)) -> io::Result<()> {
    let endpoint = Endpoint::new(EndpointConfig::default(), Some(server.config()), socket, Arc::new(TokioRuntime))?;
    let busy = Arc::new(());
    let mut open = true;
    loop {
        tokio::select! {
            biased;
            () = hours.over.cancelled() => {
                endpoint.close(VarInt::from_u32(0), b"");
                return Ok(());
            }
            () = hours.closing.cancelled(), if open => {
                endpoint.set_server_config(None);
                open = false;
            }
            () = endpoint.wait_idle(), if !open => return Ok(()),
            incoming = endpoint.accept(), if open => match incoming {
                None => return Ok(()),
                Some(incoming) if incoming.may_retry() && Arc::strong_count(&busy) > HANDSHAKES => {
                    // It cannot fail: it was asked whether it may.
                    let _ = incoming.retry();
                }
                Some(incoming) => take(Caller { incoming, busy: Arc::clone(&busy) }),
            },
        }
    }
}

impl Caller {
    /// Where it says it is.
    #[must_use]
    pub fn source(&self) -> SocketAddr {
        canonical(self.incoming.remote_address())
    }

    /// The address that it called, of a socket that is bound here.
    #[must_use]
    pub fn local(&self, bound: SocketAddr) -> SocketAddr {
        SocketAddr::new(self.incoming.local_ip().unwrap_or_else(|| bound.ip()).to_canonical(), bound.port())
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Caller").field(&self.source()).finish()
    }
}
