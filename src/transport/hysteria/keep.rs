//! What a connection is kept for.

use std::any::Any;
use std::sync::Arc;

/// Held by each flow of a connection: a client's lives as long as it is held, and a server's that closes waits for it.
pub(super) type Keep = Arc<dyn Any + Send + Sync>;
