//! What a gRPC server says to requests that are no calls of ours.

use std::fmt::Write as _;

use super::paths::Paths;

/// A refusal, worded as Xray's gRPC library words it: a stranger sees the same server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Status of HTTP.
    pub http: u16,
    /// Status of gRPC.
    pub grpc: u8,
    /// What is said of it, as a header holds it.
    pub message: String,
}

impl Refusal {
    fn new(http: u16, grpc: u8, message: &str) -> Self {
        let mut held = String::with_capacity(message.len());
        for byte in message.bytes() {
            if matches!(byte, b' '..=b'~') && byte != b'%' {
                held.push(char::from(byte));
            } else {
                let _ = write!(held, "%{byte:02X}");
            }
        }
        Self { http, grpc, message: held }
    }
}

/// Why a request is none of the calls; nothing if it is one.
#[must_use]
pub fn refusal(method: &str, content_type: Option<&str>, path: &str, paths: &Paths) -> Option<Refusal> {
    let content_type = content_type.unwrap_or_default();
    if !is_grpc(content_type) {
        let message = format!("invalid gRPC request content-type \"{content_type}\"");
        return Some(Refusal::new(415, INVALID, &message));
    }
    if method != "POST" {
        let message = format!("Received a HEADERS frame with :method \"{method}\" which should be POST");
        return Some(Refusal::new(405, INTERNAL, &message));
    }
    if path == paths.tun || path == paths.multi {
        return None;
    }
    let of =
        |path: &str| path.strip_prefix('/').unwrap_or(path).rsplit_once('/').map(|(service, _)| service.to_owned());
    let message = match path.strip_prefix('/').unwrap_or(path).rsplit_once('/') {
        None => format!("malformed method name: \"{path}\""),
        Some((service, call)) if of(&paths.tun).as_deref() == Some(service) => {
            format!("unknown method {call} for service {service}")
        }
        Some((service, _)) => format!("unknown service {service}"),
    };
    Some(Refusal::new(200, UNIMPLEMENTED, &message))
}

/// `application/grpc`, alone or with a form of messages behind it.
#[must_use]
pub fn is_grpc(content_type: &str) -> bool {
    const BASE: &str = "application/grpc";
    let Some((base, rest)) = content_type.split_at_checked(BASE.len()) else { return false };
    base.eq_ignore_ascii_case(BASE) && (rest.is_empty() || rest.starts_with(['+', ';']))
}

const INVALID: u8 = 3;
const UNIMPLEMENTED: u8 = 12;
const INTERNAL: u8 = 13;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_hear_what_a_grpc_server_says() {
        let paths = Paths::of("/my/path/a|b");
        let told = |method, content_type, path| {
            refusal(method, content_type, path, &paths).map(|no| (no.http, no.grpc, no.message))
        };
        let grpc = Some("application/grpc");
        assert_eq!(told("POST", grpc, "/my/path/a"), None);
        assert_eq!(told("POST", Some("Application/GRPC+proto"), "/my/path/b"), None);
        let said = |http, grpc, message: &str| Some((http, grpc, message.to_owned()));
        let none = "invalid gRPC request content-type \"\"";
        assert_eq!(told("GET", None, "/"), said(415, 3, none));
        let other = "invalid gRPC request content-type \"application/grpc-web\"";
        assert_eq!(told("POST", Some("application/grpc-web"), "/my/path/a"), said(415, 3, other));
        let put = "Received a HEADERS frame with :method \"PUT\" which should be POST";
        assert_eq!(told("PUT", grpc, "/my/path/a"), said(405, 13, put));
        assert_eq!(told("POST", grpc, "/my/path/c"), said(200, 12, "unknown method c for service my/path"));
        assert_eq!(told("POST", grpc, "/my/other/a"), said(200, 12, "unknown service my/other"));
        assert_eq!(told("POST", grpc, "/a%20\u{e9}/b"), said(200, 12, "unknown service a%2520%C3%A9"));
        assert_eq!(told("POST", grpc, "/a"), said(200, 12, "malformed method name: \"/a\""));
    }
}
