//! Whom to ask about a name, and in which order (`app/dns/dns.go` of XTLS/Xray-core).

use crate::addr::DomainName;
use crate::geo::{CompileError, Lists, Names};
use crate::model::dns::{Dns, DnsServer};
use crate::model::matcher::DomainRule;

/// The order of servers for every name.
#[derive(Debug, Default)]
pub struct Plan {
    /// All name conditions of all servers; the value is the condition's place in their joined list.
    names: Names,
    /// The server of each condition.
    of: Box<[u16]>,
    servers: Box<[Policy]>,
    no_fallback: bool,
    no_fallback_if_match: bool,
}

#[derive(Debug, Clone, Copy)]
struct Policy {
    skip_fallback: bool,
    final_query: bool,
    /// Servers with the same number and next to each other are asked as one, where all are asked at once.
    group: u16,
}

/// One server in the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Its place among the servers.
    pub server: usize,
    /// Whether it is asked because of the name; otherwise it is a fallback.
    pub matched: bool,
    /// Neighbours with the same number are one group.
    pub group: u16,
}

/// The names that are `localhost`'s before anybody else's: those without a dot, and domains that are never the internet's.
const LOCAL: &[&str] = &["local", "localdomain", "localhost", "lan", "home.arpa", "example", "invalid", "test"];

impl Plan {
    /// Compiles the servers of a section.
    ///
    /// # Errors
    /// [`CompileError`] for an expression that does not compile, and for a geodata list that is not among `lists`.
    pub fn compile(dns: &Dns, lists: &Lists) -> Result<Self, CompileError> {
        let mut rules: Vec<(DomainRule, usize)> = vec![];
        for (at, server) in dns.servers.iter().enumerate() {
            if server.spec.address.eq_ignore_ascii_case("localhost") {
                rules.push((DomainRule::Dotless(String::new()), at));
                rules.extend(LOCAL.iter().map(|name| (DomainRule::Suffix((*name).to_owned()), at)));
            }
            rules.extend(server.spec.domains.0.iter().map(|rule| (rule.clone(), at)));
        }
        let names = Names::compile(rules.iter().map(|(rule, _)| rule).zip(0..), lists)?;
        let of = rules.iter().map(|(_, at)| u16::try_from(*at).unwrap_or(u16::MAX)).collect();
        let mut servers: Vec<Policy> = vec![];
        for (at, server) in dns.servers.iter().enumerate() {
            let before = at.checked_sub(1).and_then(|at| Some((dns.servers.get(at)?, servers.get(at)?)));
            let group = match before {
                Some((twin, policy)) if same_policy(twin, server) => policy.group,
                _ => u16::try_from(at).unwrap_or(u16::MAX),
            };
            let spec = &server.spec;
            servers.push(Policy { skip_fallback: spec.skip_fallback, final_query: spec.final_query, group });
        }
        Ok(Self {
            names,
            of,
            servers: servers.into(),
            no_fallback: dns.disable_fallback,
            no_fallback_if_match: dns.disable_fallback_if_match,
        })
    }

    /// The servers to ask, in order; none only where there is no server at all.
    #[must_use]
    pub fn order(&self, name: &DomainName) -> Vec<Step> {
        let mut met: Vec<u32> = vec![];
        self.names.each(name.as_str(), |value| met.push(value));
        met.sort_unstable();
        let mut order: Vec<Step> = Vec::with_capacity(self.servers.len());
        let step = |server: usize, matched| Some(Step { server, matched, group: self.servers.get(server)?.group });
        for rule in met {
            let server = self.of.get(rule as usize).map_or(usize::MAX, |at| usize::from(*at));
            let Some(step) = step(server, true) else { continue };
            if order.iter().any(|there| there.server == server) {
                continue;
            }
            order.push(step);
            if self.servers[server].final_query {
                return order;
            }
        }
        let fallback = !self.no_fallback && (!self.no_fallback_if_match || order.is_empty());
        for (server, policy) in self.servers.iter().enumerate().filter(|_| fallback) {
            if policy.skip_fallback || order.iter().any(|there| there.server == server) {
                continue;
            }
            order.extend(step(server, false));
            if policy.final_query {
                return order;
            }
        }
        if order.is_empty() {
            order.extend(step(0, false));
        }
        order
    }
}

/// Whether two servers differ in nothing but whom they are.
fn same_policy(a: &DnsServer, b: &DnsServer) -> bool {
    let (a, b) = (&a.spec, &b.spec);
    a.client_ip == b.client_ip
        && a.skip_fallback == b.skip_fallback
        && a.query_strategy == b.query_strategy
        && a.tag == b.tag
        && a.domains == b.domains
        && a.expected_ips == b.expected_ips
        && a.unexpected_ips == b.unexpected_ips
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::model::matcher::{Bare, DomainRules};

    fn server(address: &str, domains: &[&str]) -> DnsServer {
        let mut server = DnsServer::default();
        server.spec.address = address.into();
        let parse = |text: &&str| DomainRule::parse(text, Bare::Keyword).unwrap();
        server.spec.domains = DomainRules::of(domains.iter().map(parse).collect());
        server
    }

    fn order(dns: &Dns, name: &str) -> Vec<usize> {
        let plan = Plan::compile(dns, &Lists::default()).unwrap();
        plan.order(&DomainName::new(name).unwrap()).into_iter().map(|step| step.server).collect()
    }

    #[test]
    fn matching_servers_come_first_and_the_rest_in_their_order() {
        let mut dns = Dns {
            servers: vec![
                server("192.0.2.1", &[]),
                server("192.0.2.2", &["domain:shop.example", "full:shop.example"]),
                server("192.0.2.3", &["keyword:shop"]),
            ],
            ..Dns::default()
        };
        assert_eq!(order(&dns, "www.shop.example"), [1, 2, 0]);
        assert_eq!(order(&dns, "shop.test"), [2, 0, 1]);
        assert_eq!(order(&dns, "other.test"), [0, 1, 2]);
        dns.servers[0].spec.skip_fallback = true;
        assert_eq!(order(&dns, "www.shop.example"), [1, 2]);
        dns.servers[1].spec.final_query = true;
        assert_eq!(order(&dns, "www.shop.example"), [1]);
        assert_eq!(order(&dns, "other.test"), [1], "nobody is asked behind it, as a fallback either");
    }

    #[test]
    fn fallback_can_be_switched_off() {
        let servers = || vec![server("192.0.2.1", &[]), server("192.0.2.2", &["shop"])];
        let never = Dns { servers: servers(), disable_fallback: true, ..Dns::default() };
        assert_eq!(order(&never, "shop.test"), [1]);
        assert_eq!(order(&never, "other.test"), [0], "somebody must be asked: the first");
        let if_match = Dns { servers: servers(), disable_fallback_if_match: true, ..Dns::default() };
        assert_eq!(order(&if_match, "shop.test"), [1]);
        assert_eq!(order(&if_match, "other.test"), [0, 1]);
        assert!(order(&Dns::default(), "other.test").is_empty());
    }

    #[test]
    fn localhost_is_asked_first_for_names_of_the_house() {
        let dns = Dns { servers: vec![server("192.0.2.1", &[]), server("localhost", &[])], ..Dns::default() };
        for (name, want) in [("router", [1, 0]), ("nas.lan", [1, 0]), ("a.home.arpa", [1, 0]), ("example.com", [0, 1])]
        {
            assert_eq!(order(&dns, name), want, "{name}");
        }
    }

    #[test]
    fn neighbours_that_differ_in_their_address_alone_are_a_group() {
        let mut third = server("192.0.2.3", &[]);
        third.spec.skip_fallback = false;
        third.spec.client_ip = Some([192, 0, 2, 9].into());
        let dns = Dns {
            servers: vec![server("192.0.2.1", &[]), server("192.0.2.2", &[]), third, server("192.0.2.4", &[])],
            ..Dns::default()
        };
        let plan = Plan::compile(&dns, &Lists::default()).unwrap();
        let groups: Vec<u16> = plan.order(&DomainName::new("a.test").unwrap()).iter().map(|step| step.group).collect();
        assert_eq!(groups, [0, 0, 2, 3]);
    }
}
