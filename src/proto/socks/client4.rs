//! The client's side of SOCKS 4 and 4a, for servers that know nothing newer. Tunnels only.

use std::net::{IpAddr, Ipv4Addr};

use super::client::Outcome;
use super::reply::{Refused, Reply};
use crate::addr::{Host, Target};
use crate::wire::{Handshake, Step, WireError, whole};

/// Asks a server for a tunnel.
#[derive(Debug)]
pub struct Client4 {
    ask: Vec<u8>,
}

const GRANTED: u8 = 0x5a;

impl Client4 {
    /// Asks for `target`; a name is sent as 4a has it. The user's name is told and proves nothing.
    ///
    /// # Errors
    /// [`WireError::Denied`] for IPv6, and [`WireError::Malformed`] for a user's name that could not be told from its end.
    pub fn new(target: &Target, user: Option<&str>) -> Result<Self, WireError> {
        let user = user.unwrap_or_default();
        if user.contains('\0') {
            return Err(WireError::Malformed { what: "user name" });
        }
        let (ip, name) = match &target.host {
            Host::Ip(IpAddr::V4(ip)) => (*ip, None),
            Host::Ip(IpAddr::V6(_)) => {
                return Err(WireError::Denied { what: "an IPv6 address, which SOCKS4 cannot say" });
            }
            Host::Domain(name) => (UNKNOWN, Some(name.as_str())),
        };
        let mut ask = vec![4, 1];
        ask.extend_from_slice(&target.port.to_be_bytes());
        ask.extend_from_slice(&ip.octets());
        for text in [Some(user), name].into_iter().flatten() {
            ask.extend_from_slice(text.as_bytes());
            ask.push(0);
        }
        Ok(Self { ask })
    }
}

/// The address by which 4a says that a name follows.
const UNKNOWN: Ipv4Addr = Ipv4Addr::new(0, 0, 0, 1);

impl Handshake for Client4 {
    type Output = Outcome;

    fn step(&mut self, input: &[u8], reply: &mut Vec<u8>) -> Result<Step<Outcome>, WireError> {
        reply.append(&mut self.ask);
        whole(input, |reader| {
            let [version, code, ..] = reader.take_array::<8>()?;
            match (version, code) {
                (0, GRANTED) => Ok(Ok(None)),
                (0, code) => Ok(Err(Refused(Reply::Other(code)))),
                _ => Err(WireError::Malformed { what: "SOCKS4 reply" }),
            }
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::proto::socks::server::Server;
    use crate::wire::testing::{any_split, feed};

    fn client(target: &str) -> Client4 {
        Client4::new(&target.parse().unwrap(), Some("u")).unwrap()
    }

    #[test]
    fn a_tunnel_is_granted_or_refused() {
        let granted = any_split(|| client("10.0.0.1:80"), b"\0\x5a\0\0\0\0\0\0first");
        assert_eq!(granted.reply, b"\x04\x01\0\x50\x0a\0\0\x01u\0");
        assert_eq!((granted.result, granted.used), (Some(Ok(Ok(None))), 8));
        let refused = any_split(|| client("10.0.0.1:80"), b"\0\x5b\0\0\0\0\0\0");
        assert_eq!(refused.result, Some(Ok(Err(Refused(Reply::Other(0x5b))))));
        assert!(matches!(any_split(|| client("10.0.0.1:80"), b"HTTP/1.1").result, Some(Err(_))));
    }

    #[test]
    fn our_server_understands_names_and_ipv6_cannot_be_said() {
        let asked = feed(client("a.example:443"), [&[][..]]).reply;
        let request = feed(Server::new(None), [&asked[..]]).result.unwrap().unwrap();
        assert_eq!(request.target.to_string(), "a.example:443");
        assert!(Client4::new(&"[::1]:1".parse().unwrap(), None).is_err());
        assert!(Client4::new(&"10.0.0.1:1".parse().unwrap(), Some("a\0b")).is_err());
    }
}
