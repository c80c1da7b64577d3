//! What an outbound's ClientHello does not follow.

use super::stream::{Part, is_http3, skip};
use crate::model::browser::Browser;
use crate::model::reality::Reality;
use crate::model::stream::{Security, Stream};
use crate::model::tls::{Fingerprint, Tls, TlsVersion};

/// Settings of a stream that the shape of the hello leaves without effect, and shapes that are only near.
pub(super) fn parts(stream: &Stream) -> Vec<Part> {
    match &stream.security {
        // QUIC has no place for a browser's hello, and Xray passes this over too.
        Security::Tls(tls) if is_http3(stream) => {
            let named = !tls.fingerprint.0.is_empty() && tls.fingerprint.browser().0 != Browser::Own;
            named.then(|| skip("fingerprint (QUIC has no browser's hello)")).into_iter().collect()
        }
        Security::Tls(tls) => {
            let mut parts = vec![];
            parts.extend(near(&tls.fingerprint));
            if tls.fingerprint.browser().0 != Browser::Own {
                let because = "a browser's hello has its own; fingerprint \"unsafe\" follows it";
                parts.extend(idle(tls).into_iter().map(|key| skip(format!("{key} ({because})"))));
            }
            parts
        }
        Security::Reality(reality) => match &**reality {
            Reality::Client(client) => {
                let mut parts: Vec<_> = near(&client.fingerprint).into_iter().collect();
                if client.spider_x != "/" {
                    parts.push(skip("spiderX (a site that answers in the server's place is left at once)"));
                }
                parts
            }
            Reality::Server(_) => vec![],
        },
        Security::None | Security::Xtls(_) => vec![],
    }
}

fn near(fingerprint: &Fingerprint) -> Option<Part> {
    let (browser, exact) = fingerprint.browser();
    let name = match browser {
        Browser::Firefox => "Firefox",
        Browser::Safari => "Safari",
        _ => "Chrome",
    };
    (!exact).then(|| skip(format!("the fingerprint {} (the hello is that of a current {name})", fingerprint.0)))
}

/// The keys that have a value and no effect.
fn idle(tls: &Tls) -> Vec<&'static str> {
    let listed: Vec<_> = tls.alpn.0.iter().map(String::as_str).collect();
    [
        ("minVersion", tls.min_version != TlsVersion::Any),
        ("maxVersion", tls.max_version != TlsVersion::Any),
        ("cipherSuites", !tls.cipher_suites.is_empty()),
        ("curvePreferences", !tls.curve_preferences.0.is_empty()),
        ("enableSessionResumption", tls.enable_session_resumption),
        ("alpn", !matches!(listed[..], [] | ["http/1.1"] | ["h2", "http/1.1"] | ["http/1.1", "h2"])),
    ]
    .into_iter()
    .filter_map(|(key, given)| given.then_some(key))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_follows_few_settings_and_the_library_all() {
        let mut tls = Tls { min_version: TlsVersion::V13, ..Tls::default() };
        tls.alpn.0 = vec!["h2".into()];
        let told = |tls: &Tls| {
            let stream = Stream { security: Security::Tls(Box::new(tls.clone())), ..Stream::default() };
            parts(&stream).into_iter().map(|(_, part)| part).collect::<Vec<_>>()
        };
        assert_eq!(told(&tls).len(), 2);
        tls.fingerprint = Fingerprint("qq".into());
        assert!(told(&tls)[0].contains("the fingerprint qq (the hello is that of a current Chrome)"));
        tls.fingerprint = Fingerprint("unsafe".into());
        assert!(told(&tls).is_empty());
    }
}
