//! By which way packets go and come.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::BytesMut;
use tokio::net::UdpSocket;

use crate::addr::Target;
use crate::flow::{BoxPackets, Packets};
use crate::transport::quic::Port;

/// By which way packets go, and by which they come where nobody else listens.
pub(super) enum Road {
    /// A socket that only the peer is heard at.
    Own(UdpSocket),
    /// An association that somebody else opened.
    Detour { packets: BoxPackets, to: Target },
    /// A socket that many conversations share; somebody else listens.
    Shared { socket: Arc<UdpSocket>, to: SocketAddr },
}

/// What became of a packet.
pub(super) enum Sent {
    Done,
    /// It has to wait.
    Later,
    Broken(io::Error),
}

/// Room for a packet; whatever is longer is none of ours, since no path carries it whole.
const PACKET: usize = 9 * 1024;

impl Road {
    /// By a port of a client's.
    pub(super) fn of(port: Port) -> io::Result<Self> {
        Ok(match port {
            Port::Own { socket, to, .. } => {
                // Strangers are not heard, and a server's machine can say that nobody is there.
                socket.connect(to)?;
                Self::Own(UdpSocket::from_std(socket)?)
            }
            Port::Detour { packets, to } => Self::Detour { packets, to },
        })
    }

    /// Sends a packet.
    pub(super) fn send(&mut self, cx: &mut Context<'_>, packet: &[u8]) -> Sent {
        let sent = match self {
            Self::Own(socket) => socket.try_send(packet).map(drop),
            Self::Shared { socket, to } => socket.try_send_to(packet, *to).map(drop),
            Self::Detour { packets, to } => match packets.poll_send(cx, packet, to) {
                Poll::Ready(Err(error)) => return Sent::Broken(error),
                Poll::Ready(Ok(())) => Ok(()),
                Poll::Pending => return Sent::Later,
            },
        };
        match sent {
            Ok(()) => Sent::Done,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Sent::Later,
            // As a router would, this loses it; what an earlier one met is told to whoever listens.
            Err(_) => Sent::Done,
        }
    }

    /// Appends a packet that came.
    pub(super) fn poll_hear(&mut self, cx: &mut Context<'_>, buf: &mut BytesMut) -> Poll<io::Result<()>> {
        match self {
            Self::Own(socket) => loop {
                ready!(socket.poll_recv_ready(cx))?;
                buf.reserve(PACKET);
                match socket.try_recv_buf(buf) {
                    Ok(_) => return Poll::Ready(Ok(())),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(error) => return Poll::Ready(Err(error)),
                }
            },
            Self::Detour { packets, .. } => packets.poll_recv(cx, buf).map_ok(drop),
            Self::Shared { .. } => Poll::Pending,
        }
    }
}
