//! The opening that WebSocket and HTTPUpgrade share, client side: a GET that asks to leave HTTP.

use crate::proto::http::{ReadResponse, ResponseHead};
use crate::wire::{Handshake, Step, WireError};

/// Asks a server to leave HTTP. Bytes behind its answer stay unread: they are the carrier's first.
#[derive(Debug)]
pub(super) struct Upgrade {
    ask: Vec<u8>,
    answer: ReadResponse,
    accept: Option<String>,
}

/// The server stays with HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refused {
    /// As its status says.
    #[error("the server answered {0} instead of 101")]
    Status(u16),
    /// It left HTTP for something else.
    #[error("the server's 101 is not for WebSocket")]
    Other,
    /// Its proof is not for our key.
    #[error("the server's Sec-WebSocket-Accept is wrong")]
    Proof,
}

impl Upgrade {
    /// With the head of a request, and the proof that the server must give, if any.
    pub(super) fn new(ask: Vec<u8>, accept: Option<String>) -> Self {
        Self { ask, answer: ReadResponse::default(), accept }
    }

    fn verdict(&self, head: &ResponseHead) -> Result<(), Refused> {
        if head.status != 101 {
            return Err(Refused::Status(head.status));
        }
        if !head.headers.lists("upgrade", "websocket") || !head.headers.lists("connection", "upgrade") {
            return Err(Refused::Other);
        }
        match &self.accept {
            Some(accept) if head.headers.first("sec-websocket-accept") != Some(accept.as_bytes()) => {
                Err(Refused::Proof)
            }
            _ => Ok(()),
        }
    }
}

impl Handshake for Upgrade {
    type Output = Result<(), Refused>;

    fn step(&mut self, input: &[u8], reply: &mut Vec<u8>) -> Result<Step<Self::Output>, WireError> {
        reply.append(&mut self.ask);
        let mut taken = 0;
        loop {
            match self.answer.step(&input[taken..], reply)? {
                Step::More { used, need } => return Ok(Step::More { used: taken + used, need }),
                Step::Done { used, value } if value.is_interim() => taken += used,
                Step::Done { used, value } => {
                    return Ok(Step::Done { used: taken + used, value: self.verdict(&value) });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::testing::any_split;

    fn answer(accept: Option<&str>, text: &str) -> (Option<Result<(), Refused>>, usize) {
        let make = || Upgrade::new(b"GET".to_vec(), accept.map(str::to_owned));
        let outcome = any_split(make, text.as_bytes());
        assert_eq!(outcome.reply, b"GET");
        (outcome.result.and_then(Result::ok), text.len() - outcome.used)
    }

    #[test]
    fn the_carrier_begins_behind_the_answer() {
        let yes = "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 101 Fine\r\nupgrade: WebSocket\r\nConnection: keep, Upgrade\r\n\
                   Sec-WebSocket-Accept: yes\r\n\r\nrest";
        assert_eq!(answer(Some("yes"), yes), (Some(Ok(())), 4));
        assert_eq!(answer(None, yes), (Some(Ok(())), 4));
        assert_eq!(answer(Some("no"), yes).0, Some(Err(Refused::Proof)));
    }

    #[test]
    fn other_answers_are_refusals() {
        assert_eq!(answer(None, "HTTP/1.1 404 Not Found\r\n\r\n").0, Some(Err(Refused::Status(404))));
        let other = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n";
        assert_eq!(answer(None, other).0, Some(Err(Refused::Other)));
    }
}
