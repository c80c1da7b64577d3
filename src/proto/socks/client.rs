//! The client's side of SOCKS5.
//!
//! Strictly one message after the other, although three could go at once: some servers read each message with one call
//! and lose what came with it.

use super::address::{read_address, write_address};
use super::reply::{Refused, Reply};
use super::server::Command;
use crate::addr::Target;
use crate::wire::{Handshake, Reader, Step, WireError, whole};

/// Asks a server for a tunnel or an association.
#[derive(Debug)]
pub struct Client<'a> {
    command: Command,
    target: &'a Target,
    login: Option<Login<'a>>,
    state: State,
}

/// A user name and its password, both up to 255 bytes.
#[derive(Clone, Copy)]
pub struct Login<'a> {
    /// The name.
    pub user: &'a str,
    /// The password.
    pub password: &'a str,
}

#[derive(Debug)]
enum State {
    Start,
    Method,
    LoggedIn,
    Answer,
}

const NO_LOGIN: u8 = 0;
const PASSWORD: u8 = 2;

impl<'a> Client<'a> {
    /// Asks for `target`. A login is offered alone: whoever configured one wants to be known by it.
    #[must_use]
    pub fn new(command: Command, target: &'a Target, login: Option<Login<'a>>) -> Self {
        Self { command, target, login, state: State::Start }
    }

    fn method(&self) -> u8 {
        if self.login.is_some() { PASSWORD } else { NO_LOGIN }
    }

    fn message(&mut self, reader: &mut Reader<'_>, reply: &mut Vec<u8>) -> Result<Option<Outcome>, WireError> {
        match self.state {
            State::Start => {
                reply.extend_from_slice(&[5, 1, self.method()]);
                self.state = State::Method;
            }
            State::Method => {
                let [version, method] = reader.take_array()?;
                if version != 5 {
                    return Err(WireError::Malformed { what: "SOCKS version" });
                }
                if method != self.method() {
                    return Err(WireError::Denied { what: "the server takes no login method of ours" });
                }
                match self.login {
                    Some(login) => {
                        reply.push(1);
                        for text in [login.user, login.password] {
                            reply.push(u8::try_from(text.len()).map_err(|_| WireError::TooLong)?);
                            reply.extend_from_slice(text.as_bytes());
                        }
                        self.state = State::LoggedIn;
                    }
                    None => self.ask(reply),
                }
            }
            State::LoggedIn => {
                let [_, status] = reader.take_array()?;
                if status != 0 {
                    return Err(WireError::Denied { what: "the server refused the login" });
                }
                self.ask(reply);
            }
            State::Answer => {
                let [version, code, _] = reader.take_array()?;
                if version != 5 {
                    return Err(WireError::Malformed { what: "SOCKS version" });
                }
                // Servers that refuse often stop right here.
                if code != 0 {
                    return Ok(Some(Err(Refused(Reply::of(code)))));
                }
                return Ok(Some(Ok(bound(reader)?)));
            }
        }
        Ok(None)
    }

    fn ask(&mut self, reply: &mut Vec<u8>) {
        let command = match self.command {
            Command::Connect => 1,
            Command::Associate => 3,
        };
        reply.extend_from_slice(&[5, command, 0]);
        write_address(self.target, reply);
        self.state = State::Answer;
    }
}

/// What a server answered: the address it serves from, if that could be read, or its refusal.
pub type Outcome = Result<Option<Target>, Refused>;

/// The bound address. It matters for associations alone, so an unreadable name (an empty one is common) is no error here.
fn bound(reader: &mut Reader<'_>) -> Result<Option<Target>, WireError> {
    match read_address(reader) {
        Err(WireError::Malformed { what: "host name" }) => reader.take_u16().map(|_| None),
        other => other.map(Some),
    }
}

impl Handshake for Client<'_> {
    type Output = Outcome;

    fn step(&mut self, input: &[u8], reply: &mut Vec<u8>) -> Result<Step<Self::Output>, WireError> {
        let mut taken = 0;
        loop {
            match whole(&input[taken..], |reader| self.message(reader, reply))? {
                Step::More { need, .. } => return Ok(Step::More { used: taken, need }),
                Step::Done { used, value: None } => taken += used,
                Step::Done { used, value: Some(value) } => return Ok(Step::Done { used: taken + used, value }),
            }
        }
    }
}

impl std::fmt::Debug for Login<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Login(***)")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::wire::testing::{any_split, feed};

    fn target() -> Target {
        "a.example:443".parse().unwrap()
    }

    #[test]
    fn a_tunnel_without_login() {
        let target = target();
        let make = || Client::new(Command::Connect, &target, None);
        let outcome = any_split(make, b"\x05\x00\x05\x00\x00\x01\x7f\0\0\x01\x04\x38first");
        assert_eq!(outcome.reply, b"\x05\x01\x00\x05\x01\x00\x03\x09a.example\x01\xbb");
        assert_eq!((outcome.result, outcome.used), (Some(Ok(Ok("127.0.0.1:1080".parse().ok()))), 12));
    }

    #[test]
    fn an_association_with_login() {
        let target: Target = "0.0.0.0:0".parse().unwrap();
        let login = Some(Login { user: "u", password: "pw" });
        let make = || Client::new(Command::Associate, &target, login);
        let outcome = any_split(make, b"\x05\x02\x01\x00\x05\x00\x00\x03\x00\x04\x38");
        assert_eq!(outcome.reply, b"\x05\x01\x02\x01\x01u\x02pw\x05\x03\x00\x01\0\0\0\0\0\0");
        assert_eq!((outcome.result, outcome.used), (Some(Ok(Ok(None))), 11));
    }

    #[test]
    fn refusals_are_told_apart() {
        let target = target();
        let make = || Client::new(Command::Connect, &target, None);
        let outcome = any_split(make, b"\x05\x00\x05\x05\x00");
        assert_eq!(outcome.result, Some(Ok(Err(Refused(Reply::ConnectionRefused)))));
        assert!(matches!(any_split(make, b"\x05\xff").result, Some(Err(WireError::Denied { .. }))));
        assert!(matches!(any_split(make, b"HTTP/1.1 400").result, Some(Err(WireError::Malformed { .. }))));
        let login = Some(Login { user: "u", password: "p" });
        let closed = any_split(|| Client::new(Command::Connect, &target, login), b"\x05\x02\x01\x01");
        assert!(matches!(closed.result, Some(Err(WireError::Denied { .. }))));
    }

    #[test]
    fn too_long_a_login_is_an_error_and_never_shown() {
        let (target, long) = (target(), "x".repeat(256));
        let login = Login { user: &long, password: "p" };
        let outcome = feed(Client::new(Command::Connect, &target, Some(login)), [&b"\x05\x02"[..]]);
        assert_eq!(outcome.result, Some(Err(WireError::TooLong)));
        assert!(!format!("{login:?}").contains('x'));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>, size in 1usize..9) {
            let target = target();
            feed(Client::new(Command::Connect, &target, None), bytes.chunks(size));
            let good = [&b"\x05\x00"[..], &bytes].concat();
            feed(Client::new(Command::Connect, &target, None), good.chunks(size));
        }
    }
}
