//! VLESS clients.

use crate::model::protocol::VlessAccount;
use crate::model::server::Served;
use crate::outbound::{Vless, VlessServer, Way};
use crate::proto::vless::Id;

pub(super) fn vless(way: Way, written: &Served<VlessAccount>) -> Result<Vless, String> {
    let servers = written.servers.iter().map(|server| {
        let account = &server.account;
        if !account.encryption.is_none() {
            return Err("encryption other than none is not built yet".to_owned());
        }
        Ok(VlessServer { address: server.target(), id: Id::new(*account.id.bytes()) })
    });
    Ok(Vless::new(way, servers.collect::<Result<_, _>>()?))
}
