//! How flows of an outbound share connections.

use crate::model::mux::Udp443;
use crate::model::outbound::{Outbound, OutboundKind};
use crate::model::user::VlessFlow;
use crate::outbound::{Datagrams, Port443, Sharing};

/// Flows of a connection where nothing is said.
const USUAL: usize = 8;

/// What an outbound's mux says; `None` where it is off, or has nothing to carry.
pub(super) fn sharing(written: &Outbound) -> Option<Sharing> {
    let mux = &written.mux;
    // Nobody could take the sessions apart again.
    let nowhere = written.kind.servers().is_empty();
    if !mux.enabled || nowhere {
        return None;
    }
    let streams = match mux.concurrency {
        _ if is_vision(written) => None,
        0 => Some(USUAL),
        number => usize::try_from(number).ok(),
    };
    let datagrams = match mux.xudp_concurrency {
        0 if streams.is_some() => Datagrams::Shared,
        // Streams keep out of the mux by themselves or because Vision wraps them; datagrams do as they are told.
        0 if mux.concurrency >= 0 => Datagrams::Own(USUAL),
        number => usize::try_from(number).ok().filter(|number| *number > 0).map_or(Datagrams::Beside, Datagrams::Own),
    };
    let port_443 = match mux.xudp_proxy_udp443 {
        Udp443::Reject => Port443::Reject,
        Udp443::Allow => Port443::Allow,
        Udp443::Skip => Port443::Skip,
    };
    Some(Sharing { streams, datagrams, port_443 })
}

/// Servers break a connection of Vision's at its first stream inside.
fn is_vision(written: &Outbound) -> bool {
    let OutboundKind::Vless(served) = &written.kind else { return false };
    served.servers.iter().any(|server| matches!(server.account.flow, VlessFlow::Vision | VlessFlow::VisionUdp443))
}
