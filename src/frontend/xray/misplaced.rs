//! Keys that are known, but not where they stand. Xray passes over them in silence; users search for hours.

use crate::shape::{Kind, Problem, Severity};

/// Keys, the object they were found in (list places as `[]`), and where they belong.
const HOMES: &[(&str, &[&str], &str)] = &[
    (
        "inbounds[]",
        &[
            "accounts",
            "auth",
            "users",
            "clients",
            "udp",
            "ip",
            "userLevel",
            "allowTransparent",
            "network",
            "followRedirect",
        ],
        "`settings`",
    ),
    ("inbounds[]", &["decryption", "fallbacks", "method", "password", "address", "timeout"], "`settings`"),
    ("inbounds[]", &["destOverride", "metadataOnly", "routeOnly", "domainsExcluded", "enabled"], "`sniffing`"),
    ("inbounds[].settings", &["streamSettings", "sniffing", "listen", "port", "tag", "protocol"], "the inbound itself"),
    ("inbounds[].sniffing", &["streamSettings", "settings"], "the inbound itself"),
    (
        "outbounds[]",
        &[
            "domainStrategy",
            "redirect",
            "fragment",
            "noises",
            "servers",
            "vnext",
            "users",
            "address",
            "port",
            "inboundTag",
        ],
        "`settings`",
    ),
    (
        "outbounds[].settings",
        &["streamSettings", "mux", "proxySettings", "sendThrough", "tag", "protocol"],
        "the outbound itself",
    ),
    (
        "*",
        &["tlsSettings", "realitySettings", "wsSettings", "tcpSettings", "rawSettings", "kcpSettings"],
        "`streamSettings`",
    ),
    ("*", &["grpcSettings", "xhttpSettings", "httpupgradeSettings", "sockopt", "security"], "`streamSettings`"),
    ("", &["rules", "balancers", "domainStrategy"], "`routing`"),
    ("", &["servers", "hosts"], "`dns`"),
    ("", &["loglevel", "access", "error"], "`log`"),
    ("", &["levels", "system"], "`policy`"),
    ("", &["sniffing", "streamSettings", "settings", "mux"], "an inbound or an outbound"),
    ("routing", &["observatory", "burstObservatory", "dns", "outbounds", "inbounds"], "the root"),
    ("routing.balancers[]", &["observatory", "burstObservatory"], "the root"),
    ("dns", &["fakeDns", "routing", "outbounds", "inbounds"], "the root"),
    ("routing.rules[]", &["strategy", "selector", "fallbackTag"], "`routing.balancers`"),
    ("routing.rules[]", &["domainStrategy", "balancers"], "`routing`"),
];

/// Adds to warnings of unknown keys where the key belongs, if it belongs anywhere.
pub fn advise(problems: &mut [Problem]) {
    for problem in problems.iter_mut().filter(|p| p.kind == Kind::Unknown && p.severity == Severity::Warning) {
        let (parent, key) = split(&problem.path);
        let home = HOMES.iter().find(|(place, keys, _)| {
            (*place == parent || (*place == "*" && matches!(parent.as_str(), "inbounds[]" | "outbounds[]")))
                && keys.iter().any(|k| k.eq_ignore_ascii_case(key))
        });
        if let Some((_, _, home)) = home {
            problem.help = Some(format!("it has no effect here, it belongs into {home}"));
        }
    }
}

/// A path as the pattern of the object, in today's names, and the last key.
fn split(path: &str) -> (String, &str) {
    let (parent, key) = path.rsplit_once('.').unwrap_or(("", path));
    let mut pattern = String::new();
    let mut inside = false;
    for c in parent.chars() {
        match c {
            '[' => {
                inside = true;
                pattern.push_str("[]");
            }
            ']' => inside = false,
            _ if inside => {}
            c => pattern.push(c),
        }
    }
    for (old, new) in [
        ("inboundDetour[]", "inbounds[]"),
        ("outboundDetour[]", "outbounds[]"),
        ("inbound", "inbounds[]"),
        ("outbound", "outbounds[]"),
    ] {
        if let Some(rest) = pattern.strip_prefix(old)
            && (rest.is_empty() || rest.starts_with('.'))
        {
            return (format!("{new}{rest}"), key);
        }
    }
    (pattern, key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_patterns() {
        assert_eq!(split("inbounds[12].settings.x"), ("inbounds[].settings".into(), "x"));
        assert_eq!(split("inbound.accounts"), ("inbounds[]".into(), "accounts"));
        assert_eq!(split("outboundDetour[0].a"), ("outbounds[]".into(), "a"));
        assert_eq!(split("rules"), (String::new(), "rules"));
    }
}
