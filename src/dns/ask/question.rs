//! What is asked, and of whom.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;

use super::fault::Fault;
use crate::addr::{DomainName, Tag};
use crate::dns::family::Family;
use crate::dns::message::{Padding, padded_query};
use crate::flow::Services;

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// Whose addresses.
    pub name: &'a DomainName,
    /// Which of them.
    pub family: Family,
    /// Told as the client's address.
    pub client: Option<IpAddr>,
}

/// Who asks.
#[derive(Clone, Copy)]
pub(super) struct From<'a> {
    pub(super) house: &'a Arc<dyn Services>,
    /// The inbound of the flows of questions.
    pub(super) tag: &'a Tag,
}

impl Question<'_> {
    /// The message.
    pub(super) fn written(&self, id: u16, padding: Padding) -> Result<Vec<u8>, Fault> {
        padded_query(id, self.name, self.family, self.client, padding).ok_or(Fault::Name)
    }

    /// The message behind its length, for streams.
    pub(super) fn framed(&self, id: u16, padding: Padding) -> Result<Bytes, Fault> {
        let message = self.written(id, padding)?;
        let len = u16::try_from(message.len()).map_err(|_| Fault::Name)?;
        Ok([&len.to_be_bytes()[..], &message].concat().into())
    }
}
