//! VLESS clients.

use crate::engine::encryption;
use crate::model::protocol::VlessAccount;
use crate::model::server::Served;
use crate::model::user::VlessFlow;
use crate::outbound::{Vision, Vless, VlessServer, Way};
use crate::proto::vision::SEED;
use crate::proto::vless::Id;

pub(super) fn vless(way: Way, written: &Served<VlessAccount>) -> Result<Vless, String> {
    let servers = written.servers.iter().map(|server| {
        let account = &server.account;
        let encryption = match account.encryption.parts() {
            Some(parts) => Some(encryption::client(&parts)?),
            None => None,
        };
        let vision = is_vision(account.flow).then(|| Vision {
            seed: account.testseed.first_chunk().copied().unwrap_or(SEED),
            udp443: account.flow == VlessFlow::VisionUdp443,
        });
        Ok(VlessServer { address: server.target(), id: Id::new(*account.id.bytes()), vision, encryption })
    });
    Ok(Vless::new(way, servers.collect::<Result<_, String>>()?))
}

/// Whether the outbound asks for Vision, which TLS right below it must know.
pub(super) fn wants_vision(written: &Served<VlessAccount>) -> bool {
    written.servers.iter().any(|server| is_vision(server.account.flow) && server.account.encryption.is_none())
}

fn is_vision(flow: VlessFlow) -> bool {
    matches!(flow, VlessFlow::Vision | VlessFlow::VisionUdp443)
}
