//! The pools of fake addresses that run: whom they give addresses, and what is asked of them. They outlive a reload.

use std::hash::RandomState;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use ipnet::IpNet;

use super::fake::{Faked, Pool};
use super::family::Families;
use crate::addr::DomainName;
use crate::model::dns::Dns;
use crate::model::fake::{FakePools, ServerFakes};

/// Every pool of a config.
#[derive(Debug, Default)]
pub struct Fakes {
    all: Vec<Arc<Shared>>,
    section: Givers,
}

/// Pools that give names their addresses, one of each.
#[derive(Debug, Clone, Default)]
pub struct Givers(Box<[Arc<Shared>]>);

/// One pool, of as many configs in a row as have it.
#[derive(Debug)]
struct Shared {
    net: IpNet,
    most: u32,
    pool: Mutex<Pool>,
}

impl Fakes {
    /// The pools of a section and those of single servers. One that was there before goes on with its names, as clients do.
    #[must_use]
    pub fn new(section: &FakePools, dns: Option<&Dns>, before: Option<&Self>) -> Self {
        let mut fakes = Self::default();
        let servers = dns.into_iter().flat_map(|dns| &dns.servers);
        let own = servers.filter_map(|server| match &server.spec.fake_dns {
            ServerFakes::Own(pools) => Some(pools),
            ServerFakes::Off | ServerFakes::Shared => None,
        });
        for written in std::iter::once(section).chain(own).flat_map(|pools| &pools.0) {
            let Some(net) = written.ip_pool.map(|net| net.trunc()) else { continue };
            let most = written.pool_size;
            if fakes.find(net, most).is_none() {
                fakes
                    .all
                    .push(before.and_then(|before| before.find(net, most)).unwrap_or_else(|| Shared::new(net, most)));
            }
        }
        fakes.section = fakes.those(section);
        fakes
    }

    /// The pools that a server gives addresses of, if it gives any; `is_fake` says that it does nothing else.
    #[must_use]
    pub fn of(&self, written: &ServerFakes, is_fake: bool) -> Option<Givers> {
        match written {
            ServerFakes::Own(pools) => Some(self.those(pools)),
            ServerFakes::Off if !is_fake => None,
            ServerFakes::Off | ServerFakes::Shared => Some(self.section.clone()),
        }
    }

    /// What an address is. Where pools overlap, the first that has a name for it counts.
    #[must_use]
    pub fn look(&self, ip: IpAddr) -> Faked {
        let mut found = Faked::No;
        for shared in self.all.iter().filter(|shared| shared.net.contains(&ip)) {
            found = shared.lock().look(ip);
            if matches!(found, Faked::Name(_)) {
                break;
            }
        }
        found
    }

    /// Whether an address is of a pool.
    #[must_use]
    pub fn holds(&self, ip: IpAddr) -> bool {
        self.all.iter().any(|shared| shared.net.contains(&ip))
    }

    fn those(&self, pools: &FakePools) -> Givers {
        let one = |net: IpNet, most| self.find(net.trunc(), most);
        Givers(pools.0.iter().filter_map(|pool| one(pool.ip_pool?, pool.pool_size)).collect())
    }

    fn find(&self, net: IpNet, most: u32) -> Option<Arc<Shared>> {
        self.all.iter().find(|shared| shared.net == net && shared.most == most).cloned()
    }
}

impl Givers {
    /// Addresses for a name, one of each pool of these families.
    #[must_use]
    pub fn give(&self, name: &DomainName, families: Families) -> Vec<IpAddr> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let now = u64::try_from(now).unwrap_or(u64::MAX);
        let wanted = self.0.iter().filter(|shared| families.hold(shared.net.addr()));
        wanted.map(|shared| shared.lock().give(name, now)).collect()
    }
}

impl Shared {
    fn new(net: IpNet, most: u32) -> Arc<Self> {
        Arc::new(Self { net, most, pool: Mutex::new(Pool::new(net, most, RandomState::new())) })
    }

    fn lock(&self) -> MutexGuard<'_, Pool> {
        // Nothing that is done under it can leave it half done.
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::model::dns::DnsServer;
    use crate::model::fake::FakePool;

    fn pools(nets: &[(&str, u32)]) -> FakePools {
        let one = |(net, pool_size): &(&str, u32)| FakePool { ip_pool: net.parse().ok(), pool_size: *pool_size };
        FakePools(nets.iter().map(one).collect())
    }

    fn name(text: &str) -> DomainName {
        DomainName::new(text).unwrap()
    }

    #[test]
    fn each_family_has_its_pools() {
        let fakes = Fakes::new(&pools(&[("198.18.0.0/15", 9), ("fc00::/18", 9)]), None, None);
        let all = fakes.of(&ServerFakes::Off, true).unwrap();
        let both = all.give(&name("a.example"), Families::BOTH);
        let [v4, v6] = both[..] else { panic!("{both:?}") };
        assert!(v4.is_ipv4() && v6.is_ipv6());
        assert_eq!(all.give(&name("a.example"), Families { v4: false, v6: true }), [v6]);
        for ip in [v4, v6] {
            assert_eq!(fakes.look(ip), Faked::Name(name("a.example")));
        }
        assert!(fakes.of(&ServerFakes::Off, false).is_none(), "a server that gives its own answers");
    }

    #[test]
    fn a_pool_goes_on_with_its_names_while_another_changes() {
        let before = Fakes::new(&pools(&[("198.18.0.0/15", 9), ("fc00::/18", 9)]), None, None);
        let given = before.section.give(&name("a.example"), Families::BOTH);
        let now = Fakes::new(&pools(&[("fc00::/18", 10), ("198.18.3.4/15", 9)]), None, Some(&before));
        assert_eq!(now.look(given[0]), Faked::Name(name("a.example")));
        assert_eq!(now.look(given[1]), Faked::Nameless, "another size is another pool");
        assert_eq!(now.section.give(&name("a.example"), Families { v4: true, v6: false }), given[..1]);
    }

    #[test]
    fn a_server_may_have_pools_of_its_own() {
        let mut server = DnsServer::default();
        server.spec.fake_dns = ServerFakes::Own(pools(&[("10.0.0.0/8", 9)]));
        let dns = Dns { servers: vec![server.clone()], ..Dns::default() };
        let fakes = Fakes::new(&pools(&[("198.18.0.0/15", 9)]), Some(&dns), None);
        let own = fakes.of(&server.spec.fake_dns, false).unwrap();
        let given = own.give(&name("a.example"), Families::BOTH);
        assert!(given.len() == 1 && "10.0.0.0/8".parse::<IpNet>().unwrap().contains(&given[0]), "{given:?}");
        assert_eq!(fakes.look(given[0]), Faked::Name(name("a.example")));
        assert!(fakes.holds(given[0]) && !fakes.holds("192.0.2.1".parse().unwrap()));
    }
}
