//! What follows when both sides changed to another protocol: bytes both ways, until one of them ends.

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::copy_bidirectional;

/// Waits until both sides have changed, and passes on what they say. Silence ends it as it ends their connections.
pub(super) async fn run(client: OnUpgrade, server: OnUpgrade) {
    let (client, server) = match tokio::try_join!(client, server) {
        Ok(both) => both,
        Err(error) => return tracing::debug!(%error, "a change of protocol came to nothing"),
    };
    if let Err(error) = copy_bidirectional(&mut TokioIo::new(client), &mut TokioIo::new(server)).await {
        tracing::debug!(%error, "a tunnel ended");
    }
}
