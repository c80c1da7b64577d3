//! Trojan clients.

use crate::model::protocol::TrojanAccount;
use crate::model::server::Served;
use crate::outbound::{Trojan, TrojanServer, Way};
use crate::proto::trojan::Token;

pub(super) fn trojan(way: Way, written: &Served<TrojanAccount>) -> Trojan {
    let servers = written.servers.iter().map(|server| {
        let token = Token::new(server.account.password.expose());
        TrojanServer { address: server.target(), token }
    });
    Trojan::new(way, servers.collect())
}
