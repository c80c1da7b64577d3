//! A socket at which QUIC is spoken.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;

use quinn::{Endpoint, EndpointConfig, TokioRuntime, VarInt};

use super::caller::Caller;
use super::server::Server;
use crate::net::Hours;

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
