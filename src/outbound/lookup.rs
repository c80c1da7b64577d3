//! Which addresses of a name a direct connection uses: Xray's eleven domain strategies as two choices.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use crate::addr::{DomainName, Host, Target};
use crate::flow::{Blame, DialError, Services, Stage};
use crate::net::Families;

/// How names become addresses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lookup {
    /// Whom to ask.
    pub source: Source,
    /// Which of the answers to use.
    pub families: Families,
}

/// Whom to ask for the addresses of a name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Source {
    /// The operating system, past our own `dns` (AsIs).
    #[default]
    System,
    /// Our `dns`; the operating system if that has no answer (Use…).
    DnsFirst,
    /// Our `dns` alone (Force…).
    Dns,
}

impl Lookup {
    /// The addresses of a target, best first, never empty.
    ///
    /// # Errors
    /// [`DialError`] at the stage of resolving.
    pub async fn addresses(self, cx: &dyn Services, target: &Target) -> Result<Vec<SocketAddr>, DialError> {
        match &target.host {
            Host::Ip(ip) => Ok(vec![SocketAddr::new(*ip, target.port)]),
            Host::Domain(name) => self.resolve(cx, name, target.port).await,
        }
    }

    async fn resolve(self, cx: &dyn Services, name: &DomainName, port: u16) -> Result<Vec<SocketAddr>, DialError> {
        let ours = match self.source {
            Source::System => None,
            Source::DnsFirst | Source::Dns => Some(cx.resolve(name).await),
        };
        let found = match ours {
            Some(Ok(addresses)) => self.families.pick(&addresses, port),
            Some(Err(error)) if self.source == Source::Dns => return Err(error),
            Some(Err(_)) | None => Vec::new(),
        };
        if !found.is_empty() {
            return Ok(found);
        }
        let none = || DialError::target(Stage::Resolve, io::ErrorKind::AddrNotAvailable);
        if self.source == Source::Dns {
            return Err(none());
        }
        let found = system(name).await?;
        // A name without the wanted family is dialed all the same, unless that was forced.
        let families = if self.source == Source::System { self.families } else { Families::Any };
        let found = families.pick(&found, port);
        if found.is_empty() { Err(none()) } else { Ok(found) }
    }

    /// The address that datagrams to a name go to.
    pub(super) async fn first(self, cx: Arc<dyn Services>, name: DomainName) -> Option<IpAddr> {
        self.resolve(&*cx, &name, 0).await.ok().and_then(|found| found.first().map(SocketAddr::ip))
    }
}

/// Asks the operating system. Its answer is about the name, so a failure is laid at the target's door.
async fn system(name: &DomainName) -> Result<Vec<IpAddr>, DialError> {
    let found = tokio::net::lookup_host((name.as_str(), 0)).await;
    let found = found.map_err(|error| DialError::new(Stage::Resolve, Blame::Target, error))?;
    Ok(found.map(|at| at.ip().to_canonical()).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::outbound::testing::House;

    async fn found(source: Source, families: Families, target: &str) -> Result<Vec<String>, Stage> {
        let house = House::knowing("a.example", &["10.0.0.1", "2001:db8::1"]);
        let found = Lookup { source, families }.addresses(&house, &target.parse().unwrap()).await;
        found.map(|all| all.iter().map(ToString::to_string).collect()).map_err(|error| error.stage)
    }

    #[tokio::test]
    async fn our_dns_is_asked_where_the_strategy_says_so() {
        let at = |text: &[&str]| Ok(text.iter().map(|t| (*t).to_owned()).collect());
        assert_eq!(found(Source::Dns, Families::V6First, "a.example:1").await, at(&["[2001:db8::1]:1", "10.0.0.1:1"]));
        assert_eq!(found(Source::DnsFirst, Families::V4Only, "a.example:1").await, at(&["10.0.0.1:1"]));
        assert_eq!(found(Source::Dns, Families::Any, "b.example:1").await, Err(Stage::Resolve));
        assert_eq!(found(Source::System, Families::V4Only, "localhost:1").await, at(&["127.0.0.1:1"]));
        assert_eq!(found(Source::DnsFirst, Families::Any, "10.9.9.9:1").await, at(&["10.9.9.9:1"]));
    }

    #[tokio::test]
    async fn the_system_is_asked_where_ours_knows_nothing() {
        assert!(found(Source::DnsFirst, Families::Any, "localhost:1").await.is_ok());
        assert_eq!(found(Source::Dns, Families::Any, "localhost:1").await, Err(Stage::Resolve));
    }
}
