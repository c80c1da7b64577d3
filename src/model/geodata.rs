//! Files of lists that are kept up to date.

use serde_json::{Value as Json, json};

use super::schedule::Schedule;
use crate::addr::Tag;
use crate::record;
use crate::shape::{Defs, Dialect, Field, Kind, Node, Plain, Reader};

record! {
    /// Download of geodata files.
    pub struct Geodata {
        /// When, as five cron fields or `@daily`, `@every 12h` and the like; empty: never by itself.
        cron: Schedule => "cron";
        /// Through which outbound (or a member of which balancer); empty = by the rules.
        outbound: Tag => "outbound";
        /// What; none: the files are read anew.
        assets: Vec<GeodataAsset> => "assets";
    }
}

record! {
    /// One file of geodata.
    pub struct GeodataAsset {
        /// Where it is, `https://`.
        url: AssetUrl => "url";
        /// Its name in the asset directory.
        file: AssetFile => "file";
    }
}

/// Where a file of lists is had from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AssetUrl(pub String);

/// The name of a file of lists; it leads nowhere else.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AssetFile(pub String);

impl AssetUrl {
    /// Takes an address whose answer nobody on the way can have written.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let host = text.strip_prefix("https://").unwrap_or_default();
        if host.is_empty() || host.starts_with(['/', '?', '#']) {
            return Err(format!("geodata url {text:?} is not an https:// address"));
        }
        Ok(Self(text.to_owned()))
    }
}

impl AssetFile {
    /// Takes a name.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() || text.contains(['/', '\\', '\0']) || matches!(text, "." | "..") {
            return Err(format!("geodata file {text:?} is not a file name"));
        }
        Ok(Self(text.to_owned()))
    }
}

macro_rules! checked_text {
    ($($name:ident),*) => {$(
        impl Field for $name {
            fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
                let Some(text) = node.text() else { return cx.wrong_type(node, "a string") };
                Self::parse(text).map_err(|why| cx.error(node, Kind::Value, why)).ok()
            }

            fn write(&self, _: Dialect) -> Plain {
                Plain::Text(self.0.clone())
            }

            fn shape(_: Dialect, _: &mut Defs) -> Json {
                json!({ "type": "string" })
            }
        }
    )*};
}

checked_text!(AssetUrl, AssetFile);
