//! What is fetched.

use crate::model::geodata::{AssetFile, AssetUrl, Geodata};

/// A file and where it is had from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// Its name in the asset directory.
    pub file: AssetFile,
    /// Where it is.
    pub url: AssetUrl,
}

/// The lists that releases of Xray carry.
#[must_use]
pub fn usual() -> Vec<Wish> {
    let wish = |file: &str| Wish { file: AssetFile(file.to_owned()), url: AssetUrl(format!("{RELEASE}/{file}")) };
    ["geosite.dat", "geoip.dat"].map(wish).to_vec()
}

const RELEASE: &str = "https://github.com/Loyalsoldier/v2ray-rules-dat/releases/latest/download";

/// Those that a configuration names.
#[must_use]
pub fn wishes(geodata: &Geodata) -> Vec<Wish> {
    let wish = |asset: &crate::model::geodata::GeodataAsset| Wish { file: asset.file.clone(), url: asset.url.clone() };
    geodata.assets.iter().map(wish).collect()
}

impl Wish {
    /// Who is asked: the rest of an address may be a secret.
    #[must_use]
    pub fn host(&self) -> &str {
        let rest = self.url.0.strip_prefix("https://").unwrap_or(&self.url.0);
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        authority.rsplit('@').next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_address_only_the_host_is_told() {
        let wish = |url: &str| Wish { file: AssetFile("a.dat".into()), url: AssetUrl(url.into()) };
        assert_eq!(wish("https://u:secret@lists.example:8443/a?token=1").host(), "lists.example:8443");
        assert_eq!(wish("https://lists.example?token=1").host(), "lists.example");
    }
}
