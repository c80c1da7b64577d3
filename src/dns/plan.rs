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
    /// Who of them is the operating system: the first conditions of those are [`LOCAL`].
    local: Box<[usize]>,
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

/// Why a server is asked where it is, or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The name meets this condition of its own.
    Rule(usize),
    /// The name is one of those that the operating system knows best.
    Local,
    /// It is asked after those that the name asks for.
    Fallback,
    /// Nobody else is left.
    Last,
    /// It alone was to be asked.
    Chosen,
    /// Not asked: it is for its own names only (`skipFallback`).
    Skipped,
    /// Not asked: only those are that the name asks for (`disableFallback`).
    NoFallback,
    /// Not asked: the name asks for others (`disableFallbackIfMatch`).
    NoFallbackIfMatch,
    /// Not asked: nobody is behind that one (`finalQuery`).
    BehindFinal(usize),
    /// Not asked: what it gives is for clients only.
    Fake,
    /// Not asked: another alone was to be.
    Others,
}

impl Why {
    /// Whether the server is asked.
    #[must_use]
    pub fn is_asked(self) -> bool {
        matches!(self, Self::Rule(_) | Self::Local | Self::Fallback | Self::Last | Self::Chosen)
    }
}

/// The names that are `localhost`'s before anybody else's: those without a dot, and domains that are never the internet's.
const LOCAL: &[&str] = &["local", "localdomain", "localhost", "lan", "home.arpa", "example", "invalid", "test"];

impl Plan {
    /// Compiles the servers of a section.
    ///
    /// # Errors
    /// [`CompileError`] for an expression that does not compile, and for a geodata list that is not among `lists`.
    pub fn compile(dns: &Dns, lists: &Lists) -> Result<Self, CompileError> {
        let (mut rules, mut local): (Vec<(DomainRule, usize)>, Vec<usize>) = (vec![], vec![]);
        for (at, server) in dns.servers.iter().enumerate() {
            if server.spec.address.eq_ignore_ascii_case("localhost") {
                local.push(at);
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
            local: local.into(),
            no_fallback: dns.disable_fallback,
            no_fallback_if_match: dns.disable_fallback_if_match,
        })
    }

    /// The servers to ask, in order; none only where there is no server at all. [`Self::explain`] says why.
    #[must_use]
    pub fn order(&self, name: &DomainName) -> Vec<Step> {
        let met = self.met(name);
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

    /// The places of the conditions that a name meets, in their order.
    fn met(&self, name: &DomainName) -> Vec<u32> {
        let mut met: Vec<u32> = vec![];
        self.names.each(name.as_str(), |value| met.push(value));
        met.sort_unstable();
        met
    }

    /// Why each server stands where it does, those that are asked first and in their order. For people: it is slower.
    #[must_use]
    pub fn explain(&self, name: &DomainName) -> Vec<(usize, Why)> {
        let order = self.order(name);
        let mut first: Vec<Option<usize>> = vec![None; self.servers.len()];
        for value in self.met(name) {
            let value = value as usize;
            if let Some(best) = self.of.get(value).and_then(|at| first.get_mut(usize::from(*at))) {
                best.get_or_insert(value);
            }
        }
        let own = |server: usize, value: usize| {
            let begin = self.of.partition_point(|at| usize::from(*at) < server);
            let own = if self.local.contains(&server) { LOCAL.len() + 1 } else { 0 };
            (value - begin).checked_sub(own).map_or(Why::Local, Why::Rule)
        };
        let why = |step: &Step| match first.get(step.server).copied().flatten() {
            Some(value) if step.matched => own(step.server, value),
            _ if self.servers[step.server].skip_fallback || self.no_fallback => Why::Last,
            _ => Why::Fallback,
        };
        let mut all: Vec<(usize, Why)> = order.iter().map(|step| (step.server, why(step))).collect();
        let last = order.last().map(|step| step.server).filter(|at| self.servers[*at].final_query);
        let matched = order.iter().any(|step| step.matched);
        for (server, policy) in self.servers.iter().enumerate() {
            if order.iter().any(|step| step.server == server) {
                continue;
            }
            let why = match last {
                _ if first[server].is_none() && policy.skip_fallback => Why::Skipped,
                _ if first[server].is_none() && self.no_fallback => Why::NoFallback,
                _ if first[server].is_none() && self.no_fallback_if_match && matched => Why::NoFallbackIfMatch,
                Some(last) => Why::BehindFinal(last),
                None => Why::Skipped,
            };
            all.push((server, why));
        }
        all
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

    #[test]
    fn why_a_server_stands_where_it_does_is_told() {
        let mut dns = Dns {
            servers: vec![
                server("192.0.2.1", &[]),
                server("localhost", &["domain:corp"]),
                server("192.0.2.3", &["keyword:ad", "domain:shop.example"]),
                server("192.0.2.4", &["domain:shop.example"]),
            ],
            ..Dns::default()
        };
        dns.servers[3].spec.skip_fallback = true;
        let explain = |dns: &Dns, name: &str| {
            let plan = Plan::compile(dns, &Lists::default()).unwrap();
            let told = plan.explain(&DomainName::new(name).unwrap());
            let asked: Vec<usize> = told.iter().filter(|(_, why)| why.is_asked()).map(|(at, _)| *at).collect();
            assert_eq!(asked, order(dns, name), "{name}");
            told
        };
        use Why::{BehindFinal, Fallback, Last, Local, NoFallback, NoFallbackIfMatch, Rule, Skipped};
        assert_eq!(
            explain(&dns, "www.shop.example"),
            [(1, Local), (2, Rule(0)), (3, Rule(0)), (0, Fallback)],
            "`example` is never the internet's"
        );
        assert_eq!(explain(&dns, "a.corp"), [(1, Rule(0)), (0, Fallback), (2, Fallback), (3, Skipped)]);
        dns.servers[1].spec.final_query = true;
        assert_eq!(
            explain(&dns, "shop.example"),
            [(1, Local), (0, BehindFinal(1)), (2, BehindFinal(1)), (3, BehindFinal(1))]
        );
        assert_eq!(explain(&dns, "a.org"), [(0, Fallback), (1, Fallback), (2, BehindFinal(1)), (3, Skipped)]);
        dns.disable_fallback_if_match = true;
        assert_eq!(
            explain(&dns, "ads.org"),
            [(2, Rule(1)), (0, NoFallbackIfMatch), (1, NoFallbackIfMatch), (3, Skipped)]
        );
        dns.disable_fallback = true;
        assert_eq!(explain(&dns, "a.org"), [(0, Last), (1, NoFallback), (2, NoFallback), (3, Skipped)]);
    }
}
