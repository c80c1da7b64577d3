//! The server's settings.

use super::limits;
use crate::model::carrier::Kcp;
use crate::model::stream::Stream;
use crate::proto::mask::Masks;
use crate::proto::mkcp::Settings;
use crate::transport::error::TransportError;

/// How conversations are held with whoever calls.
#[derive(Debug)]
pub struct Server {
    pub(super) settings: Settings,
    pub(super) masks: Masks,
}

impl Server {
    /// What the settings say.
    ///
    /// # Errors
    /// [`TransportError`] names a mask that cannot be put on.
    pub fn new(stream: &Stream, set: &Kcp) -> Result<Self, TransportError> {
        let (settings, masks) = limits::of(stream, set)?;
        Ok(Self { settings, masks })
    }
}
