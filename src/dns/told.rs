//! What the access log says of names (`common/log/dns.go` of XTLS/Xray-core), where `dnsLog` wants it.

use std::fmt::{self, Write};
use std::net::IpAddr;
use std::time::Duration;

use super::error::DnsError;
use super::trace::How;
use crate::model::serverform::ServerForm;

/// Where the answer is from, in Xray's words; nothing where somebody else tells of it.
pub(super) fn status(parts: &[How]) -> Option<&'static str> {
    if parts.contains(&How::Asked) {
        return Some("got answer:");
    }
    // Whoever asked first tells of it.
    if parts.contains(&How::Joined) {
        return None;
    }
    Some(if parts.contains(&How::Stale) { "cache OPTIMISTE:" } else { "cache HIT:" })
}

/// A server, as Xray names it.
pub(super) fn name_of(form: &ServerForm, written: &str) -> String {
    match form {
        ServerForm::Udp(target) => format!("UDP:{target}"),
        ServerForm::Tcp { target, direct: false } => format!("TCP//{target}"),
        ServerForm::Tcp { target, direct: true } => format!("TCPL//{target}"),
        ServerForm::System => "localhost".to_owned(),
        ServerForm::Https { direct: false, .. } => format!("DOH//{}", host(written)),
        ServerForm::Https { direct: true, .. } => format!("DOHL//{}", host(written)),
        ServerForm::Fake | ServerForm::Quic(_) | ServerForm::Tls { .. } => written.to_owned(),
    }
}

/// Whom a URL names, as it names him.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?']).next().unwrap_or_default()
}

/// `[ip, ip] time <error>`, without a time where nobody was asked.
pub(super) struct Outcome<'a> {
    pub(super) found: Result<&'a [IpAddr], &'a DnsError>,
    pub(super) took: Option<Duration>,
}

impl fmt::Display for Outcome<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('[')?;
        for (n, ip) in self.found.unwrap_or_default().iter().enumerate() {
            f.write_str(if n == 0 { "" } else { ", " })?;
            write!(f, "{ip}")?;
        }
        f.write_char(']')?;
        if let Some(took) = self.took {
            write!(f, " {took:?}")?;
        }
        match self.found {
            Ok(_) => Ok(()),
            Err(DnsError::NoAddress) => f.write_str(" <features/dns: empty response>"),
            Err(DnsError::NoName) => f.write_str(" <rcode: 3>"),
            Err(DnsError::Code { code, .. }) => write!(f, " <rcode: {code}>"),
            Err(error) => write!(f, " <{error}>"),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_xrays_form() {
        let ips: [IpAddr; 2] = [[192, 0, 2, 1].into(), "2001:db8::1".parse().unwrap()];
        let took = Some(Duration::from_micros(1500));
        let line = |found, took| Outcome { found, took }.to_string();
        assert_eq!(line(Ok(&ips), took), "[192.0.2.1, 2001:db8::1] 1.5ms");
        assert_eq!(line(Ok(&ips[..1]), None), "[192.0.2.1]");
        assert_eq!(line(Err(&DnsError::NoName), took), "[] 1.5ms <rcode: 3>");
        assert_eq!(line(Err(&DnsError::NoAddress), None), "[] <features/dns: empty response>");
        assert_eq!(line(Err(&DnsError::Code { server: "x".into(), code: 2 }), took), "[] 1.5ms <rcode: 2>");
    }

    #[test]
    fn each_answer_is_told_of_once() {
        assert_eq!(status(&[How::Kept, How::Asked]), Some("got answer:"));
        assert_eq!(status(&[How::Joined, How::Kept]), None);
        assert_eq!(status(&[How::Stale, How::Kept]), Some("cache OPTIMISTE:"));
        assert_eq!(status(&[How::Kept]), Some("cache HIT:"));
        let target = || "192.0.2.1:53".parse().unwrap();
        assert_eq!(name_of(&ServerForm::Udp(target()), "192.0.2.1"), "UDP:192.0.2.1:53");
        assert_eq!(name_of(&ServerForm::Tcp { target: target(), direct: true }, "tcp"), "TCPL//192.0.2.1:53");
        let https = |direct| ServerForm::Https { target: target(), path: "/q".into(), plain: false, direct };
        assert_eq!(name_of(&https(false), "https://dns.example/q"), "DOH//dns.example");
        assert_eq!(name_of(&https(true), "https+local://192.0.2.1:53/q"), "DOHL//192.0.2.1:53");
    }
}
