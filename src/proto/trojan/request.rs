//! The header of a request.

use std::fmt;

use aws_lc_rs::digest::{SHA224, digest};
use bytes::BufMut;
use zeroize::Zeroizing;

use crate::addr::{Network, Target};
use crate::proto::credentials::Credentials;
use crate::proto::socks::{read_address, write_address};
use crate::wire::{Handshake, Reader, Step, WireError, whole};

/// Bytes of a token.
const TOKEN: usize = 56;

/// Fewer bytes than a token and the end of its line hold no request, so whoever sends them first speaks something else.
const SHORTEST: usize = TOKEN + 2;

const END: &[u8; 2] = b"\r\n";

const TCP: u8 = 1;
const UDP: u8 = 3;

/// What is sent of a password: its SHA-224 in small hexadecimal digits.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Zeroizing<[u8; TOKEN]>);

impl Token {
    /// Of a password.
    #[must_use]
    pub fn new(password: &str) -> Self {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = Zeroizing::new([0; TOKEN]);
        for (pair, byte) in text.chunks_exact_mut(2).zip(digest(&SHA224, password.as_bytes()).as_ref()) {
            pair.copy_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
        Self(text)
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &[u8; TOKEN] {
        &self.0
    }

    /// Appends the header of a request.
    pub fn write_request(&self, network: Network, target: &Target, out: &mut impl BufMut) {
        out.put_slice(&*self.0);
        out.put_slice(END);
        out.put_u8(if network == Network::Udp { UDP } else { TCP });
        write_address(target, out);
        out.put_slice(END);
    }
}

/// A token is as good as its password.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// The users of a server, by [`Token::text`].
pub type Users<U> = Credentials<TOKEN, U>;

/// What a header says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request<U> {
    /// Whose it is.
    pub user: U,
    /// Stream or datagrams.
    pub network: Network,
    /// The target; of datagrams, that of the first.
    pub target: Target,
}

/// Whether the first bytes of a connection are no request of one of the users.
#[must_use]
pub fn is_stranger<U>(first: &[u8], users: &Users<U>) -> bool {
    first.len() < SHORTEST || user(&mut Reader::new(first), users).is_err()
}

fn user<'a, U>(reader: &mut Reader<'_>, users: &'a Users<U>) -> Result<&'a U, WireError> {
    let token = reader.take_array()?;
    if reader.take_u8()? != END[0] {
        return Err(WireError::Malformed { what: "header" });
    }
    users.admit(&token).ok_or(WireError::Denied { what: "user" })
}

/// The server's side of the header, to be asked once the first bytes are known to be no stranger's. It says nothing. As
/// with Xray, every command but that of datagrams means a stream, and lines may end with any two bytes.
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
            let user = user(reader, self.0)?;
            reader.take_bytes(END.len() - 1)?;
            let network = if reader.take_u8()? == UDP { Network::Udp } else { Network::Tcp };
            let target = read_address(reader)?;
            reader.take_bytes(END.len())?;
            Ok(Request { user: user.clone(), network, target })
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::wire::testing::{any_split, feed};

    fn users() -> Users<&'static str> {
        Users::new([(*Token::new("password").text(), "ann")])
    }

    fn header(network: Network, target: &str) -> Vec<u8> {
        let mut out = Vec::new();
        Token::new("password").write_request(network, &target.parse().unwrap(), &mut out);
        out
    }

    /// Checked by running it against v2ray 4.34.0 and sing-box 1.14.4.
    #[test]
    fn a_known_header() {
        let wanted = [
            &b"d63dc919e201d7bc4c825630d2cf25fdc93d4b2f0d46706d29038d01\r\n\x01\x03\x0fwww.example.com\x01\xbb\r\n"[..],
        ];
        assert_eq!(header(Network::Tcp, "www.example.com:443"), wanted.concat());
        assert_eq!(format!("{:?}", Token::new("password")), "***");
    }

    #[test]
    fn a_header_is_read_however_it_is_split() {
        let users = users();
        for (network, target) in [(Network::Tcp, "www.example.com:443"), (Network::Udp, "[2001:db8::1]:53")] {
            let header = header(network, target);
            let outcome = any_split(|| Server::new(&users), &[&header[..], b"payload"].concat());
            let wanted = Request { user: "ann", network, target: target.parse().unwrap() };
            assert_eq!((outcome.result, outcome.used), (Some(Ok(wanted)), header.len()));
        }
    }

    #[test]
    fn strangers_are_known_by_their_first_bytes() {
        let users = users();
        let header = header(Network::Tcp, "a.example:443");
        assert!(!is_stranger(&header[..58], &users) && is_stranger(&header[..57], &users));
        let mut wrong = header.clone();
        wrong[55] = b'2';
        assert!(is_stranger(&wrong, &users));
        assert_eq!(any_split(|| Server::new(&users), &wrong).result, Some(Err(WireError::Denied { what: "user" })));
        // Case counts, as it does for Xray.
        assert!(is_stranger(&header.to_ascii_uppercase(), &users));
        let mut unended = header;
        unended[56] = b' ';
        assert!(is_stranger(&unended, &users));
        assert!(is_stranger(format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(80)).as_bytes(), &users));
    }

    #[test]
    fn of_what_stands_behind_the_token_only_the_address_must_be_right() {
        let users = users();
        let good = header(Network::Tcp, "a.example:443");
        let read = |at: usize| {
            let mut odd = good.clone();
            odd[at] = 9;
            any_split(|| Server::new(&users), &odd).result
        };
        let wanted = Request { user: "ann", network: Network::Tcp, target: "a.example:443".parse().unwrap() };
        for at in [57, 58, good.len() - 1, good.len() - 2] {
            assert_eq!(read(at), Some(Ok(wanted.clone())), "{at}");
        }
        assert!(matches!(read(59), Some(Err(_))));
    }

    proptest! {
        #[test]
        fn what_follows_a_token_never_panics(bytes: Vec<u8>) {
            let users = users();
            let _ = feed(Server::new(&users), [&[&Token::new("password").text()[..], b"\r\n", &bytes].concat()[..]]);
        }
    }
}
