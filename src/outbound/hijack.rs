//! Answers DNS questions in the process, and passes others on: Xray's `dns` outbound.
//!
//! There is no task for a flow, nor one for a question whose answer is kept: questions are taken where the client's bytes
//! are written, and answers are given where bytes are read (`clerk`). What is passed on is dialed like a direct flow.

mod beyond;
mod clerk;
mod datagrams;
mod message;
mod talk;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::freedom::Freedom;
use crate::addr::Network;
use crate::dns::Handling;
use crate::flow::{BoxPackets, BoxStream, DialError, Flow, Services, Stage};
use beyond::Beyond;
use clerk::Clerk;
use datagrams::Datagrams;
use talk::Talk;

/// The end of the way for questions.
#[derive(Debug)]
pub struct Hijack {
    /// What happens to which question.
    pub handling: Arc<Handling>,
    /// How questions are passed on; its redirection is the server they go to instead of theirs.
    pub direct: Arc<Freedom>,
    /// Over what they are passed on; none: over what they came.
    pub network: Option<Network>,
    /// How long a flow may be quiet.
    pub idle: Option<Duration>,
}

impl Hijack {
    pub(super) fn connect(&self, cx: &dyn Services, flow: &Flow, first: &[u8]) -> Result<BoxStream, DialError> {
        Ok(Box::new(Talk::new(self.clerk(cx, flow)?, flow.destination().clone(), first)))
    }

    pub(super) fn associate(&self, cx: &Arc<dyn Services>, flow: &Flow) -> Result<BoxPackets, DialError> {
        Ok(Box::new(Datagrams::new(self.clerk(&**cx, flow)?)))
    }

    fn clerk(&self, cx: &dyn Services, flow: &Flow) -> Result<Clerk, DialError> {
        let house = cx.lasting().ok_or_else(|| DialError::us(Stage::Policy, io::ErrorKind::Unsupported))?;
        let over = self.network.unwrap_or(if flow.network == Network::Udp { Network::Udp } else { Network::Tcp });
        let beyond = Beyond::new(Arc::clone(&house), Arc::clone(&self.direct), flow.clone(), over);
        // A question of ours to one of our servers is not asked of ourselves.
        let handling = (!cx.is_question()).then(|| Arc::clone(&self.handling));
        Ok(Clerk::new(house, handling, beyond, self.idle))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
