//! Which pools of fake addresses run, and whether anybody will understand what they give.

use super::dns::{DnsServer, QueryStrategy};
use super::draft::Draft;
use super::fake::{FakePool, FakePools, ServerFakes, USUAL};
use super::serverform::ServerForm;
use super::sniffing::Sniffer;
use crate::shape::{Kind, Problem, Severity};

/// The pools of a config that says nothing of them (Xray's): of each family that is asked for.
#[must_use]
pub fn usual(strategy: QueryStrategy) -> FakePools {
    let pool = |net: &str, pool_size| FakePool { ip_pool: net.parse().ok(), pool_size };
    const V4: &str = "198.18.0.0/15";
    const V6: &str = "fc00::/18";
    FakePools(match strategy {
        QueryStrategy::UseIp | QueryStrategy::UseSystem => vec![pool(V4, 32768), pool(V6, 32768)],
        QueryStrategy::UseIpv4 => vec![pool(V4, USUAL)],
        QueryStrategy::UseIpv6 => vec![pool(V6, USUAL)],
    })
}

/// Those that run: those that are written, or the usual ones where a server gives addresses of pools that are not.
pub(super) fn running(draft: &Draft) -> FakePools {
    let shares = |server: &DnsServer| match server.spec.fake_dns {
        ServerFakes::Off => server.spec.form() == Ok(ServerForm::Fake),
        ServerFakes::Shared => true,
        ServerFakes::Own(_) => false,
    };
    match draft.dns.as_ref().filter(|dns| dns.servers.iter().any(shares)) {
        Some(dns) if draft.fake_dns.0.is_empty() => usual(dns.query_strategy),
        _ => draft.fake_dns.clone(),
    }
}

/// Tells of fake addresses that nobody will understand.
pub(super) fn report(draft: &Draft, problems: &mut Vec<Problem>) {
    let mut sniffing = draft.inbounds.iter().map(|inbound| &inbound.sniffing).filter(|sniffing| sniffing.enabled);
    if sniffing.any(|sniffing| sniffing.dest_override.contains(&Sniffer::FakeDns)) {
        return;
    }
    let gives =
        |server: &&DnsServer| server.spec.form() == Ok(ServerForm::Fake) || server.spec.fake_dns != ServerFakes::Off;
    let Some(server) = draft.dns.iter().flat_map(|dns| &dns.servers).find(gives) else { return };
    let message =
        "it gives fake addresses, but no inbound sniffs with `fakedns`: flows that come back with them lead nowhere";
    let help = "enable the sniffing of the inbound that they come by, with \"fakedns\" in `destOverride`";
    problems.push(Problem::at(&server.at, Severity::Warning, Kind::Missing, message.to_owned()).help(help));
}
