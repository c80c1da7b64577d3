//! The server's side of SOCKS 4, 4a and 5, up to the request.
//!
//! The answer to a good request is left to the caller: a tunnel is granted at once, an association only when its socket
//! stands. Refusals are written here.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use super::address::{host_of, read_address};
use super::reply::Reply;
use crate::addr::{Host, Target};
use crate::proto::login::Logins;
use crate::wire::{Handshake, Reader, Step, WireError, whole};

/// Reads one client's handshake.
#[derive(Debug)]
pub struct Server<'a> {
    logins: Option<&'a Logins>,
    user: Option<Arc<str>>,
    state: State,
}

/// What a client asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The version it spoke.
    pub version: Version,
    /// What to do.
    pub command: Command,
    /// Where to; for an association the address the client will send from, often unspecified.
    pub target: Target,
    /// Who logged in.
    pub user: Option<Arc<str>>,
}

/// The version of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// SOCKS 4 or 4a.
    V4,
    /// SOCKS 5.
    V5,
}

/// The commands that are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// A tunnel. Tor's RESOLVE and RESOLVE_PTR count as such, as in Xray.
    Connect,
    /// A UDP association.
    Associate,
}

#[derive(Debug)]
enum State {
    Version,
    Methods,
    Password,
    Request,
    Socks4,
}

/// Longest user id or name in SOCKS4, which bounds neither.
const MAX_TEXT: usize = 4096;
const NO_LOGIN: u8 = 0;
const PASSWORD: u8 = 2;
const NO_METHOD: u8 = 0xff;

impl<'a> Server<'a> {
    /// With `logins`, only SOCKS5 clients that know one of them get in; an empty table admits nobody.
    #[must_use]
    pub fn new(logins: Option<&'a Logins>) -> Self {
        Self { logins, user: None, state: State::Version }
    }

    /// One message, if it is whole. `None` means "go on with the next one".
    fn message(&mut self, reader: &mut Reader<'_>, reply: &mut Vec<u8>) -> Result<Option<Request>, WireError> {
        match self.state {
            State::Version => {
                self.state = match reader.take_u8()? {
                    4 => State::Socks4,
                    5 => State::Methods,
                    _ => return Err(WireError::Malformed { what: "SOCKS version" }),
                };
                Ok(None)
            }
            State::Methods => self.methods(reader, reply).map(|()| None),
            State::Password => self.password(reader, reply).map(|()| None),
            State::Request => self.request(reader, reply).map(Some),
            State::Socks4 => self.socks4(reader, reply).map(Some),
        }
    }

    fn methods(&mut self, reader: &mut Reader<'_>, reply: &mut Vec<u8>) -> Result<(), WireError> {
        let offered = reader.take_prefixed_u8()?;
        let (method, next) = match self.logins {
            None => (NO_LOGIN, State::Request),
            Some(_) => (PASSWORD, State::Password),
        };
        if offered.contains(&method) {
            reply.extend_from_slice(&[5, method]);
            self.state = next;
            return Ok(());
        }
        // Some clients with a configured login offer only that; an open door lets them in with any.
        if self.logins.is_none() && offered.contains(&PASSWORD) {
            reply.extend_from_slice(&[5, PASSWORD]);
            self.state = State::Password;
            return Ok(());
        }
        reply.extend_from_slice(&[5, NO_METHOD]);
        Err(WireError::Denied { what: "none of the offered login methods" })
    }

    fn password(&mut self, reader: &mut Reader<'_>, reply: &mut Vec<u8>) -> Result<(), WireError> {
        reader.take_u8()?;
        let user = reader.take_prefixed_u8()?;
        let password = reader.take_prefixed_u8()?;
        if let Some(logins) = self.logins {
            self.user = logins.admit(user, password);
            if self.user.is_none() {
                reply.extend_from_slice(&[1, 0xff]);
                return Err(WireError::Denied { what: "wrong user or password" });
            }
        }
        reply.extend_from_slice(&[1, 0]);
        self.state = State::Request;
        Ok(())
    }

    fn request(&mut self, reader: &mut Reader<'_>, reply: &mut Vec<u8>) -> Result<Request, WireError> {
        let [_, command, _] = reader.take_array()?;
        let target = read_address(reader).inspect_err(|error| {
            if !matches!(error, WireError::Truncated { .. }) {
                refuse(reply, Reply::AddressNotSupported);
            }
        })?;
        let command = match command {
            1 | 0xf0 | 0xf1 => Command::Connect,
            3 => Command::Associate,
            _ => {
                refuse(reply, Reply::CommandNotSupported);
                return Err(WireError::Denied { what: "a command that is not served" });
            }
        };
        Ok(Request { version: Version::V5, command, target, user: self.user.take() })
    }

    fn socks4(&self, reader: &mut Reader<'_>, reply: &mut Vec<u8>) -> Result<Request, WireError> {
        let no = |reply: &mut Vec<u8>, error| {
            reply.extend_from_slice(&Reply::Failure.socks4());
            Err(error)
        };
        if self.logins.is_some() {
            return no(reply, WireError::Denied { what: "SOCKS4, which has no password" });
        }
        let command = reader.take_u8()?;
        let port = reader.take_u16()?;
        let ip = Ipv4Addr::from(reader.take_array::<4>()?);
        reader.take_until(0, MAX_TEXT)?;
        // 4a says 0.0.0.x; nothing else in 0.0.0.0/8 can be reached either.
        let host = if ip.octets()[0] == 0 {
            match host_of(reader.take_until(0, MAX_TEXT)?) {
                Ok(host) => host,
                Err(error) => return no(reply, error),
            }
        } else {
            Host::from(IpAddr::V4(ip))
        };
        if command != 1 {
            return no(reply, WireError::Denied { what: "a command that is not served" });
        }
        let target = Target::new(host, port);
        Ok(Request { version: Version::V4, command: Command::Connect, target, user: None })
    }
}

impl Handshake for Server<'_> {
    type Output = Request;

    fn step(&mut self, input: &[u8], reply: &mut Vec<u8>) -> Result<Step<Request>, WireError> {
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

impl Request {
    /// The answer to this request, in its own version.
    #[must_use]
    pub fn answer(&self, reply: Reply, bound: SocketAddr) -> Vec<u8> {
        match self.version {
            Version::V4 => reply.socks4().to_vec(),
            Version::V5 => reply.socks5(bound),
        }
    }
}

fn refuse(out: &mut Vec<u8>, reply: Reply) {
    out.extend_from_slice(&reply.socks5(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))));
}

#[cfg(test)]
mod tests;
