//! The conditions of one rule, compiled.

use std::cell::OnceCell;

use crate::addr::{PortSet, Tag};
use crate::geo::{Addresses, Hashed, Lists};
use crate::model::fields::Networks;
use crate::model::routing::When;

use super::attrs::{Attrs, Users};
use super::error::Fault;
use super::facts::Facts;
use super::filed::Filed;

/// One condition. The kinds stand in the order in which a rule tries them; it is Xray's, and can be seen where trying an
/// address means to resolve a name first.
#[derive(Debug)]
pub(super) enum Test {
    /// Holds for no flow.
    Never,
    Inbound(Box<[Tag]>),
    Network(Networks),
    Protocol(Box<[Box<str>]>),
    Port(PortSet),
    SourcePort(PortSet),
    LocalPort(PortSet),
    VlessRoute(PortSet),
    User(Box<Users>),
    Attrs(Attrs),
    Ip(Box<Addresses>),
    /// The target's address, where the rule is filed by it: whoever finds the rule has tried it.
    IpFiled,
    Source(Box<Addresses>),
    Local(Box<Addresses>),
    /// The target's name. Every rule that asks for it is filed by it: whoever finds the rule has tried it.
    DomainFiled,
}

/// Compiles conditions into tests in their order.
pub(super) fn compile(when: &When, filed: Filed, lists: &Lists) -> Result<Vec<Test>, Fault> {
    let mut tests = vec![];
    // Every field is named, so that a new condition cannot be forgotten here.
    let When {
        domain,
        ip,
        source,
        local,
        port,
        source_port,
        local_port,
        vless_route,
        network,
        user,
        inbound,
        protocol,
        attrs,
        process,
        local_os,
        webhook: _,
    } = when;
    if !process.is_empty() {
        return Err(Fault::Process);
    }
    if !local_os.is_empty() && !local_os.iter().any(|os| os.eq_ignore_ascii_case(OS)) {
        return Ok(vec![Test::Never]);
    }
    if !inbound.is_empty() {
        let mut tags = inbound.clone();
        tags.sort_unstable();
        tests.push(Test::Inbound(tags.into()));
    }
    tests.extend(network.map(Test::Network));
    if !protocol.is_empty() {
        tests.push(Test::Protocol(protocol.iter().map(|p| p.as_str().into()).collect()));
    }
    tests.extend(port.clone().map(Test::Port));
    tests.extend(source_port.clone().map(Test::SourcePort));
    tests.extend(local_port.clone().map(Test::LocalPort));
    tests.extend(vless_route.clone().map(Test::VlessRoute));
    if !user.is_empty() {
        tests.push(Test::User(Box::new(Users::compile(user)?)));
    }
    if !attrs.is_empty() {
        tests.push(Test::Attrs(Attrs::compile(attrs)?));
    }
    if filed == Filed::Ip {
        tests.push(Test::IpFiled);
    } else if !ip.0.is_empty() {
        tests.push(Test::Ip(Box::new(Addresses::compile(&ip.0, lists)?)));
    }
    for (list, test) in [(source, Test::Source as fn(_) -> _), (local, Test::Local)] {
        if !list.0.is_empty() {
            tests.push(test(Box::new(Addresses::compile(&list.0, lists)?)));
        }
    }
    if !domain.0.is_empty() {
        tests.push(Test::DomainFiled);
    }
    Ok(tests)
}

/// Go's name of the system this was built for, as `localOS` has it.
const OS: &str = match std::env::consts::OS.as_bytes() {
    b"macos" => "darwin",
    _ => std::env::consts::OS,
};

/// The name of a flow, hashed when the first rule asks for it.
#[derive(Debug)]
pub(super) struct Asked<'f> {
    text: Option<&'f str>,
    hashed: OnceCell<Hashed<'f>>,
}

impl<'f> Asked<'f> {
    pub(super) fn new(text: Option<&'f str>) -> Self {
        Self { text, hashed: OnceCell::new() }
    }

    pub(super) fn hashed(&self) -> Option<&Hashed<'f>> {
        self.text.map(|text| self.hashed.get_or_init(|| Hashed::new(text)))
    }
}

impl Test {
    /// Whether it looks at addresses of the target.
    pub(super) fn looks_at_addresses(&self) -> bool {
        matches!(self, Self::Ip(_) | Self::IpFiled)
    }

    /// Whether the flow meets it; what the rule is filed by counts as met. [`Test::Ip`] looks at whatever addresses are known; whether to resolve first is the
    /// router's business.
    pub(super) fn holds(&self, facts: &Facts<'_>) -> bool {
        match self {
            Self::Never => false,
            Self::Inbound(tags) => tags.binary_search_by(|tag| tag.as_str().cmp(facts.inbound)).is_ok(),
            Self::Network(networks) => networks.contains(facts.network),
            Self::Protocol(prefixes) => {
                facts.protocol.is_some_and(|protocol| prefixes.iter().any(|prefix| protocol.starts_with(&**prefix)))
            }
            Self::Port(ports) => ports.contains(facts.port),
            Self::SourcePort(ports) => ports.contains(facts.source.port()),
            Self::LocalPort(ports) => ports.contains(facts.local.port()),
            Self::VlessRoute(ports) => ports.contains(facts.vless_route),
            Self::User(users) => users.contain(facts.user),
            Self::Attrs(attrs) => attrs.hold(facts),
            Self::Ip(addresses) => facts.ips().iter().any(|ip| addresses.contains(*ip)),
            Self::Source(addresses) => addresses.contains(facts.source.ip()),
            Self::Local(addresses) => addresses.contains(facts.local.ip()),
            Self::IpFiled | Self::DomainFiled => true,
        }
    }
}
