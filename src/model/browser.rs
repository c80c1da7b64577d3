//! Whose ClientHello a `fingerprint` means.

use super::tls::Fingerprint;

/// A shape of hello that can be sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Browser {
    /// Chrome's, which is that of everything built on it.
    Chrome,
    /// Firefox's.
    Firefox,
    /// Safari's, on every system.
    Safari,
    /// One of these, drawn when a configuration is loaded.
    Random,
    /// Nobody's: drawn when a configuration is loaded.
    Randomized {
        /// Whether protocols are offered.
        alpn: bool,
    },
    /// That of the TLS library, which follows all settings.
    #[default]
    Own,
}

impl Fingerprint {
    /// The shape that comes nearest, and whether it is what was asked for.
    #[must_use]
    pub fn browser(&self) -> (Browser, bool) {
        let name = self.0.as_str();
        match name.strip_prefix("hello").unwrap_or(name) {
            "" | "chrome" | "chrome_auto" | "edge" | "edge_auto" => (Browser::Chrome, true),
            "firefox" | "firefox_auto" => (Browser::Firefox, true),
            "safari" | "safari_auto" | "ios" | "ios_auto" => (Browser::Safari, true),
            "random" => (Browser::Random, true),
            "randomized" | "randomizedalpn" => (Browser::Randomized { alpn: true }, true),
            "randomizednoalpn" => (Browser::Randomized { alpn: false }, true),
            "unsafe" | "golang" => (Browser::Own, true),
            older if older.starts_with("firefox") => (Browser::Firefox, false),
            older if older.starts_with("safari") || older.starts_with("ios") => (Browser::Safari, false),
            // 360 and QQ are built on Chrome, and Android's own library is Chrome's.
            _ => (Browser::Chrome, false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_means_some_shape() {
        let browser = |name: &str| Fingerprint(name.into()).browser();
        assert_eq!(browser(""), (Browser::Chrome, true));
        assert_eq!(browser("edge"), (Browser::Chrome, true));
        assert_eq!(browser("qq"), (Browser::Chrome, false));
        assert_eq!(browser("hellochrome_120"), (Browser::Chrome, false));
        assert_eq!(browser("hellofirefox_auto"), (Browser::Firefox, true));
        assert_eq!(browser("helloios_14"), (Browser::Safari, false));
        assert_eq!(browser("hellorandomizednoalpn"), (Browser::Randomized { alpn: false }, true));
        assert_eq!((browser("hellogolang"), browser("unsafe")), ((Browser::Own, true), (Browser::Own, true)));
    }
}
