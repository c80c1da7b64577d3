//! A door that leads to a fixed target, or to wherever a redirected connection was headed.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::task::{Context, Poll, ready};

use bytes::BytesMut;

use super::visit::{Common, Fault, Visitor};
use crate::addr::{Host, Network, Target};
use crate::flow::{Flow, Packets};
use crate::net::Session;

/// The door.
#[derive(Debug, Clone, Default)]
pub struct Dokodemo {
    /// Fixed host; without one the loopback address of the client's family.
    pub host: Option<Host>,
    /// Fixed port; without one the port the client came to.
    pub port: Option<u16>,
    /// Other targets by local port; what an entry leaves out stays.
    pub by_port: HashMap<u16, (Option<Host>, Option<u16>)>,
    /// Whether a redirected connection goes to where it was headed.
    pub follow: bool,
}

impl Dokodemo {
    /// Where this visitor is led.
    ///
    /// # Errors
    /// [`Fault::NotServed`] if it was to be followed, was not redirected, and no host is fixed: leading it to this machine
    /// would often mean leading it right back here.
    pub fn target(&self, visitor: &Visitor) -> Result<Target, Fault> {
        if self.follow {
            return match (visitor.original, &self.host) {
                (Some(original), _) => Ok(original.into()),
                (None, Some(host)) => Ok(Target::new(host.clone(), self.port.unwrap_or_else(|| visitor.local.port()))),
                (None, None) => Err(Fault::NotServed("a connection that was not redirected")),
            };
        }
        let loopback = || -> Host {
            // A UDP socket for both families is bound to `[::]` and says nothing of the client's.
            let at = if visitor.local.ip().is_unspecified() { visitor.source } else { visitor.local };
            let ip = if at.is_ipv4() { IpAddr::from(Ipv4Addr::LOCALHOST) } else { Ipv6Addr::LOCALHOST.into() };
            ip.into()
        };
        let (host, port) = self.by_port.get(&visitor.local.port()).cloned().unwrap_or_default();
        let host = host.or_else(|| self.host.clone()).unwrap_or_else(loopback);
        Ok(Target::new(host, port.or(self.port).unwrap_or_else(|| visitor.local.port())))
    }

    /// The association of one client of a shared socket.
    ///
    /// # Errors
    /// As [`Dokodemo::target`].
    pub(super) fn packets(&self, common: &Common, visitor: &Visitor, session: Session) -> Result<(Flow, Door), Fault> {
        let target = self.target(visitor)?;
        Ok((visitor.flow(common, Network::Udp, target.clone(), None), Door { session, target }))
    }
}

/// A client's datagrams, all for one target. Whoever answers, the client hears it from the door.
#[derive(Debug)]
pub(super) struct Door {
    session: Session,
    target: Target,
}

impl Packets for Door {
    fn poll_recv(&mut self, cx: &mut Context<'_>, buf: &mut BytesMut) -> Poll<io::Result<Target>> {
        ready!(self.session.poll_recv(cx, buf))?;
        Poll::Ready(Ok(self.target.clone()))
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, payload: &[u8], _: &Target) -> Poll<io::Result<()>> {
        self.session.poll_send(cx, payload)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn visitor(local: &str, original: Option<&str>) -> Visitor {
        Visitor {
            source: "10.0.0.9:1".parse().unwrap(),
            local: local.parse().unwrap(),
            original: original.map(|at| at.parse().unwrap()),
        }
    }

    fn led(door: &Dokodemo, local: &str, original: Option<&str>) -> String {
        door.target(&visitor(local, original)).map_or_else(|fault| fault.to_string(), |target| target.to_string())
    }

    #[test]
    fn a_fixed_target_may_leave_out_parts() {
        let mut door = Dokodemo::default();
        assert_eq!(led(&door, "10.0.0.1:53", None), "127.0.0.1:53");
        assert_eq!(led(&door, "[2001:db8::1]:53", None), "[::1]:53");
        door.host = Host::parse("a.example").ok();
        assert_eq!(led(&door, "10.0.0.1:53", None), "a.example:53");
        door.port = Some(80);
        assert_eq!(led(&door, "10.0.0.1:53", Some("10.9.9.9:9")), "a.example:80");
    }

    #[test]
    fn a_port_of_its_own_overrides_either_part() {
        let mut door = Dokodemo { host: Host::parse("a.example").ok(), port: Some(80), ..Dokodemo::default() };
        door.by_port.insert(53, (None, Some(5353)));
        door.by_port.insert(54, (Host::parse("b.example").ok(), None));
        assert_eq!(led(&door, "10.0.0.1:53", None), "a.example:5353");
        assert_eq!(led(&door, "10.0.0.1:54", None), "b.example:80");
        assert_eq!(led(&door, "10.0.0.1:55", None), "a.example:80");
    }

    #[test]
    fn a_redirected_connection_goes_where_it_was_headed() {
        let mut door = Dokodemo { follow: true, ..Dokodemo::default() };
        assert_eq!(led(&door, "10.0.0.1:12345", Some("192.0.2.1:443")), "192.0.2.1:443");
        assert_eq!(led(&door, "10.0.0.1:12345", None), "a connection that was not redirected");
        door.host = Host::parse("a.example").ok();
        assert_eq!(led(&door, "10.0.0.1:12345", None), "a.example:12345");
    }

    /// A socket for both families is bound to `[::]`, whoever comes.
    #[test]
    fn a_wildcard_says_nothing_of_the_family() {
        assert_eq!(led(&Dokodemo::default(), "[::]:53", None), "127.0.0.1:53");
    }
}
