//! SOCKS and HTTP on one port, told apart by the first byte.

use std::sync::Arc;

use bytes::BytesMut;
use tokio::io::AsyncReadExt;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::http::Http;
use super::socks::Socks;
use super::visit::{Accepted, Common, Fault, Visitor};
use crate::flow::{BoxStream, Sink};
use crate::net::DriveError;

/// Both servers.
#[derive(Debug)]
pub struct Mixed {
    socks: Socks,
    http: Http,
}

impl Mixed {
    /// Puts the two together; they should have the same users.
    #[must_use]
    pub fn new(socks: Socks, http: Http) -> Self {
        Self { socks, http }
    }

    /// Takes over the users of another; whether both ask for a login.
    pub(super) fn take_users(&self, other: &Self) -> bool {
        self.socks.take_users(&other.socks) && self.http.take_users(&other.http)
    }

    /// Serves one connection by the protocol it begins with.
    pub(super) async fn accept(
        &self,
        common: &Common,
        visitor: &Visitor,
        mut io: BoxStream,
        mut held: BytesMut,
        sink: &Arc<dyn Sink>,
        token: &CancellationToken,
    ) -> Result<Accepted, Fault> {
        if held.is_empty() {
            let read = timeout(common.handshake, io.read_buf(&mut held)).await;
            if read.map_err(|_| DriveError::TimedOut)?? == 0 {
                return Err(DriveError::Closed.into());
            }
        }
        match held.first() {
            Some(4 | 5) => self.socks.accept(common, visitor, io, held).await,
            _ => Box::pin(self.http.accept(common, visitor, io, held, sink, token)).await,
        }
    }
}
