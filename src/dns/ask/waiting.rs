//! Questions that wait for their answers on one connection.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::fault::Fault;
use super::question::Question;
use crate::addr::DomainName;
use crate::dns::family::Family;
use crate::dns::message::{BadReply, Reply, reply};

/// Questions that wait for their answers, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Waiting(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    waits: HashMap<u16, Wait>,
    /// How many have waited here in all.
    asked: u32,
    /// No further question is taken.
    closed: bool,
}

#[derive(Debug)]
struct Wait {
    name: DomainName,
    family: Family,
    tell: oneshot::Sender<Result<Reply, BadReply>>,
}

/// The place of one question.
#[derive(Debug)]
pub(super) struct Seat {
    waiting: Arc<Waiting>,
    /// The number of the question, which nobody can guess.
    pub(super) id: u16,
    answer: oneshot::Receiver<Result<Reply, BadReply>>,
}

/// Questions that may wait on one connection at a time.
const MOST: usize = 1024;

impl Waiting {
    /// A place for a question.
    pub(super) fn enter(self: &Arc<Self>, question: Question<'_>) -> Result<Seat, Fault> {
        let mut table = self.lock();
        if table.closed {
            return Err(Fault::Ended);
        }
        if table.waits.len() >= MOST {
            return Err(Fault::Busy);
        }
        let (tell, answer) = oneshot::channel();
        let wait = Wait { name: question.name.clone(), family: question.family, tell };
        table.asked = table.asked.saturating_add(1);
        loop {
            // There are far more numbers than places.
            let id = rand::random();
            if let Slot::Vacant(slot) = table.waits.entry(id) {
                slot.insert(wait);
                return Ok(Seat { waiting: Arc::clone(self), id, answer });
            }
        }
    }

    /// Takes a message from whom anybody may send: what answers no question is none, and whoever waits goes on waiting.
    pub(super) fn hear(&self, message: &[u8]) -> Result<(), BadReply> {
        self.take(message, false)
    }

    /// Takes a message from where nobody but the server can send: what is no answer to its question is the server's fault.
    pub(super) fn hear_out(&self, message: &[u8]) -> Result<(), BadReply> {
        self.take(message, true)
    }

    fn take(&self, message: &[u8], trusted: bool) -> Result<(), BadReply> {
        let &[high, low, ..] = message else { return Err(BadReply::Malformed) };
        let id = u16::from_be_bytes([high, low]);
        let mut table = self.lock();
        let Some(wait) = table.waits.get(&id) else { return Err(BadReply::Other) };
        let read = reply(message, id, &wait.name, wait.family);
        if (read.is_ok() || trusted)
            && let Some(wait) = table.waits.remove(&id)
        {
            // Whoever asked may have gone just now.
            let _ = wait.tell.send(read.clone());
        }
        read.map(drop)
    }

    /// How many have waited in all.
    pub(super) fn asked(&self) -> u32 {
        self.lock().asked
    }

    /// Whether no further question is taken.
    pub(super) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Takes no further question. Whoever waits goes on waiting.
    pub(super) fn retire(&self) {
        self.lock().closed = true;
    }

    /// Nothing will be answered any more: whoever waits is told so.
    pub(super) fn close(&self) {
        let mut table = self.lock();
        table.closed = true;
        table.waits.clear();
    }

    /// Closes if nobody waits.
    pub(super) fn close_unused(&self) -> bool {
        let mut table = self.lock();
        let unused = table.waits.is_empty();
        table.closed |= unused;
        unused
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        // Nothing that is done under it can leave it half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat {
    /// Waits for the answer.
    pub(super) async fn answer(&mut self) -> Result<Reply, Fault> {
        match (&mut self.answer).await {
            Ok(said) => said.map_err(Fault::NoAnswer),
            Err(_) => Err(Fault::Ended),
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.waiting.lock().waits.remove(&self.id);
    }
}
