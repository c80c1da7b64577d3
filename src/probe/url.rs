//! Addresses of tests and probes, checked before anything runs.

use reqwest::{Method, Url};

use super::what::{Ping, Query};
use crate::addr::{DomainName, Host, Target};

/// Why a text is no address that can be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadUrl {
    /// It cannot be read at all.
    #[error("`{0}` is not a URL")]
    Text(String),
    /// Another scheme than http or https.
    #[error("a test URL begins with http:// or https://, not `{0}:`")]
    Scheme(String),
    /// A file from here could be anybody's.
    #[error("{0} is not asked without https")]
    Insecure(String),
    /// Its host is neither a name nor an address.
    #[error("the test URL names no host that can be dialed")]
    Host,
    /// A question to a name server that does not say what is asked.
    #[error("`{0}` is no question to a name server: write dns://SERVER/NAME")]
    Question(String),
    /// No method of HTTP.
    #[error("`{0}` is not a method of HTTP")]
    Method(String),
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

/// An address of light probes: a page, or a question to a name server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Address {
    /// A page.
    Page(Ping),
    /// A question.
    Question(Query),
}

/// Reads an address of light probes.
///
/// # Errors
/// [`BadUrl`] where it is neither `http(s)://…` nor `dns://SERVER[:PORT]/NAME` (RFC 4501).
pub(super) fn read_address(text: &str) -> Result<Address, BadUrl> {
    let url = Url::parse(text.trim()).map_err(|_| BadUrl::Text(text.to_owned()))?;
    if url.scheme() != "dns" {
        return Ok(Address::Page(Ping::new(read_url(text)?, Method::HEAD)));
    }
    let bad = || BadUrl::Question(text.to_owned());
    let server = Host::parse(url.host_str().ok_or_else(bad)?).map_err(|_| bad())?;
    let name = DomainName::new(url.path().trim_matches('/')).map_err(|_| bad())?;
    Ok(Address::Question(Query { server: Target::new(server, url.port().unwrap_or(53)), name }))
}

/// The origin of a test's URL: scheme, host and port.
pub(super) fn origin_of(url: &Url) -> Url {
    let mut origin = url.clone();
    origin.set_path("/");
    origin.set_query(None);
    origin.set_fragment(None);
    origin
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

    #[test]
    fn light_probes_ask_pages_or_name_servers() {
        let asked = |text: &str| match read_address(text) {
            Ok(Address::Page(ping)) => format!("{} {}", ping.method, ping.url),
            Ok(Address::Question(query)) => format!("{} of {}", query.name, query.server),
            Err(error) => error.to_string(),
        };
        assert_eq!(asked("https://a.example/x"), "HEAD https://a.example/x");
        assert_eq!(asked("dns://8.8.8.8/www.example"), "www.example of 8.8.8.8:53");
        assert_eq!(asked("dns://[::1]:5353/www.example"), "www.example of [::1]:5353");
        assert_eq!(
            asked("dns://8.8.8.8/"),
            "`dns://8.8.8.8/` is no question to a name server: write dns://SERVER/NAME"
        );
        assert!(asked("dns:www.example").contains("dns://SERVER/NAME"));
        assert_eq!(asked("ftp://a.example"), "a test URL begins with http:// or https://, not `ftp:`");
    }

    #[test]
    fn an_origin_says_nothing_of_the_page() {
        let url = read_url("https://user@a.example:8443/secret?key=1#x").map(|url| origin_of(&url).to_string());
        assert_eq!(url, Ok("https://user@a.example:8443/".into()));
    }
}
