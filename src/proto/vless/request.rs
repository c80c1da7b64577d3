//! The header of a request.

use std::fmt;

use bytes::BufMut;
use zeroize::Zeroizing;

use super::addons::Wrapping;
use crate::addr::Target;
use crate::proto::credentials::Credentials;
use crate::proto::portfirst::{read_address, write_address};
use crate::wire::{Handshake, Reader, Step, WireError, whole};

/// The only version there is.
const VERSION: u8 = 0;

/// Fewer bytes than this hold no request, so whoever sends them first speaks something else.
const SHORTEST: usize = 18;

/// The id of a user. It is the whole of the secret, so it is never shown.
///
/// Bytes 6 and 7 say nothing of who it is: a server compares ids without them, and offers them to its rules as a number.
#[derive(Clone, PartialEq, Eq)]
pub struct Id(Zeroizing<[u8; 16]>);

impl Id {
    /// Of these bytes.
    #[must_use]
    pub fn new(bytes: [u8; 16]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// All bytes, as they are sent.
    #[must_use]
    pub fn bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// What users are known by.
    #[must_use]
    pub fn key(&self) -> [u8; 16] {
        let mut key = *self.0;
        key[6..8].fill(0);
        key
    }

    /// The number in it that rules may ask for.
    #[must_use]
    pub fn route(&self) -> u16 {
        u16::from_be_bytes([self.0[6], self.0[7]])
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// The users of a server, by [`Id::key`].
pub type Users<U> = Credentials<16, U>;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// A stream.
    Tcp(Target),
    /// Datagrams to one target, each with its length in front.
    Udp(Target),
    /// Many streams and associations in frames.
    Mux,
    /// A tunnel by which the server dials back.
    Reverse,
}

/// What a header says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request<U> {
    /// Whose it is.
    pub user: U,
    /// The id as it was sent.
    pub id: Id,
    /// How the payload is wrapped.
    pub wrapping: Wrapping,
    /// What is asked for.
    pub command: Command,
}

/// Appends the header of a request.
pub fn write_request(id: &Id, wrapping: Wrapping, command: &Command, out: &mut impl BufMut) {
    out.put_u8(VERSION);
    out.put_slice(id.bytes());
    wrapping.write(out);
    match command {
        Command::Tcp(target) => {
            out.put_u8(1);
            write_address(target, out);
        }
        Command::Udp(target) => {
            out.put_u8(2);
            write_address(target, out);
        }
        Command::Mux => out.put_u8(3),
        Command::Reverse => out.put_u8(4),
    }
}

/// Whether the first bytes of a connection are no request of one of the users.
#[must_use]
pub fn is_stranger<U>(first: &[u8], users: &Users<U>) -> bool {
    first.len() < SHORTEST || user(&mut Reader::new(first), users).is_err()
}

fn user<'a, U>(reader: &mut Reader<'_>, users: &'a Users<U>) -> Result<(Id, &'a U), WireError> {
    if reader.take_u8()? != VERSION {
        return Err(WireError::Malformed { what: "version" });
    }
    let id = Id::new(reader.take_array()?);
    let user = users.admit(&id.key()).ok_or(WireError::Denied { what: "user" })?;
    Ok((id, user))
}

/// The server's side of the header. It says nothing: its answer goes with the first bytes that come back.
#[derive(Debug)]
pub struct Server<'a, U>(&'a Users<U>);

impl<'a, U> Server<'a, U> {
    /// With these users.
    #[must_use]
    pub fn new(users: &'a Users<U>) -> Self {
        Self(users)
    }
}

impl<U: Clone> Handshake for Server<'_, U> {
    type Output = Request<U>;

    fn step(&mut self, input: &[u8], _: &mut Vec<u8>) -> Result<Step<Request<U>>, WireError> {
        whole(input, |reader| {
            let (id, user) = user(reader, self.0)?;
            let wrapping = Wrapping::read(reader)?;
            let command = match reader.take_u8()? {
                1 => Command::Tcp(read_address(reader)?),
                2 => Command::Udp(read_address(reader)?),
                3 => Command::Mux,
                4 => Command::Reverse,
                _ => return Err(WireError::Malformed { what: "command" }),
            };
            Ok(Request { user: user.clone(), id, wrapping, command })
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::wire::testing::{any_split, feed};

    /// b831381d-6324-4d53-ad4f-8cda48b30811
    const ID: [u8; 16] = [0xb8, 0x31, 0x38, 0x1d, 0x63, 0x24, 0x4d, 0x53, 0xad, 0x4f, 0x8c, 0xda, 0x48, 0xb3, 8, 0x11];

    fn users() -> Users<&'static str> {
        Users::new([(Id::new(ID).key(), "ann")])
    }

    fn written(wrapping: Wrapping, command: &Command) -> Vec<u8> {
        let mut out = Vec::new();
        write_request(&Id::new(ID), wrapping, command, &mut out);
        out
    }

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
    }

    /// Checked by running them against v2ray 4.34.0 and sing-box 1.14.4.
    #[test]
    fn known_headers() {
        let tcp = Command::Tcp("www.example.com:443".parse().unwrap());
        let wanted = "00b831381d63244d53ad4f8cda48b30811000101bb020f7777772e6578616d706c652e636f6d";
        assert_eq!(written(Wrapping::Plain, &tcp), hex(wanted));
        let vision = Command::Tcp("1.2.3.4:80".parse().unwrap());
        let wanted = "00b831381d63244d53ad4f8cda48b30811120a1078746c732d727072782d766973696f6e0100500101020304";
        assert_eq!(written(Wrapping::Vision, &vision), hex(wanted));
        assert_eq!(written(Wrapping::Plain, &Command::Mux), hex("00b831381d63244d53ad4f8cda48b308110003"));
    }

    #[test]
    fn a_header_is_read_however_it_is_split() {
        let users = users();
        for command in [
            Command::Tcp("www.example.com:443".parse().unwrap()),
            Command::Udp("[2001:db8::1]:53".parse().unwrap()),
            Command::Mux,
            Command::Reverse,
        ] {
            for wrapping in [Wrapping::Plain, Wrapping::Vision] {
                let header = written(wrapping, &command);
                let outcome = any_split(|| Server::new(&users), &[&header[..], b"payload"].concat());
                let request = outcome.result.unwrap().unwrap();
                assert_eq!((request.user, request.wrapping, &request.command), ("ann", wrapping, &command));
                assert_eq!((outcome.used, request.id.bytes()), (header.len(), &ID));
                assert!(outcome.reply.is_empty());
            }
        }
    }

    #[test]
    fn two_bytes_of_the_id_are_a_number_for_rules() {
        let users = users();
        let mut header = written(Wrapping::Plain, &Command::Mux);
        header[7..9].copy_from_slice(&[0x12, 0x34]);
        let request = feed(Server::new(&users), [&header[..]]).result.unwrap().unwrap();
        assert_eq!((request.user, request.id.route()), ("ann", 0x1234));
        assert_eq!(format!("{:?}", request.id), "***");
    }

    #[test]
    fn strangers_are_known_by_their_first_bytes() {
        let users = users();
        let header = written(Wrapping::Plain, &Command::Mux);
        assert!(!is_stranger(&header, &users) && is_stranger(&header[..17], &users));
        assert!(is_stranger(b"GET / HTTP/1.1\r\nHost: a\r\n", &users));
        let mut other = header.clone();
        other[1] ^= 1;
        assert!(is_stranger(&other, &users));
        let refused = any_split(|| Server::new(&users), &other).result;
        assert_eq!(refused, Some(Err(WireError::Denied { what: "user" })));
        // A wrong version and a wrong id end it as soon as they are there.
        assert!(matches!(feed(Server::new(&users), [&b"G"[..]]).result, Some(Err(_))));
        assert!(matches!(feed(Server::new(&users), [&other[..17]]).result, Some(Err(_))));
        assert_eq!(feed(Server::new(&users), [&header[..17]]).result, None);
    }

    proptest! {
        #[test]
        fn what_follows_an_id_never_panics(bytes: Vec<u8>) {
            let users = users();
            let _ = feed(Server::new(&users), [&[&[0][..], &ID, &bytes].concat()[..]]);
        }
    }
}
