//! What a frontend produces: everything typed, names still unlinked, each with its place.

use super::balancer::Balancer;
use super::dns::Dns;
use super::fake::FakePools;
use super::httpservice::HttpService;
use super::inbound::Inbound;
use super::log::Log;
use super::outbound::Outbound;
use super::policy::Policy;
use super::routing::Routing;
use super::services::Services;

/// A configuration as written, whichever format it was written in. Two that mean the same are equal.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Draft {
    /// Logs.
    pub log: Log,
    /// Where flows come in.
    pub inbounds: Vec<Inbound>,
    /// Where flows go out; the first is the default.
    pub outbounds: Vec<Outbound>,
    /// Groups of outbounds.
    pub balancers: Vec<Balancer>,
    /// Which flow goes where.
    pub routing: Routing,
    /// Name resolution; absent: the operating system.
    pub dns: Option<Dns>,
    /// Pools of fake addresses.
    pub fake_dns: FakePools,
    /// Times by user level.
    pub policy: Policy,
    /// Everything beside the traffic.
    pub services: Services,
    /// Reverse proxies for HTTP.
    pub http_services: Vec<HttpService>,
}
