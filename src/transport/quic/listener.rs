//! Sockets at which QUIC is spoken.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::time::Duration;

use quinn::{AsyncUdpSocket, Endpoint, EndpointConfig, Runtime, TokioRuntime, VarInt};
use tokio::time::timeout;

use super::caller::Caller;
use super::masked::{Masked, Wardrobe};
use super::pace::Paced;
use super::server::Server;
use super::several::joined;
use crate::net::Hours;

/// Handshakes at a time. Beyond this, whoever calls has to show first that it is where it says: sources can be forged.
const HANDSHAKES: usize = 256;
/// Time for the last packets.
const PARTING: Duration = Duration::from_millis(100);

/// Receives at one socket, or several that are as one, until its hours are over, or all who stayed after closing have gone. `take` is given whoever calls, and may not
/// block; `server` is any whose first packets look like those of the one that answers, and `masks` are asked for at each batch.
///
/// # Errors
/// Whatever the kernel says of the socket.
pub async fn listen(
    sockets: Vec<UdpSocket>,
    server: &Server,
    masks: impl Wardrobe,
    hours: &Hours,
    mut take: impl FnMut(Caller),
) -> io::Result<()> {
    let sockets: io::Result<Vec<_>> = sockets.into_iter().map(|socket| TokioRuntime.wrap_udp_socket(socket)).collect();
    let socket = joined(sockets?).ok_or(io::ErrorKind::AddrNotAvailable)?;
    let socket = Paced::new(Masked::new(socket, masks));
    let abstracted = Arc::clone(&socket) as Arc<dyn AsyncUdpSocket>;
    let (config, runtime) = (EndpointConfig::default(), Arc::new(TokioRuntime));
    let endpoint = Endpoint::new_with_abstract_socket(config, Some(server.config()), abstracted, runtime)?;
    let busy = Arc::new(());
    let mut open = true;
    loop {
        tokio::select! {
            biased;
            () = hours.over.cancelled() => {
                endpoint.close(VarInt::from_u32(0), b"");
                // Until clients were told.
                let _ = timeout(PARTING, endpoint.wait_idle()).await;
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
                Some(incoming) => take(Caller { incoming, socket: Arc::clone(&socket), busy: Arc::clone(&busy) }),
            },
        }
    }
}
