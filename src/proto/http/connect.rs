//! CONNECT, client side.

use super::head::{ReadResponse, ResponseHead};
use super::headers::Headers;
use crate::addr::Target;
use crate::wire::{Handshake, Step, WireError};

/// Asks a proxy for a tunnel. Bytes that came with the proxy's answer stay unread: they are the tunnel's first.
#[derive(Debug)]
pub struct Connect {
    ask: Vec<u8>,
    answer: ReadResponse,
    interim: u8,
}

/// The proxy said no.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the proxy answered {status}{}{reason}", if reason.is_empty() { "" } else { " " })]
pub struct Refused {
    /// The status.
    pub status: u16,
    /// Its words, printable and short.
    pub reason: String,
}

/// A server that sends more interim answers than this before the real one is not answering.
const MAX_INTERIM: u8 = 16;
/// Longest words of a refusal that are worth repeating.
const MAX_REASON: usize = 80;

impl Connect {
    /// Prepares the question: Host first, then the login, then the configured fields.
    #[must_use]
    pub fn new(target: &Target, authorization: Option<&str>, fields: &Headers) -> Self {
        let mut headers = fields.clone();
        if let Some(value) = authorization {
            headers.remove("Proxy-Authorization");
            headers.push("Proxy-Authorization", value);
        }
        if !headers.has("Proxy-Connection") {
            headers.push("Proxy-Connection", "Keep-Alive");
        }
        headers.lead("Host", target.to_string());
        let mut ask = format!("CONNECT {target} HTTP/1.1\r\n").into_bytes();
        headers.write(&mut ask);
        Self { ask, answer: ReadResponse::default(), interim: 0 }
    }
}

impl Handshake for Connect {
    type Output = Result<(), Refused>;

    fn step(&mut self, input: &[u8], reply: &mut Vec<u8>) -> Result<Step<Self::Output>, WireError> {
        reply.append(&mut self.ask);
        let mut taken = 0;
        loop {
            match self.answer.step(&input[taken..], reply)? {
                Step::More { used, need } => return Ok(Step::More { used: taken + used, need }),
                Step::Done { used, value } if value.is_interim() => {
                    taken += used;
                    self.interim += 1;
                    if self.interim > MAX_INTERIM {
                        return Err(WireError::TooLong);
                    }
                }
                Step::Done { used, value } => return Ok(Step::Done { used: taken + used, value: verdict(value) }),
            }
        }
    }
}

/// Xray takes 200 alone; RFC 9110 9.3.6 gives every 2xx the same meaning.
fn verdict(head: ResponseHead) -> Result<(), Refused> {
    if (200..300).contains(&head.status) {
        return Ok(());
    }
    let printable = |c: &char| !c.is_control();
    Err(Refused { status: head.status, reason: head.reason.chars().filter(printable).take(MAX_REASON).collect() })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::wire::testing::any_split;

    fn connect() -> Connect {
        let mut fields = Headers::default();
        fields.push("X-Key", "v");
        Connect::new(&"[2001:db8::1]:443".parse().unwrap(), Some("Basic eDp5"), &fields)
    }

    #[test]
    fn the_tunnel_begins_behind_the_answer() {
        let answer = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\nVia: x\r\n\r\nSSH-2.0";
        let outcome = any_split(connect, answer);
        assert_eq!(outcome.result, Some(Ok(Ok(()))));
        assert_eq!(outcome.used, answer.len() - 7);
        assert_eq!(
            String::from_utf8(outcome.reply).unwrap(),
            "CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: [2001:db8::1]:443\r\nX-Key: v\r\n\
             Proxy-Authorization: Basic eDp5\r\nProxy-Connection: Keep-Alive\r\n\r\n"
        );
    }

    #[test]
    fn a_refusal_keeps_its_words() {
        let outcome = any_split(connect, b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
        let refused = outcome.result.unwrap().unwrap().unwrap_err();
        assert_eq!(refused.to_string(), "the proxy answered 407 Proxy Authentication Required");
    }

    #[test]
    fn garbage_is_an_error() {
        assert!(matches!(any_split(connect, b"SSH-2.0-x\r\n\r\n").result, Some(Err(WireError::Malformed { .. }))));
    }
}
