//! What both ends read of the model's stream record.

use super::error::TransportError;
use crate::model::carrier::RawKind;
use crate::model::sockopt::SockOpt;
use crate::model::stream::{Carrier, Stream};
use crate::net::Families;

/// Refuses by name every carrier but raw TCP, and everything that is put in front of it.
pub(super) fn only_raw(stream: &Stream) -> Result<(), TransportError> {
    let what = match &stream.carrier {
        Carrier::Raw(raw) if raw.header.r#type == RawKind::Http => "the HTTP header of network tcp",
        Carrier::Raw(raw) if raw.accept_proxy_protocol || stream.sockopt.accept_proxy_protocol => "acceptProxyProtocol",
        Carrier::Raw(_) if !stream.mask.tcp.is_empty() => "finalmask",
        Carrier::Raw(_) => return Ok(()),
        Carrier::Ws(_) => "network ws",
        Carrier::HttpUpgrade(_) => "network httpupgrade",
        Carrier::Grpc(_) => "network grpc",
        Carrier::Xhttp(_) => "network xhttp",
        Carrier::Kcp(_) => "network kcp",
        Carrier::Hysteria(_) => "network hysteria",
        Carrier::Http(_) => "network http",
        Carrier::Quic(_) => "network quic",
        Carrier::DomainSocket(_) => "network domainsocket",
    };
    Err(TransportError::NotBuilt { what })
}

/// Which addresses of a server's name are dialed.
pub(super) fn families(sockopt: &SockOpt) -> Families {
    match Families::from(sockopt.domain_strategy) {
        Families::Any if sockopt.happy_eyeballs.as_ref().is_some_and(|eyes| eyes.prioritize_ipv6) => Families::V6First,
        families => families,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::carrier::WebSocket;
    use crate::model::sockopt::HappyEyeballs;

    #[test]
    fn other_carriers_are_refused_by_name() {
        assert!(only_raw(&Stream::default()).is_ok());
        let ws = Stream { carrier: Carrier::Ws(WebSocket::default()), ..Stream::default() };
        let told = only_raw(&ws).err().map(|error| error.to_string());
        assert_eq!(told.as_deref(), Some("network ws is not built yet"));
    }

    #[test]
    fn happy_eyeballs_may_prefer_ipv6() {
        let eyes = HappyEyeballs { prioritize_ipv6: true, ..HappyEyeballs::default() };
        assert_eq!(families(&SockOpt { happy_eyeballs: Some(eyes), ..SockOpt::default() }), Families::V6First);
        assert_eq!(families(&SockOpt::default()), Families::Any);
    }
}
