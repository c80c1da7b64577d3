//! What both ends read of the model's stream record.

use super::error::TransportError;
use crate::model::stream::{Carrier, Stream};
use crate::tls::Inner;

/// Refuses by name what nobody can do yet.
pub(super) fn built(stream: &Stream) -> Result<(), TransportError> {
    let what = match &stream.carrier {
        _ if !stream.mask.tcp.is_empty() => "finalmask",
        Carrier::Raw(_)
        | Carrier::Ws(_)
        | Carrier::HttpUpgrade(_)
        | Carrier::Grpc(_)
        | Carrier::Xhttp(_)
        | Carrier::Hysteria(_)
        | Carrier::Kcp(_) => {
            return Ok(());
        }
        Carrier::Http(_) => "network http",
        Carrier::Quic(_) => "network quic",
        Carrier::DomainSocket(_) => "network domainsocket",
    };
    Err(TransportError::NotBuilt { what })
}

/// Whether connections begin with a PROXY header.
pub(super) fn proxied(stream: &Stream) -> bool {
    let own = match &stream.carrier {
        Carrier::Raw(raw) => raw.accept_proxy_protocol,
        Carrier::Ws(ws) => ws.accept_proxy_protocol,
        Carrier::HttpUpgrade(set) => set.accept_proxy_protocol,
        _ => false,
    };
    own || stream.sockopt.accept_proxy_protocol
}

/// What is spoken inside the security: of the carrier, or of what it carries.
pub(super) fn inner(stream: &Stream, inner: Inner) -> Inner {
    match &stream.carrier {
        Carrier::Ws(_) | Carrier::HttpUpgrade(_) => Inner::Http1,
        Carrier::Grpc(_) => Inner::Http2,
        Carrier::Hysteria(_) => Inner::Http3,
        _ => inner,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::carrier::{Kcp, OldHttp, WebSocket};

    #[test]
    fn other_carriers_are_refused_by_name() {
        let told = |carrier| {
            let stream = Stream { carrier, ..Stream::default() };
            built(&stream).err().map(|error| error.to_string())
        };
        assert_eq!(told(Carrier::default()), None);
        assert_eq!(told(Carrier::Ws(WebSocket::default())), None);
        assert_eq!(told(Carrier::Kcp(Kcp::default())), None);
        assert_eq!(told(Carrier::Http(OldHttp::default())).as_deref(), Some("network http is not built yet"));
    }
}
