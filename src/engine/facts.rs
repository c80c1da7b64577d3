//! What balancers may hash of a flow.

use std::net::IpAddr;

use super::choose::name_of;
use crate::balance::{Balancer, Facts, Key};
use crate::flow::Flow;

/// The key by which a balancer tells this flow from others; empty where its strategy needs none.
pub(super) fn key(balancer: &Balancer, flow: &Flow) -> Key {
    Key::of(balancer.key_parts(), &Hashed(flow))
}

struct Hashed<'a>(&'a Flow);

impl Facts for Hashed<'_> {
    fn source(&self) -> Option<IpAddr> {
        // A client on a Unix socket has no address.
        Some(self.0.source.ip()).filter(|ip| !ip.is_unspecified())
    }

    fn user(&self) -> Option<&str> {
        self.0.user.as_deref()
    }

    fn inbound(&self) -> &str {
        self.0.inbound.as_str()
    }

    fn name(&self) -> Option<&str> {
        name_of(self.0).map(|name| name.as_str())
    }

    fn address(&self) -> Option<IpAddr> {
        self.0.destination().host.ip()
    }

    fn port(&self) -> Option<u16> {
        Some(self.0.destination().port)
    }

    fn attribute(&self, name: &str) -> Option<&str> {
        self.0.attributes.as_ref().and_then(|attributes| attributes.get(name))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::addr::Network;
    use crate::balance::KeyPart;
    use crate::flow::{Attributes, Sniffed};

    #[test]
    fn a_key_is_made_of_what_the_flow_is() {
        let (client, local) = (([10, 0, 0, 5], 4000).into(), ([127, 0, 0, 1], 1080).into());
        let mut flow = Flow::new("in".into(), Network::Tcp, client, local, "192.0.2.7:80".parse().unwrap());
        flow.user = Some("a@b".into());
        let key = |flow: &Flow, part: &str| Key::of(&[part.parse::<KeyPart>().unwrap()], &Hashed(flow));
        let bytes = |text: &str| Key::EMPTY.with(text.as_bytes());
        assert_eq!(key(&flow, "source_ip"), bytes("10.0.0.5"));
        assert_eq!(key(&flow, "user"), bytes("a@b"));
        assert_eq!(key(&flow, "dest_host"), bytes("192.0.2.7"));
        assert_eq!(key(&flow, "$http_x_user_id"), Key::EMPTY, "not HTTP");
        // What the payload gave away counts, as it does for rules.
        let name = crate::addr::DomainName::new("www.shop.example").ok();
        flow.sniffed = Some(Sniffed { protocol: "http", domain: name });
        let mut attributes = Attributes::default();
        attributes.push("X-User-Id", "u9");
        flow.attributes = Some(Box::new(attributes));
        assert_eq!(key(&flow, "dest_site"), bytes("shop.example"));
        assert_eq!(key(&flow, "dest_ip"), bytes("192.0.2.7"));
        assert_eq!(key(&flow, "$http_x_user_id"), bytes("u9"));
        flow.source = ([0; 4], 0).into();
        assert_eq!(key(&flow, "source_ip"), Key::EMPTY);
    }
}
