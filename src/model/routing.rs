//! Rules: conditions, and where a flow goes that meets them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::addr::{PortSet, Tag};
use crate::shape::Spot;
use crate::{record, words};

use super::fields::Networks;
use super::matcher::{DomainRules, IpRules};
use super::name::Name;

words! {
    /// When the name of a target is resolved for address conditions.
    pub enum RouteStrategy(fold, else AsIs) {
        /// Never: address conditions see only targets that are addresses.
        AsIs = "as_is" => "AsIs";
        /// When no rule matched by name; then all rules are tried once more.
        IpIfNonMatch = "ip_if_non_match" => "IPIfNonMatch" | "ip_if_non_match" | "ip-if-non-match";
        /// When the first address condition is met.
        IpOnDemand = "ip_on_demand" => "IPOnDemand" | "ip_on_demand" | "ip-on-demand";
        /// Before the first rule.
        AlwaysIp = "always_ip" => "AlwaysIP" | "always_ip" | "always-ip";
    }
}

words! {
    /// What a rule or balancer that names nothing does.
    pub enum UnknownTags(exact) {
        /// The configuration does not load.
        Refuse = "error";
        /// Flows that meet it are closed (Xray's way).
        Close = "close";
    }
}

/// Where a rule sends flows. Outbounds and balancers are two name spaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum To {
    /// An outbound.
    Outbound(Name),
    /// A balancer.
    Balancer(Name),
}

/// All rules.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Routing {
    /// When names are resolved.
    pub strategy: RouteStrategy,
    /// Where flows go that meet no rule; the first outbound if absent.
    pub default: Option<To>,
    /// Whether a rule may name what does not exist.
    pub unknown_tags: UnknownTags,
    /// The rules; the first that is met counts.
    pub rules: Vec<Rule>,
}

/// One rule: all conditions that are present must hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// Where it is written.
    pub at: Spot,
    /// Its own name, for logs.
    pub name: String,
    /// Where matching flows go.
    pub to: To,
    /// The conditions.
    pub when: Arc<When>,
}

/// Conditions; an empty list or absent value asks nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct When {
    /// Name of the target.
    pub domain: DomainRules,
    /// Address of the target.
    pub ip: IpRules,
    /// Address of the client.
    pub source: IpRules,
    /// Address on which the connection was accepted.
    pub local: IpRules,
    /// Port of the target. A present set that holds nothing is never met.
    pub port: Option<PortSet>,
    /// Port of the client.
    pub source_port: Option<PortSet>,
    /// Port on which the connection was accepted.
    pub local_port: Option<PortSet>,
    /// Number that a VLESS client writes into bytes 7 and 8 of its id.
    pub vless_route: Option<PortSet>,
    /// TCP, UDP, Unix.
    pub network: Option<Networks>,
    /// Emails of users, exact, or `regexp:` and an expression.
    pub user: Vec<String>,
    /// Tags of inbounds, exact.
    pub inbound: Vec<Tag>,
    /// Sniffed protocol, by prefix.
    pub protocol: Vec<String>,
    /// HTTP attributes: every name must be there and its expression be found.
    pub attrs: BTreeMap<String, String>,
    /// Programs that own the client's socket.
    pub process: Vec<String>,
    /// Systems on which the rule counts.
    pub local_os: Vec<String>,
    /// Told of every flow that takes the rule; not a condition.
    pub webhook: Option<Webhook>,
}

impl When {
    /// Whether nothing is asked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let nothing = Self { webhook: self.webhook.clone(), ..Self::default() };
        *self == nothing
    }
}

record! {
    /// A web address that is told of every flow that takes a rule.
    pub struct Webhook {
        /// `http(s)://…`, or a Unix socket `/sock:/path`, `@name:/path`.
        url: String => "url";
        /// Seconds during which the same user is told of once; 0 tells of every flow.
        deduplication: u32 => "deduplication";
        /// Headers of the request.
        headers: BTreeMap<String, String> => "headers";
    }
}
