//! Policy levels that outbounds name. Flows keep the times of the level with which they came in, where Xray lets the shorter
//! ones of both count.

use std::collections::BTreeSet;

use super::stream::{Part, skip};
use crate::model::draft::Draft;
use crate::model::inbound::InboundKind;
use crate::model::outbound::OutboundKind;
use crate::model::policy::Policy;
use crate::model::server::{Account, Served};
use crate::shape::Seconds;

/// Says of a level that its times do not count, unless flows have the same ones anyway, as where clients write one level
/// everywhere.
pub(super) fn parts(draft: &Draft, outbound: &OutboundKind) -> Vec<Part> {
    let came: BTreeSet<u32> = draft.inbounds.iter().flat_map(|inbound| of_inbound(&inbound.kind)).collect();
    let named: BTreeSet<u32> = of_outbound(outbound).into_iter().filter(|level| *level != 0).collect();
    let policy = &draft.policy;
    let others = |level: u32| came.iter().any(|came| times(policy, *came) != times(policy, level));
    let idle = named.into_iter().filter(|level| others(*level));
    idle.map(|level| skip(format!("level {level} (flows have the times of the level they came in with)"))).collect()
}

/// What an outbound takes from its level.
fn times(policy: &Policy, level: u32) -> [Seconds; 3] {
    let level = policy.level(level);
    [level.conn_idle, level.uplink_only, level.downlink_only]
}

fn of_inbound(kind: &InboundKind) -> Vec<u32> {
    match kind {
        InboundKind::Socks(socks) => vec![socks.user_level],
        InboundKind::Http(http) => vec![http.user_level],
        InboundKind::Dokodemo(door) => vec![door.user_level],
        InboundKind::Shadowsocks(ss) if ss.users().is_empty() => vec![ss.level.into()],
        InboundKind::Shadowsocks(ss) => ss.users().iter().map(|user| user.level.into()).collect(),
        InboundKind::Trojan(trojan) => trojan.clients.iter().map(|user| user.level.into()).collect(),
        InboundKind::Vless(vless) => vless.clients.iter().map(|user| user.level).collect(),
        InboundKind::Vmess(vmess) => vmess.clients.iter().map(|user| user.level).collect(),
        _ => vec![],
    }
}

fn of_outbound(kind: &OutboundKind) -> Vec<u32> {
    fn each<A: Account, C>(served: &Served<A, C>, level: fn(&A) -> u32) -> Vec<u32> {
        served.servers.iter().map(|server| level(&server.account)).collect()
    }
    match kind {
        OutboundKind::Freedom(freedom) => vec![freedom.user_level],
        OutboundKind::Http(http) => each(http, |account| account.level),
        OutboundKind::Shadowsocks(ss) => each(ss, |account| account.level.into()),
        OutboundKind::Socks(socks) => each(socks, |account| account.level),
        OutboundKind::Trojan(trojan) => each(trojan, |account| account.level.into()),
        OutboundKind::Vless(vless) => each(vless, |account| account.level),
        OutboundKind::Vmess(vmess) => each(vmess, |account| account.level),
        _ => vec![],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::inbound::{Inbound, Listen};
    use crate::model::policy::LevelPolicy;
    use crate::model::protocol::{Freedom, SocksIn};
    use crate::shape::Spot;

    fn seconds(seconds: u64) -> Seconds {
        Seconds(std::time::Duration::from_secs(seconds))
    }

    /// What is said of a level of freedom, where flows come in with another.
    fn said(came: u32, named: u32) -> Vec<String> {
        let inbound = Inbound {
            at: Spot::default(),
            tag: "in".into(),
            listen: Listen::Any,
            ports: None,
            kind: InboundKind::Socks(SocksIn { user_level: came, ..SocksIn::default() }),
            stream: Default::default(),
            sniffing: Default::default(),
        };
        let mut draft = Draft { inbounds: vec![inbound], ..Draft::default() };
        let short = LevelPolicy { conn_idle: seconds(10), ..LevelPolicy::default() };
        let quick = LevelPolicy { handshake: seconds(4), ..LevelPolicy::default() };
        draft.policy.levels = [("1".to_owned(), short), ("8".to_owned(), quick)].into();
        let freedom = OutboundKind::Freedom(Freedom { user_level: named, ..Freedom::default() });
        parts(&draft, &freedom).into_iter().map(|(_, part)| part).collect()
    }

    #[test]
    fn a_level_with_other_times_than_flows_have_is_told() {
        assert_eq!(said(0, 1), ["level 1 (flows have the times of the level they came in with)"]);
        assert_eq!(said(1, 8).len(), 1);
        // The same times, or no level written.
        assert!(said(1, 1).is_empty() && said(0, 8).is_empty() && said(8, 3).is_empty() && said(1, 0).is_empty());
    }
}
