//! The paths of the two calls.

use std::fmt::Write as _;

/// Paths of the calls of a service, ready for a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// The call whose messages hold one piece of payload.
    pub tun: String,
    /// The call whose messages hold any number of them.
    pub multi: String,
}

impl Paths {
    /// What a service's name stands for. A plain name is one segment of the path, behind which the calls have their usual
    /// names. With a leading slash it is a path of its own: all up to the last slash is the service, what follows names
    /// the call, or both calls with `|` between them.
    #[must_use]
    pub fn of(service: &str) -> Self {
        let Some(path) = service.strip_prefix('/') else {
            let service = escaped(service);
            return Self { tun: format!("/{service}/Tun"), multi: format!("/{service}/TunMulti") };
        };
        let (service, calls) = path.rsplit_once('/').unwrap_or(("", path));
        let service: Vec<_> = service.split('/').map(escaped).collect();
        let service = service.join("/");
        let mut calls = calls.split('|');
        let tun = calls.next().unwrap_or_default();
        let multi = calls.next().unwrap_or(tun);
        Self { tun: format!("/{service}/{}", escaped(tun)), multi: format!("/{service}/{}", escaped(multi)) }
    }
}

/// A segment of a path as Go's `url.PathEscape` writes it, by which servers compare.
fn escaped(segment: &str) -> String {
    let mut out = String::with_capacity(segment.len());
    for byte in segment.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~$&+=:@".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_paths_as_in_xray() {
        let cases = [
            ("hello", "/hello/Tun", "/hello/TunMulti"),
            ("", "//Tun", "//TunMulti"),
            ("hello/world!", "/hello%2Fworld%21/Tun", "/hello%2Fworld%21/TunMulti"),
            ("/my/sample/path/a|b", "/my/sample/path/a", "/my/sample/path/b"),
            ("/hello /world!/a|b", "/hello%20/world%21/a", "/hello%20/world%21/b"),
            ("/my/sample/path/tun_service", "/my/sample/path/tun_service", "/my/sample/path/tun_service"),
            (
                "/m y/sa !mple/pa\\th/mu%lti\\_serv!ice",
                "/m%20y/sa%20%21mple/pa%5Cth/mu%25lti%5C_serv%21ice",
                "/m%20y/sa%20%21mple/pa%5Cth/mu%25lti%5C_serv%21ice",
            ),
            ("/foo", "//foo", "//foo"),
            ("a,b;c?d é$&+=:@", "/a%2Cb%3Bc%3Fd%20%C3%A9$&+=:@/Tun", "/a%2Cb%3Bc%3Fd%20%C3%A9$&+=:@/TunMulti"),
        ];
        for (name, tun, multi) in cases {
            assert_eq!(Paths::of(name), Paths { tun: tun.into(), multi: multi.into() }, "{name}");
        }
    }
}
