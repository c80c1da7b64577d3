//! What is measured, and how often: a balancer's settings, checked.

use std::ops::RangeInclusive;
use std::time::Duration;

use reqwest::Url;

use crate::addr::{Host, Target};

/// How a balancer's members are probed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    /// Not at all: what nobody tests counts as working.
    Nothing,
    /// Rounds of speed tests through each member.
    Speed(Speed),
    /// Small checks that only ask whether a member is there.
    Checks(Checks),
}

/// Rounds of speed tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Speed {
    /// From the end of a round to the start of the next.
    pub interval: Duration,
    /// Attempts a member and round; 0 counts as 1.
    pub count: u32,
    /// What each attempt does.
    pub order: Order,
    /// What flows do before the first result.
    pub startup: Startup,
}

/// What flows do before the first result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Startup {
    /// They use the first member of the list.
    First,
    /// They wait for the first success, at most this long.
    Wait(Duration),
}

/// One attempt of a speed test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// What is fetched.
    pub url: Url,
    /// The limit of the whole attempt, redirects included.
    pub timeout: Duration,
    /// Where reading stops.
    pub max_bytes: u64,
    /// The statuses that count as success.
    pub accept: RangeInclusive<u16>,
    /// How many redirects are followed; 0 takes a redirect for an answer like any other.
    pub redirects: usize,
}

impl Order {
    /// A small request that only asks for a sign of life: any status will do, the body is not read.
    #[must_use]
    pub fn sign_of_life(url: Url, timeout: Duration) -> Self {
        Self { url, timeout, max_bytes: 0, accept: 100..=999, redirects: 0 }
    }
}

/// Small checks, each member on its own rhythm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checks {
    /// From the end of a member's check to the start of its next.
    pub interval: Duration,
    /// The limit of a whole check, name resolution included.
    pub timeout: Duration,
    /// How many successes in a row bring a dead member back.
    pub returns: u32,
    /// One check a member, in list order.
    pub of: Vec<Check>,
}

/// What is checked of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    /// Whether a small HTTP request through it is answered.
    Http(Order),
    /// Whether its own server takes a plain TCP connection, as the `failover` seed asks.
    Tcp(Target),
}

/// Why a text is no test URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadUrl {
    /// It cannot be read at all.
    #[error("`{0}` is not a URL")]
    Text(String),
    /// Another scheme than http or https.
    #[error("a test URL begins with http:// or https://, not `{0}:`")]
    Scheme(String),
    /// Its host is neither a name nor an address.
    #[error("the test URL names no host that can be dialed")]
    Host,
}

/// Reads a test URL.
///
/// # Errors
/// [`BadUrl`] for anything that cannot be fetched over HTTP.
pub fn read_url(text: &str) -> Result<Url, BadUrl> {
    let url = Url::parse(text.trim()).map_err(|_| BadUrl::Text(text.to_owned()))?;
    target_of(&url)?;
    Ok(url)
}

/// Where a URL's host is dialed.
///
/// # Errors
/// [`BadUrl`] where the scheme is not HTTP or the host cannot be dialed.
pub(super) fn target_of(url: &Url) -> Result<Target, BadUrl> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(BadUrl::Scheme(url.scheme().to_owned()));
    }
    let host = Host::parse(url.host_str().ok_or(BadUrl::Host)?).map_err(|_| BadUrl::Host)?;
    Ok(Target::new(host, url.port_or_known_default().ok_or(BadUrl::Host)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> Result<String, BadUrl> {
        read_url(text).and_then(|url| target_of(&url)).map(|target| target.to_string())
    }

    #[test]
    fn test_urls_are_checked_before_anything_runs() {
        assert_eq!(target("https://www.google.com"), Ok("www.google.com:443".into()));
        assert_eq!(target("http://[::1]:8080/file?x"), Ok("[::1]:8080".into()));
        assert_eq!(target("http://10.0.0.1"), Ok("10.0.0.1:80".into()));
        assert_eq!(target("www.google.com"), Err(BadUrl::Text("www.google.com".into())));
        assert_eq!(target("ftp://a.example/"), Err(BadUrl::Scheme("ftp".into())));
        assert_eq!(target("http://"), Err(BadUrl::Text("http://".into())));
    }
}
