//! What is read from a flow's first bytes, and what that changes.

use super::fields::ListOf;
use super::matcher::{DomainRules, IpRules};

crate::words! {
    /// Something a target's name can be learnt from.
    pub enum Sniffer(fold) {
        /// The Host header of a plain request.
        Http = "http";
        /// The server name of a TLS hello.
        Tls = "tls" => "tls" | "https" | "ssl";
        /// The server name of a QUIC hello.
        Quic = "quic";
        /// The name that a fake address stands for.
        FakeDns = "fakedns" => "fakedns" | "fakedns+others";
    }
}

crate::record! {
    /// What is read from a flow's first bytes, and what that changes.
    pub struct Sniffing {
        /// Whether first bytes are looked at.
        enabled: bool => "enabled";
        /// Which findings replace the target.
        dest_override: ListOf<Sniffer> => "destOverride";
        /// Look up fake addresses only, and wait for no bytes.
        metadata_only: bool => "metadataOnly";
        /// The name found counts for routing only; the target stays as it is.
        route_only: bool => "routeOnly";
        /// Names that never replace a target, as domain rules.
        domains_excluded: DomainRules => "domainsExcluded";
        /// Targets that are never replaced, as IP rules.
        ips_excluded: IpRules => "ipsExcluded";
    }
}
