//! Whom a reverse proxy in front of us says it came for.

use std::net::{IpAddr, SocketAddr};

use crate::model::sockopt::SockOpt;

/// The headers whose presence makes `X-Forwarded-For` believed; a proxy that sets one of them must remove it from what
/// clients send. Without any, nobody is believed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Trust(Vec<String>);

/// The field, in lower case as HTTP/2 has it.
const FIELD: &str = "x-forwarded-for";

impl Trust {
    /// What an inbound's socket options say.
    pub(super) fn of(sockopt: &SockOpt) -> Self {
        Self(sockopt.trusted_x_forwarded_for.iter().map(|name| name.to_ascii_lowercase()).collect())
    }

    /// Where a request comes from, if it says so and is believed. `field` gives a field's first value; names are asked for
    /// in lower case.
    pub(super) fn source<'a>(&self, field: impl Fn(&str) -> Option<&'a [u8]>) -> Option<SocketAddr> {
        let said = field(FIELD).filter(|said| !said.is_empty())?;
        if !self.0.iter().any(|name| field(name).is_some()) {
            tracing::debug!(
                "an X-Forwarded-For was not believed: no header of sockopt.trustedXForwardedFor is with it"
            );
            return None;
        }
        let first = said.split(|byte| *byte == b',').next()?.trim_ascii();
        let text = std::str::from_utf8(first).ok()?;
        let ip: IpAddr = text.trim_start_matches('[').trim_end_matches(']').parse().ok()?;
        Some(SocketAddr::new(ip.to_canonical(), 0))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::proto::http::Headers;

    fn source(trusted: &[&str], fields: &[(&'static str, &'static [u8])]) -> Option<String> {
        let headers: Headers = fields.iter().copied().collect();
        let sockopt = SockOpt {
            trusted_x_forwarded_for: trusted.iter().map(|name| (*name).to_owned()).collect(),
            ..SockOpt::default()
        };
        Trust::of(&sockopt).source(|name| headers.first(name)).map(|at| at.to_string())
    }

    #[test]
    fn only_what_comes_with_a_trusted_header_is_believed() {
        let told: (&str, &[u8]) = ("X-Forwarded-For", b"192.0.2.7, 10.0.0.1");
        let mark: (&str, &[u8]) = ("X-Mark", b"");
        assert_eq!(source(&["X-mark"], &[told, mark]).as_deref(), Some("192.0.2.7:0"));
        assert_eq!(source(&["X-Mark"], &[told]), None);
        assert_eq!(source(&[], &[told, mark]), None);
        assert_eq!(source(&["X-Mark"], &[("X-Forwarded-For", b"unknown"), mark]), None);
        let v6 = source(&["X-Forwarded-For"], &[("x-forwarded-for", b"[2001:db8::1]")]);
        assert_eq!(v6.as_deref(), Some("[2001:db8::1]:0"));
    }
}
