//! How a name server is asked, which its address says.

use std::fmt::Write as _;

use crate::addr::{Host, Target};
use crate::shape::nearest;

/// How a server is asked. What is not direct goes as the rules say for a flow with the server's tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerForm {
    /// The operating system is asked.
    System,
    /// Names get fake addresses.
    Fake,
    /// By UDP.
    Udp(Target),
    /// By TCP.
    Tcp {
        /// Where.
        target: Target,
        /// Whether it is dialed directly.
        direct: bool,
    },
    /// By TLS (RFC 7858), which Xray has not.
    Tls {
        /// Where.
        target: Target,
        /// Whether it is dialed directly.
        direct: bool,
    },
    /// By HTTP/2 (RFC 8484).
    Https {
        /// Where.
        target: Target,
        /// The path with its query, as a request says it.
        path: String,
        /// Whether there is no TLS around it.
        plain: bool,
        /// Whether it is dialed directly.
        direct: bool,
    },
    /// By QUIC (RFC 9250), directly.
    Quic(Target),
}

/// Why an address is no server's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadServer {
    /// A scheme that nobody knows.
    #[error("`{0}://` is no way to ask a DNS server")]
    Scheme(String),
    /// Neither an address nor a name, or a port that is none.
    #[error("`{0}` is no address of a DNS server")]
    Address(String),
    /// A bare address with a port, which Xray cannot read.
    #[error("the DNS server `{0}` cannot hold a port")]
    Port(Target),
    /// A user or password in front of the host, which nobody would be told.
    #[error("a DNS server is asked without a user name or a password")]
    User,
}

/// What may stand in front of `://`.
const SCHEMES: [&str; 10] =
    ["udp", "tcp", "tcp+local", "tls", "tls+local", "https", "https+local", "h2c", "h2c+local", "quic+local"];

impl ServerForm {
    /// Reads an address; `port` is that of a bare one.
    ///
    /// # Errors
    /// [`BadServer`] for a text that is none.
    pub fn of(address: &str, port: u16) -> Result<Self, BadServer> {
        let text = address.trim();
        let Some((scheme, rest)) = text.split_once("://") else {
            return match text.to_ascii_lowercase().as_str() {
                "localhost" => Ok(Self::System),
                "fakedns" => Ok(Self::Fake),
                _ => match Host::parse(text) {
                    Ok(host) => Ok(Self::Udp(Target { host, port })),
                    Err(_) => Err(place(text, port).map_or_else(|bad| bad, BadServer::Port)),
                },
            };
        };
        let scheme = scheme.to_ascii_lowercase();
        let rest = rest.split('#').next().unwrap_or_default();
        let (host, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let direct = scheme.ends_with("+local");
        let at = |port| if host.contains('@') { Err(BadServer::User) } else { place(host, port) };
        Ok(match scheme.as_str() {
            "udp" => Self::Udp(at(53)?),
            "tcp" | "tcp+local" => Self::Tcp { target: at(53)?, direct },
            "tls" | "tls+local" => Self::Tls { target: at(853)?, direct },
            "https" | "https+local" => Self::Https { target: at(443)?, path: asked(path), plain: false, direct },
            // Xray's port too, since whoever stands behind is one with TLS.
            "h2c" | "h2c+local" => Self::Https { target: at(443)?, path: asked(path), plain: true, direct },
            "quic+local" => Self::Quic(at(853)?),
            _ => return Err(BadServer::Scheme(scheme)),
        })
    }
}

impl BadServer {
    /// What to write instead.
    #[must_use]
    pub fn help(&self) -> String {
        if let Self::Port(Target { host, port }) = self {
            return format!(
                "write `udp://{}`, or an object with address `{host}` and port {port}",
                Target::new(host.clone(), *port)
            );
        }
        let near = match self {
            // There is a form of it, but it does not go as the rules say.
            Self::Scheme(scheme) if scheme == "quic" => Some("quic+local"),
            Self::Scheme(scheme) => nearest(scheme, SCHEMES),
            Self::Address(_) | Self::Port(_) | Self::User => None,
        };
        let near = near.map_or_else(String::new, |near| format!("did you mean `{near}://`? "));
        format!(
            "{near}it is an IP address or a name, `localhost`, `fakedns`, or one behind `{}://`",
            SCHEMES.join("://`, `")
        )
    }
}

/// `host`, `host:port`, `[v6]`, `[v6]:port`, or an IPv6 address without brackets.
fn place(text: &str, port: u16) -> Result<Target, BadServer> {
    let bad = || BadServer::Address(text.to_owned());
    let (host, port) = match text.rsplit_once(':') {
        Some((host, digits)) if !host.contains(':') || host.ends_with(']') => {
            (host, digits.parse().ok().filter(|port| *port > 0).ok_or_else(bad)?)
        }
        _ => (text, port),
    };
    Host::parse(host).map(|host| Target { host, port }).map_err(|_| bad())
}

/// A path as a request may say it: what may not stand there is escaped.
fn asked(path: &str) -> String {
    let mut asked = String::with_capacity(path.len() + 1);
    if !path.starts_with('/') {
        asked.push('/');
    }
    for byte in path.bytes() {
        if byte.is_ascii_graphic() && !br#""<>\^`{|}"#.contains(&byte) {
            asked.push(char::from(byte));
        } else {
            // Writing to a text cannot fail.
            let _ = write!(asked, "%{byte:02X}");
        }
    }
    asked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(address: &str) -> String {
        let place = |target: &Target, how: &str, direct: bool| {
            format!("{how}{} {target}", if direct { ", directly," } else { "" })
        };
        match ServerForm::of(address, 5353) {
            Ok(ServerForm::System) => "system".to_owned(),
            Ok(ServerForm::Fake) => "fake".to_owned(),
            Ok(ServerForm::Udp(target)) => place(&target, "udp", false),
            Ok(ServerForm::Tcp { target, direct }) => place(&target, "tcp", direct),
            Ok(ServerForm::Tls { target, direct }) => place(&target, "tls", direct),
            Ok(ServerForm::Https { target, path, plain, direct }) => {
                place(&target, if plain { "h2c" } else { "https" }, direct) + &path
            }
            Ok(ServerForm::Quic(target)) => place(&target, "quic", true),
            Err(why) => why.to_string(),
        }
    }

    #[test]
    fn every_form_is_read() {
        for (written, meant) in [
            ("localhost", "system"),
            ("LocalHost", "system"),
            ("fakedns", "fake"),
            ("192.0.2.1", "udp 192.0.2.1:5353"),
            ("2001:db8::1", "udp [2001:db8::1]:5353"),
            ("[2001:db8::1]", "udp [2001:db8::1]:5353"),
            ("dns.example", "udp dns.example:5353"),
            ("udp://192.0.2.1", "udp 192.0.2.1:53"),
            ("udp://[2001:db8::1]:54", "udp [2001:db8::1]:54"),
            ("tcp://192.0.2.1", "tcp 192.0.2.1:53"),
            ("TCP+local://dns.example:54/", "tcp, directly, dns.example:54"),
            ("tls://192.0.2.1", "tls 192.0.2.1:853"),
            ("tls+local://dns.example:443", "tls, directly, dns.example:443"),
            ("https://dns.example/dns-query", "https dns.example:443/dns-query"),
            ("https://dns.example", "https dns.example:443/"),
            ("https://[2001:db8::1]:8443?a=b#c", "https [2001:db8::1]:8443/?a=b"),
            ("https+local://192.0.2.1/a b", "https, directly, 192.0.2.1:443/a%20b"),
            ("h2c://192.0.2.1/q", "h2c 192.0.2.1:443/q"),
            ("h2c+local://192.0.2.1:80/q", "h2c, directly, 192.0.2.1:80/q"),
            ("quic+local://dns.example", "quic, directly, dns.example:853"),
        ] {
            assert_eq!(told(written), meant, "{written}");
        }
    }

    #[test]
    fn what_is_none_is_told_with_what_would_be() {
        for (written, told_of) in [
            ("sdns://AQcAAAAA", "`sdns://` is no way to ask a DNS server"),
            ("192.0.2.1:54", "the DNS server `192.0.2.1:54` cannot hold a port"),
            ("[2001:db8::1]:54", "the DNS server `[2001:db8::1]:54` cannot hold a port"),
            ("192.0.2.1:", "`192.0.2.1:` is no address of a DNS server"),
            ("192.0.2.1:0", "`192.0.2.1:0` is no address of a DNS server"),
            ("192.0.2.1:65536", "`192.0.2.1:65536` is no address of a DNS server"),
            ("192.0.2.1/dns-query", "`192.0.2.1/dns-query` is no address of a DNS server"),
            ("https://", "`` is no address of a DNS server"),
            ("a b", "`a b` is no address of a DNS server"),
            ("https://me:secret@dns.example/", "a DNS server is asked without a user name or a password"),
        ] {
            assert_eq!(told(written), told_of, "{written}");
        }
        let help = |scheme: &str| BadServer::Scheme(scheme.to_owned()).help();
        assert!(help("quic").starts_with("did you mean `quic+local://`? it is an IP address"), "{}", help("quic"));
        assert!(help("htps").starts_with("did you mean `https://`?"), "{}", help("htps"));
        assert!(help("sdns").contains("`tls://`, `tls+local://`"), "{}", help("sdns"));
        let port = ServerForm::of("192.0.2.1:54", 53).map_err(|why| why.help());
        assert_eq!(
            port,
            Err("write `udp://192.0.2.1:54`, or an object with address `192.0.2.1` and port 54".to_owned())
        );
    }

    #[test]
    fn any_path_can_be_asked_for() {
        for byte in 1..=u8::MAX {
            let text = format!("/{}", String::from_utf8_lossy(&[byte]));
            assert!(asked(&text).parse::<http::uri::PathAndQuery>().is_ok(), "{byte}");
        }
    }
}
