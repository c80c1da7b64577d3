//! Sockets at which something else than QUIC is spoken, by the same means: batches of packets, and masks.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;

use quinn::{AsyncUdpSocket, Runtime, TokioRuntime};

use super::masked::{Masked, Wardrobe};

/// A socket for packets of a protocol of its own. `masks` are asked for at each batch.
///
/// # Errors
/// Whatever the kernel says.
pub fn bare(socket: UdpSocket, masks: impl Wardrobe) -> io::Result<Arc<dyn AsyncUdpSocket>> {
    Ok(Masked::new(TokioRuntime.wrap_udp_socket(socket)?, masks))
}
