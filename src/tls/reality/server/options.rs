//! What may be asked of a REALITY server, and what the model asks.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use zeroize::Zeroizing;

use super::super::super::error::TlsError;
use super::site::{Site, SitePlace};
use super::throttle::Rate;
use crate::model::protocol::Dest;
use crate::model::reality::{FallbackLimit, RealityServer as Written};
use crate::proto::haproxy::Form;

/// What a server may be asked.
#[derive(Clone, PartialEq, Eq)]
pub struct RealityServerOptions {
    /// The borrowed site.
    pub site: Site,
    /// Names that clients may ask for; the empty one is no name at all.
    pub server_names: Vec<Box<str>>,
    /// The server's X25519 key.
    pub private_key: Zeroizing<[u8; 32]>,
    /// Ids that clients may show.
    pub short_ids: Vec<[u8; 8]>,
    /// Oldest version of a client.
    pub oldest: [u8; 3],
    /// Newest version of a client.
    pub newest: Option<[u8; 3]>,
    /// How far a client's clock may be off; zero does not look.
    pub max_diff: Duration,
    /// Seed of the key that signs certificates once more.
    pub mldsa65_seed: Option<Zeroizing<Vec<u8>>>,
    /// How fast the site gets what strangers say.
    pub upload: Rate,
    /// How fast strangers get what the site says.
    pub download: Rate,
    /// Append every session's secrets to this file (NSS format), for debugging one's own traffic.
    pub key_log: Option<PathBuf>,
    /// Tell of every visitor in the log.
    pub show: bool,
}

impl RealityServerOptions {
    /// What a configuration asks.
    ///
    /// # Errors
    /// [`TlsError`] names the setting.
    pub fn of(written: &Written) -> Result<Self, TlsError> {
        let private_key = written.private_key.bytes().try_into().map_err(|_| TlsError::Key { what: "privateKey" })?;
        Ok(Self {
            site: Site { place: place(written)?, header: form(written.xver) },
            server_names: written.server_names.iter().map(|name| name.as_str().into()).collect(),
            private_key: Zeroizing::new(private_key),
            short_ids: written.short_ids.iter().map(|id| id.bytes()).collect(),
            oldest: written.min_client_ver.0,
            newest: written.max_client_ver.map(|version| version.0),
            max_diff: Duration::from_millis(written.max_time_diff),
            mldsa65_seed: written.mldsa65_seed.0.as_ref().map(|seed| Zeroizing::new(seed.bytes().to_vec())),
            upload: rate(&written.limit_fallback_upload),
            download: rate(&written.limit_fallback_download),
            key_log: Some(&written.master_key_log).filter(|path| !path.is_empty()).map(Into::into),
            show: written.show,
        })
    }
}

/// Nothing of it is anybody's business.
impl fmt::Debug for RealityServerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RealityServerOptions").field("site", &self.site).finish_non_exhaustive()
    }
}

fn place(written: &Written) -> Result<SitePlace, TlsError> {
    let text = written.target.0.as_str();
    let unix = || match text.strip_prefix('@') {
        Some(name) => SitePlace::Abstract(abstract_name(name)),
        None => SitePlace::Path(text.to_owned()),
    };
    match (written.r#type.as_str(), written.target.parse()) {
        ("" | "unix", Some(Dest::Unix(_))) | ("unix", _) => Ok(unix()),
        ("" | "tcp" | "tcp4" | "tcp6", Some(Dest::Tcp(target))) => Ok(SitePlace::Tcp(target)),
        _ => Err(TlsError::Target(text.to_owned())),
    }
}

/// `@name` is that name; `@@name` is it with zeros up to the kernel's length, as some servers bind it.
fn abstract_name(name: &str) -> Vec<u8> {
    match name.strip_prefix('@') {
        None => name.as_bytes().to_vec(),
        Some(name) => {
            let mut name = name.as_bytes().to_vec();
            if name.len() < ABSTRACT {
                name.resize(ABSTRACT, 0);
            }
            name
        }
    }
}

/// Bytes of an abstract name at most.
const ABSTRACT: usize = 107;

fn form(version: u64) -> Option<Form> {
    match version {
        1 => Some(Form::V1),
        2 => Some(Form::V2),
        _ => None,
    }
}

fn rate(limit: &FallbackLimit) -> Rate {
    Rate { free: limit.after_bytes, per_second: limit.bytes_per_sec, burst: limit.burst_bytes_per_sec }
}
