//! The TLS 1.3 of the REALITY server.

use bytes::BytesMut;
use etemenanki::tls::tls13::{
    ClientHello, HANDSHAKE, HandshakeSecrets, Ready, ServerHello, Suite, Transcript, Waiting, finished, header,
};
use etemenanki::wire::WireError;

use super::feed;
use super::plan::{Plan, seal};

/// The messages with which a handshake begins, of a client and of the borrowed site.
pub fn hellos(data: &[u8]) {
    let client = ClientHello::read(data);
    if let Ok(hello) = &client {
        assert_eq!(hello.message, data);
    }
    let server = ServerHello::read(data);
    if let Ok(hello) = &server {
        let mut other = hello.clone().with_share(&[]);
        assert!(other.len() < data.len(), "its share is gone");
        // Another of the same length may stand there.
        let share = vec![9; data.len() - other.len()];
        other = hello.clone().with_share(&share);
        assert_eq!(other.len(), data.len());
        let read = ServerHello::read(&other).expect("with another share");
        assert_eq!((read.suite, read.group), (hello.suite, hello.group));
    }
    // None of them is both, and a part is none.
    assert!(client.is_err() || server.is_err());
    if let Some(part) = data.len().checked_sub(1) {
        assert!(ClientHello::read(&data[..part]).is_err() || client.is_err());
        assert!(ServerHello::read(&data[..part]).is_err() || server.is_err());
    }
    match header(data) {
        Ok((kind, _)) => assert_eq!(kind, data[0]),
        Err(WireError::Truncated { need }) => assert!(need > 0),
        Err(_) => {}
    }
}

/// The records of a client behind the server's part: its Finished, and payload. The first byte chooses the suite.
pub fn records(data: &[u8]) {
    let Some((&suite, rest)) = data.split_first() else { return };
    let Some(plan) = Plan::of(rest) else { return };
    let party = Party::of(Suite::from_code(0x1301 + u16::from(suite % 3)).expect("one of three"));
    let mut wire = party.finished();
    wire.extend_from_slice(&seal(party.client().sealer, plan.payload));
    plan.bend(&mut wire);
    let shaken = feed::shake(&wire, || party.waiting(), |_| String::new());
    let read = shaken.and_then(Result::ok).map(|(_, rest)| feed::open(&rest, || party.server().opener).0);
    plan.judge(read.as_deref());
}

/// What strangers send in place of either.
pub fn strangers(data: &[u8]) {
    let party = Party::of(Suite::Aes128);
    let shaken = feed::shake(data, || party.waiting(), |_| String::new());
    assert!(!matches!(shaken, Some(Ok(_))), "a stranger who came in");
    let (plain, _) = feed::open(data, || party.server().opener);
    assert!(plain.is_empty(), "a stranger who was heard");
}

/// Both sides of a handshake whose secrets are known.
struct Party {
    secrets: HandshakeSecrets,
    hashed: Transcript,
}

impl Party {
    fn of(suite: Suite) -> Self {
        let mut hashed = Transcript::new(suite);
        hashed.add(b"all that was said");
        let secrets = HandshakeSecrets::new(suite, &[7; 32], &hashed).expect("secrets");
        Self { secrets, hashed }
    }

    /// The client's Finished.
    fn finished(&self) -> BytesMut {
        let mut wire = BytesMut::new();
        let key = self.secrets.client.finished_key().expect("a key");
        let sealed =
            self.secrets.client.key().expect("a key").seal(HANDSHAKE, &finished(&key, &self.hashed), 0, &mut wire);
        sealed.expect("it is short");
        wire
    }

    fn waiting(&self) -> Waiting {
        let application = self.secrets.application(&self.hashed).expect("secrets");
        Waiting::new(&self.secrets, application, &self.hashed, 32).expect("keys")
    }

    /// What the server has behind the handshake.
    fn server(&self) -> Ready {
        end(self.waiting(), &self.finished())
    }

    /// The same, of the other side.
    fn client(&self) -> Ready {
        let (client, server) = self.secrets.application(&self.hashed).expect("secrets");
        let waiting = Waiting::new(&self.secrets, (server, client), &self.hashed, 32).expect("keys");
        end(waiting, &self.finished())
    }
}

fn end(mut waiting: Waiting, finished: &[u8]) -> Ready {
    use etemenanki::wire::{Handshake, Step};
    match waiting.step(finished, &mut Vec::new()) {
        Ok(Step::Done { value, .. }) => value,
        _ => panic!("its own Finished was refused"),
    }
}
