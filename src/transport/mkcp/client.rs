//! The client's side.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use super::limits;
use super::line::Line;
use super::road::Road;
use super::shared::{Room, Shared};
use super::speaker::drive;
use crate::model::carrier::Kcp;
use crate::model::stream::Stream;
use crate::proto::mask::Masks;
use crate::proto::mkcp::{Connection, Settings};
use crate::transport::error::TransportError;
use crate::transport::quic::Port;

/// Begins conversations, all in the same manner.
#[derive(Debug)]
pub struct Client {
    settings: Settings,
    masks: Arc<Masks>,
    /// The next conversation.
    next: AtomicU16,
}

impl Client {
    /// What the settings say.
    ///
    /// # Errors
    /// [`TransportError`] names a mask that cannot be put on.
    pub fn new(stream: &Stream, set: &Kcp) -> Result<Self, TransportError> {
        let (settings, masks) = limits::of(stream, set)?;
        Ok(Self { settings, masks: Arc::new(masks), next: AtomicU16::new(rand::random()) })
    }

    /// Begins a conversation, and waits until the server has shown that it takes part in it. Others begin to speak without
    /// waiting, and hear nothing where nobody is; then no other server could be tried any more.
    ///
    /// # Errors
    /// Whatever the kernel says of the socket; the server was not heard in time.
    pub async fn open(&self, port: Port) -> io::Result<Line> {
        let conversation = self.next.fetch_add(1, Ordering::Relaxed);
        let mut connection = Connection::new(conversation, self.settings.clone());
        connection.knock();
        let shared = Shared::new(connection, Room::default());
        let road = Road::of(port)?;
        // Whoever does not wait any longer drops it, and with it the conversation ends.
        let line = Line::new(shared.clone());
        tokio::spawn(drive(shared.clone(), Arc::clone(&self.masks), road));
        poll_fn(|cx| shared.poll_answered(cx)).await?;
        Ok(line)
    }
}
