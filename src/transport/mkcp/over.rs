//! Conversations in place of connections.

use super::client::Client;
use crate::flow::{Blame, BoxFuture, BoxStream, DialError, Stage};
use crate::net::tcp::is_ours;
use crate::transport::lines::Lines;
use crate::transport::quic::Port;

/// Conversations by ports of another source, in place of its connections.
pub struct Over<'a> {
    /// Who begins them.
    pub client: &'a Client,
    /// Where the ports come from.
    pub bare: &'a dyn Lines,
    /// Whose fault it is if nobody answers.
    pub blame: Blame,
}

impl Lines for Over<'_> {
    fn line(&self) -> BoxFuture<'_, Result<BoxStream, DialError>> {
        Box::pin(async {
            let port = self.bare.port().await?;
            let line = self.client.open(port).await.map_err(|error| {
                let blame = if is_ours(&error) { Blame::Us } else { self.blame };
                DialError::new(Stage::Dial, blame, error)
            })?;
            Ok(Box::new(line) as BoxStream)
        })
    }

    fn port(&self) -> BoxFuture<'_, Result<Port, DialError>> {
        self.bare.port()
    }
}
