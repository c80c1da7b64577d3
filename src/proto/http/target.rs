//! The four forms of a request target (RFC 9112 3.2), and where each one leads.

use crate::addr::{Host, Target};

/// What a proxy is asked to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// `CONNECT host:port`: a tunnel.
    Connect(Target),
    /// `GET http://host/path`: forward one request.
    Absolute {
        /// Where to.
        target: Target,
        /// Host and port as the client wrote them, for the Host field.
        authority: String,
        /// The target in origin form.
        path: String,
    },
    /// `GET /path` or `OPTIONS *`: meant for a server, not for a proxy; the Host field tells where to.
    Origin,
}

/// Why a request target leads nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadRequestTarget {
    /// The host or port cannot be read.
    #[error("the request names no valid host and port")]
    Authority,
    /// A scheme that no HTTP/1 proxy forwards.
    #[error("the scheme of the request is not http")]
    Scheme,
}

impl Form {
    /// Reads the target of a request.
    ///
    /// For CONNECT the target alone counts, whatever the Host field says: clients disagree on the latter, and RFC 9110
    /// 7.2 gives it no meaning here.
    ///
    /// # Errors
    /// [`BadRequestTarget`].
    pub fn parse(method: &str, target: &str) -> Result<Self, BadRequestTarget> {
        if method == "CONNECT" {
            // Port 80 where none is written is what Xray does.
            return authority(target, 80).map(Self::Connect);
        }
        if target.starts_with('/') || target == "*" {
            return Ok(Self::Origin);
        }
        let (scheme, rest) = target.split_once("://").ok_or(BadRequestTarget::Authority)?;
        let port = match scheme.to_ascii_lowercase().as_str() {
            "http" | "ws" => 80,
            "https" | "wss" => 443,
            _ => return Err(BadRequestTarget::Scheme),
        };
        let cut = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (named, path) = rest.split_at(cut);
        let named = named.rsplit_once('@').map_or(named, |(_, host)| host);
        let path = path.split('#').next().unwrap_or_default();
        let path = match path.chars().next() {
            Some('/') => path.to_owned(),
            // RFC 9112 3.2.4: the origin form of OPTIONS without a path is `*`.
            None if method == "OPTIONS" => "*".to_owned(),
            _ => format!("/{path}"),
        };
        Ok(Self::Absolute { target: authority(named, port)?, authority: named.to_owned(), path })
    }

    /// Where an origin-form request leads by its Host field.
    ///
    /// # Errors
    /// [`BadRequestTarget::Authority`].
    pub fn by_host(field: &[u8]) -> Result<Target, BadRequestTarget> {
        let text = str::from_utf8(field).map_err(|_| BadRequestTarget::Authority)?;
        authority(text.trim(), 80)
    }
}

/// Reads `host[:port]` with brackets around IPv6. Port 0 is nowhere.
pub(crate) fn authority(text: &str, default: u16) -> Result<Target, BadRequestTarget> {
    let bad = |_| BadRequestTarget::Authority;
    let (host, port) = match text.rsplit_once(':') {
        // The last colon of `[::1]` is inside of the brackets; a bare `::1` has no port either.
        Some((host, port)) if !port.contains(']') && (!host.contains(':') || host.ends_with(']')) => (host, port),
        _ => (text, ""),
    };
    let port = if port.is_empty() { default } else { port.parse().map_err(|_| BadRequestTarget::Authority)? };
    if port == 0 {
        return Err(BadRequestTarget::Authority);
    }
    Ok(Target::new(Host::parse(host).map_err(bad)?, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connect(text: &str) -> Option<String> {
        match Form::parse("CONNECT", text) {
            Ok(Form::Connect(target)) => Some(target.to_string()),
            _ => None,
        }
    }

    fn get(text: &str) -> Option<(String, String, String)> {
        match Form::parse("GET", text) {
            Ok(Form::Absolute { target, authority, path }) => Some((target.to_string(), authority, path)),
            _ => None,
        }
    }

    #[test]
    fn tunnels_lead_to_names_and_addresses() {
        assert_eq!(connect("A.example:443").as_deref(), Some("a.example:443"));
        assert_eq!(connect("[2001:db8::1]:443").as_deref(), Some("[2001:db8::1]:443"));
        assert_eq!(connect("[2001:db8::1]").as_deref(), Some("[2001:db8::1]:80"));
        assert_eq!(connect("2001:db8::1").as_deref(), Some("[2001:db8::1]:80"));
        assert_eq!(connect("a.example:").as_deref(), Some("a.example:80"));
        assert_eq!(connect("a.example").as_deref(), Some("a.example:80"));
        for bad in ["", ":443", "a.example:x", "a.example:0", "a b:1", "a:70000", "http://a:1"] {
            assert!(connect(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn absolute_targets_fall_into_authority_and_path() {
        let of = |text| get(text).unwrap_or_default();
        let is = |t: &str, a: &str, p: &str| (t.to_owned(), a.to_owned(), p.to_owned());
        assert_eq!(of("http://a.example/x?y#z"), is("a.example:80", "a.example", "/x?y"));
        assert_eq!(of("HTTP://a.example:8080?q=http://b/"), is("a.example:8080", "a.example:8080", "/?q=http://b/"));
        assert_eq!(of("https://u:p@a.example"), is("a.example:443", "a.example", "/"));
        assert_eq!(of("http://[2001:db8::4]/x"), is("[2001:db8::4]:80", "[2001:db8::4]", "/x"));
        assert_eq!(Form::parse("GET", "ftp://a/"), Err(BadRequestTarget::Scheme));
        assert_eq!(Form::parse("GET", "http:///x"), Err(BadRequestTarget::Authority));
        assert_eq!(Form::parse("GET", "/x"), Ok(Form::Origin));
        assert_eq!(Form::parse("OPTIONS", "*"), Ok(Form::Origin));
    }

    #[test]
    fn origin_requests_lead_where_the_host_field_says() {
        assert_eq!(Form::by_host(b"a.example:81").map(|t| t.to_string()), Ok("a.example:81".into()));
        assert_eq!(Form::by_host(b"\xff"), Err(BadRequestTarget::Authority));
    }
}
